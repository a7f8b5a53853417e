from __future__ import annotations

from typing import Any

import pytest

from builders import minimal_report, unit
from critpath.guards.p02_busiest_stream import check
from critpath.model.report import Anchor, CrossCheck, JobStep, Ranks, Unit


def with_window(**changes: Any) -> Unit:
    window = unit().window
    assert window is not None
    return unit(window=window.model_copy(update=changes))


def test_an_anchored_step_holds_and_names_anchor_and_windows():
    outcome = check(minimal_report())
    assert outcome.outcome == "held"
    assert "anchor kind nvtx, n = 3, median 100.0 ms" in outcome.evidence


def test_the_longest_step_is_cited():
    outcome = check(minimal_report(units=[unit(), with_window(median_ms=140.0).model_copy(update={"id": "u1"})]))
    assert outcome.evidence.startswith("u1: ")


def test_the_jobs_step_is_cited_where_ranks_were_compared():
    step = JobStep(median_ms=130.0, slowest_per_step=["u0"], slowest_unit="u0")
    assert "of the slowest unit in each step, is 130.0 ms" in check(minimal_report(ranks=Ranks(step=step))).evidence


@pytest.mark.parametrize("kind", ["capture", "explicit"])
def test_a_span_that_is_no_step_limits(kind: Any):
    outcome = check(minimal_report(units=[unit(), with_window(anchor=Anchor(kind=kind, text=""))]))
    assert outcome.outcome == "limited"
    assert f"anchor kind {kind}, n = 3; it isn't a step" in outcome.evidence


@pytest.mark.parametrize(
    ("agrees", "declared", "expected"), [(True, False, "held"), (False, False, "limited"), (False, True, "held")]
)
def test_a_second_anchor_that_tells_another_step_limits(agrees: bool, declared: bool, expected: str):
    second = CrossCheck(kind="optimizer", median_ms=51.0, difference_pct=-49.0, agrees=agrees, material=not agrees)
    assert check(minimal_report(units=[with_window(cross_check=second, declared=declared)])).outcome == expected
