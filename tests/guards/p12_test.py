from __future__ import annotations

from typing import Any

import pytest

from builders import absent, minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p12_copy_without_engine_evidence import check
from critpath.model.report import Transfer


def copies(**changes: Any) -> Transfer:
    parts: dict[str, Any] = {
        "direction": "D2H",
        "src": "device",
        "dst": "pinned",
        "stream": 13,
        "default_stream": False,
        "count": 5,
        "bytes": 5,
        "union_ms": 60.0,
        "achieved_GBps": 3.0,
        "occupancy": 0.6,
        "host_blocked": 0,
        "blocking_ms": 0.0,
        "verdict": "nothing provably waited for them",
    }
    return Transfer(**(parts | changes))


def outcome_of(*rows: Transfer, **causes: Any) -> Outcome:
    return check(minimal_report(units=[unit(transfers=list(rows), absent=absent(**causes))]))


def test_the_longest_copies_stand_beside_those_waited_for():
    outcome = outcome_of(copies(), copies(occupancy=0.1, achieved_GBps=25.0, blocking_ms=9.0))
    assert outcome.outcome == "held"
    longest, _, worst = outcome.evidence.partition("; ")
    assert "occupancy 60.0 %, 3.00 GB/s, blocking 0 ms an iteration" in longest
    assert "most waited for u0: D2H device to pinned, occupancy 10.0 %, 25.0 GB/s, blocking 9.00 ms" in worst


@pytest.mark.parametrize(
    ("changes", "lack"),
    [
        ({"achieved_GBps": None}, "rate"),
        ({"src": None}, "memory kinds"),
        ({"default_stream": None}, "whether the stream is the default one"),
    ],
)
def test_missing_engine_evidence_is_named(changes: dict[str, Any], lack: str):
    outcome = outcome_of(copies(**changes))
    assert outcome.outcome == "limited"
    assert outcome.evidence.endswith(f"not told of all copies: {lack}")


def test_unresolved_waits_limit():
    outcome = outcome_of(copies(), unresolved_wait_share=0.5, blocking_bound="lower")
    assert outcome.outcome == "limited"
    assert outcome.evidence.endswith("not told of all copies: every dependency")


def test_the_rest_of_a_cut_list_lacks_nothing():
    rest = copies(direction="rest", src=None, dst=None, stream=None, default_stream=None, occupancy=0.01)
    assert outcome_of(copies(), rest).outcome == "held"


def test_migrations_are_no_copies():
    assert outcome_of(copies(direction="UVM_H2D")).outcome == "not-applicable"


def test_without_dependencies_nothing_is_said():
    assert outcome_of(copies(blocking_ms=None)) == NOT_ANALYSED_YET
