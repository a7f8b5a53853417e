from __future__ import annotations

from typing import Any

import pytest

from builders import minimal_report, unit
from critpath.guards.p28_dataloading_scope import check
from critpath.model.report import Anchor, Unit


def with_window(**changes: Any) -> Unit:
    window = unit().window
    assert window is not None
    return unit(window=window.model_copy(update=changes))


def test_tiling_windows_hold_loading_inside():
    outcome = check(minimal_report())
    assert outcome.outcome == "held"
    assert "scope period" in outcome.evidence


def test_time_between_ranges_is_printed_and_belongs_to_no_training_code():
    least = with_window(scope="range", outside_step_ms=1.0)
    most = with_window(scope="range", outside_step_ms=12.1).model_copy(update={"id": "u1"})
    outcome = check(minimal_report(units=[least, most]))
    assert outcome.outcome == "held"
    assert outcome.evidence.startswith("u1: scope range, 12.1 ms an iteration lie outside the step")


@pytest.mark.parametrize("kind", ["capture", "explicit"])
def test_a_span_that_is_no_step_limits(kind: Any):
    assert check(minimal_report(units=[with_window(anchor=Anchor(kind=kind, text=""))])).outcome == "limited"
