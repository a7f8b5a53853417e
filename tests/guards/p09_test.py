from __future__ import annotations

from builders import absent, minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p09_reused_event_handles import check
from critpath.model.report import Capture, MissingTable


def outcome_of(*shares: float, event_trace: bool | None = True, missing: str | None = None) -> Outcome:
    units = [unit(id=f"u{i}", absent=absent(unresolved_wait_share=share)) for i, share in enumerate(shares)]
    tables = [MissingTable(input=0, table=missing)] if missing else []
    capture = Capture(ranks_captured=len(units), event_trace=event_trace, missing=tables)
    return check(minimal_report(units=units, capture=capture))


def test_every_wait_with_its_record_holds():
    outcome = outcome_of(0.0, 0.0)
    assert outcome.outcome == "held"
    assert outcome.evidence.startswith("0.0 % of stream waits lack their record on 2 units")


def test_waits_without_a_record_limit():
    outcome = outcome_of(0.0, 0.4)
    assert outcome.outcome == "limited"
    assert outcome.evidence.startswith("u1: 40.0 % of stream waits join no record")


def test_an_export_without_waits_is_not_one_that_waited_for_nothing():
    outcome = outcome_of(0.0, missing="CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
    assert outcome.outcome == "limited"
    assert outcome.evidence.startswith("u0: waits were not exported")


def test_a_program_that_called_no_wait_lacks_none():
    outcome = outcome_of(0.0, event_trace=False, missing="CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
    assert outcome.outcome == "not-applicable"


def test_a_program_without_events_reuses_none():
    assert outcome_of(0.0, event_trace=False).outcome == "not-applicable"


def test_without_dependencies_nothing_is_said():
    assert check(minimal_report()) == NOT_ANALYSED_YET
