from __future__ import annotations

from builders import absent, minimal_report, stat, unit
from critpath.guards.outcome import NOT_ANALYSED_YET
from critpath.guards.p08_occupant_as_cause import check
from critpath.model.report import Blocking, BlockingOperation


def test_what_occupied_stands_beside_what_was_waited_for():
    tiny = BlockingOperation(name="copy_d2d", class_="copy_d2d", ms=20.0, count=9, producer_late_ms=19.0)
    told = absent(blocking=Blocking(by_class={"copy_d2d": 1.0, "copy_h2d": 19.0}, by_operation=[tiny]))
    outcome = check(minimal_report(units=[unit(absent=told)]))
    assert outcome.outcome == "held"
    assert "u0: other work occupied 30.0 ms an iteration without compute" in outcome.evidence
    assert "directly behind copy_d2d for 20.0, walked back most of it by copy_h2d, 19.0" in outcome.evidence


def test_an_occupant_that_nobody_waited_for_is_no_cause():
    told = absent(launch_starved_ms=32.0, blocking_ms=0.0, blocking=Blocking())
    outcome = check(minimal_report(units=[unit(absent=told)]))
    assert outcome.outcome == "held"
    assert "no op waited for it: blocking 0 ms" in outcome.evidence


def test_unresolved_waits_limit():
    outcome = check(minimal_report(units=[unit(absent=absent(unresolved_wait_share=0.5, blocking_bound="lower"))]))
    assert outcome.outcome == "limited"
    assert "50.0 % of stream waits lack a record" in outcome.evidence


def test_a_gap_that_was_empty_has_no_occupant():
    budget = unit().budget
    assert budget is not None
    empty = budget.model_copy(update={"occupied_not_computing": stat(0.0, 0.0, 0.0)})
    told = absent(launch_starved_ms=32.0, blocking_ms=0.0, blocking=Blocking())
    assert check(minimal_report(units=[unit(budget=empty, absent=told)])).outcome == "not-applicable"


def test_without_causes_nothing_is_said():
    assert check(minimal_report()) == NOT_ANALYSED_YET
