from __future__ import annotations

from typing import Any

import pytest

from builders import absent, minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p07_exposed_as_blocking import check
from critpath.model.report import Communication, Unit


def told(exposed_ms: float, blocking_ms: float | None, **causes: Any) -> Unit:
    comm = Communication(union_ms=30.0, exposed_ms=exposed_ms, blocking_ms=blocking_ms, overlapped_ms=30 - exposed_ms)
    return unit(communication=comm, absent=absent(**causes))


def outcome_of(*units: Unit) -> Outcome:
    return check(minimal_report(units=[u.model_copy(update={"id": f"u{i}"}) for i, u in enumerate(units)]))


def test_the_unit_where_both_differ_most_is_cited():
    outcome = outcome_of(told(20.0, 19.0), told(20.0, 1.0))
    assert outcome.outcome == "held"
    assert outcome.evidence.startswith("u1: exposed 20.0 ms an iteration, blocking 1.00 ms (exact)")


@pytest.mark.parametrize(
    ("share", "bound", "why"),
    [(0.25, "lower", "25.0 % of stream waits lack a record"), (0.0, "upper", "not every dependency is recorded")],
)
def test_an_inexact_bound_limits(share: float, bound: str, why: str):
    outcome = outcome_of(told(20.0, 1.0, unresolved_wait_share=share, blocking_bound=bound))
    assert outcome.outcome == "limited"
    assert f"({bound})" in outcome.evidence
    assert why in outcome.evidence


def test_without_communication_it_does_not_apply():
    none = Communication(union_ms=0.0, exposed_ms=0.0, blocking_ms=0.0, overlapped_ms=0.0)
    assert outcome_of(unit(communication=none, absent=absent())).outcome == "not-applicable"


def test_unknown_blocking_is_not_none():
    assert outcome_of(told(20.0, None)) == NOT_ANALYSED_YET
