from __future__ import annotations

from typing import Any

from builders import minimal_report, unit
from critpath.guards.outcome import Outcome
from critpath.guards.p13_default_stream_copies import check
from critpath.model.report import Transfer


def outcome_of(**changes: Any) -> Outcome:
    parts: dict[str, Any] = {
        "direction": "H2D",
        "src": "pinned",
        "dst": "device",
        "stream": 13,
        "default_stream": False,
    }
    row = Transfer(**(parts | changes), count=5, bytes=5, union_ms=1.0, occupancy=0.01)
    return check(minimal_report(units=[unit(transfers=[row])]))


def test_pinned_copies_on_other_streams_hold():
    assert outcome_of().outcome == "held"


def test_a_copy_on_the_default_stream_limits():
    outcome = outcome_of(default_stream=True)
    assert outcome.outcome == "limited"
    assert "of 5 copies 5 are on the legacy default stream, 0 from or to pageable memory" in outcome.evidence


def test_a_pageable_copy_limits():
    assert outcome_of(direction="D2H", src="device", dst="pageable").outcome == "limited"


def test_an_untold_kind_limits():
    assert outcome_of(src=None).outcome == "limited"
    assert outcome_of(default_stream=None).outcome == "limited"


def test_migrations_are_no_copies():
    assert outcome_of(direction="UVM_H2D").outcome == "not-applicable"
