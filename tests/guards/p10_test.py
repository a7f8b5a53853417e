from __future__ import annotations

import pytest

from builders import absent, minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p10_zero_event_timestamps import check
from critpath.model.report import Capture, MissingTable


def outcome_of(
    *shares: float, event_trace: bool | None = True, bound: str = "exact", missing: str | None = None
) -> Outcome:
    units = [
        unit(id=f"u{i}", absent=absent(unresolved_wait_share=share, blocking_bound=bound))
        for i, share in enumerate(shares)
    ]
    tables = [MissingTable(input=0, table=missing)] if missing else []
    capture = Capture(ranks_captured=len(units), event_trace=event_trace, missing=tables)
    return check(minimal_report(units=units, capture=capture))


def test_records_without_their_times_hold():
    outcome = outcome_of(0.0)
    assert outcome.outcome == "held"
    assert "blocking 20.0 ms an iteration rests on no completion time" in outcome.evidence


@pytest.mark.parametrize(("event_trace", "there"), [(False, "no record was exported"), (True, "records are missing")])
def test_waits_without_a_record_limit(event_trace: bool, there: str):
    outcome = outcome_of(0.0, 1.0, event_trace=event_trace, bound="lower")
    assert outcome.outcome == "limited"
    assert outcome.evidence.startswith(f"u1: {there} for 100.0 % of stream waits")
    assert "is a bound (lower)" in outcome.evidence


def test_waits_that_were_not_exported_limit():
    outcome = outcome_of(0.0, bound="lower", missing="CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
    assert outcome.outcome == "limited"
    assert outcome.evidence.startswith("u0: waits were called and not exported")


def test_a_bound_for_other_reasons_is_not_put_down_to_waits():
    assert outcome_of(0.0, bound="lower").outcome == "held"


def test_a_program_without_events_has_no_completion_times():
    assert outcome_of(0.0, event_trace=False).outcome == "not-applicable"


def test_without_dependencies_nothing_is_said():
    assert check(minimal_report()) == NOT_ANALYSED_YET
