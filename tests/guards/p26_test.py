from __future__ import annotations

from typing import Any

import pytest

from builders import minimal_report, unit
from critpath.guards.p26_boundary_steps import UNITS_NAMED, check
from critpath.model.report import Anchor, Unit


def with_window(**changes: Any) -> Unit:
    window = unit().window
    assert window is not None
    return unit(window=window.model_copy(update=changes))


def test_dropped_steps_are_named_with_the_reason():
    outcome = check(minimal_report())
    assert outcome.outcome == "held"
    assert outcome.evidence == "u0: dropped step 0 (contains the profiler's start), kept 3"


def test_nothing_to_drop_holds_where_enough_windows_can_tell():
    outcome = check(minimal_report(units=[with_window(dropped=[])]))
    assert outcome.outcome == "held"
    assert outcome.evidence == "u0: none of 3 windows is a boundary step"


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_windows_to_drop_any_limit(n: int):
    outcome = check(minimal_report(units=[unit(), with_window(dropped=[], n=n)]))
    assert outcome.outcome == "limited"
    assert f"n = {n}" in outcome.evidence


@pytest.mark.parametrize("kind", ["capture", "explicit"])
def test_a_span_that_is_no_step_limits(kind: Any):
    assert check(minimal_report(units=[with_window(anchor=Anchor(kind=kind, text=""))])).outcome == "limited"


def test_many_units_are_counted_and_not_all_named():
    outcome = check(minimal_report(units=[unit(id=f"u{i}") for i in range(UNITS_NAMED + 3)]))
    assert outcome.evidence.count("dropped") == UNITS_NAMED
    assert outcome.evidence.endswith("; and 3 units more")
