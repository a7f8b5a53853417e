from __future__ import annotations

from typing import Any

from builders import minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p13_default_stream_copies import check
from critpath.model.report import Transfer


def outcome_of(**changes: Any) -> Outcome:
    parts: dict[str, Any] = {
        "direction": "H2D",
        "src": "pinned",
        "dst": "device",
        "stream": 13,
        "default_stream": False,
        "host_blocked": 0,
    }
    row = Transfer(**(parts | changes), count=5, bytes=5, union_ms=1.0, occupancy=0.01)
    return check(minimal_report(units=[unit(transfers=[row])]))


def test_pinned_copies_on_other_streams_hold():
    outcome = outcome_of()
    assert outcome.outcome == "held"
    assert outcome.evidence.endswith("tested, 0 ended before their call returned, 0 of them pageable")


def test_copies_on_the_default_stream_are_counted():
    outcome = outcome_of(default_stream=True)
    assert outcome.outcome == "held"
    assert "of 5 copies 5 are on the legacy default stream and 0 from or to pageable memory" in outcome.evidence


def test_the_host_is_tested_not_assumed():
    outcome = outcome_of(direction="D2H", src="device", dst="pageable", host_blocked=2)
    assert outcome.outcome == "held"
    assert "5 from or to pageable memory; tested, 2 ended before their call returned, 2 of them" in outcome.evidence


def test_an_untold_kind_limits():
    assert outcome_of(src=None).outcome == "limited"
    assert outcome_of(default_stream=None).outcome == "limited"


def test_untested_calls_are_not_free_ones():
    assert outcome_of(host_blocked=None) == NOT_ANALYSED_YET


def test_migrations_are_no_copies():
    assert outcome_of(direction="UVM_H2D", host_blocked=None).outcome == "not-applicable"
