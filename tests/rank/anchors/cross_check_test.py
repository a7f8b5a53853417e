"""When a second anchor agrees, at which ratio, and when its objection is material."""

import numpy as np
import pytest

from critpath.base.intervals import I64
from critpath.rank.anchors.cross_check import CrossCheck, cross_check

MS = 1_000_000
STARTS = np.arange(10, dtype=np.int64) * 100 * MS


def _checked(marks_ns: I64, kind: str = "kernel-sequence") -> CrossCheck:
    checked = cross_check(kind, marks_ns, STARTS, STARTS + 100 * MS, 100 * MS)
    assert checked is not None
    return checked


def _every(period_ms: float, offset_ms: float = 0.0) -> I64:
    return np.arange(offset_ms, 1_000 + 3 * period_ms, period_ms).astype(np.int64) * MS


@pytest.mark.parametrize("offset_ms", [0, 30, 99])
def test_same_period_agrees_wherever_it_begins(offset_ms: int) -> None:
    # windows |-----|-----|-----|
    # marks      ^     ^     ^
    checked = _checked(_every(100, offset_ms))
    assert (checked.ratio, checked.agrees, checked.difference_pct) == (1.0, True, 0.0)


@pytest.mark.parametrize("times", [2, 4, 5, 20])
def test_whole_fraction_agrees_and_tells_the_ratio(times: int) -> None:
    checked = _checked(_every(100 / times, 1))
    assert (checked.ratio, checked.agrees, checked.is_material) == (float(times), True, False)


@pytest.mark.parametrize("period_ms", [37, 43, 61, 140])
def test_other_period_is_material(period_ms: int) -> None:
    checked = _checked(_every(period_ms))
    assert not checked.agrees
    assert checked.is_material


def test_short_period_that_drifts_through_the_windows_is_no_fraction() -> None:
    # 100 / 6.1 is within 2 % of 16, as any number that large is of some whole one.
    checked = _checked(np.arange(0, 1_100 * MS, 6_060_000, dtype=np.int64) + 1)
    assert not checked.agrees


def test_difference_between_two_and_five_percent_still_agrees() -> None:
    checked = _checked(_every(104))
    assert checked.agrees
    assert checked.difference_pct == pytest.approx(4.0)


def test_optimizer_every_fourth_window_says_that_a_window_is_no_step() -> None:
    checked = _checked(_every(400, 90), kind="optimizer")
    assert (checked.ratio, checked.agrees, checked.is_material) == (0.25, False, True)


def test_other_rare_work_does_not_object() -> None:
    checked = _checked(_every(400, 90))
    assert (checked.ratio, checked.agrees, checked.is_material) == (0.25, True, False)


def test_one_mark_has_no_opinion() -> None:
    assert cross_check("optimizer", STARTS[:1], STARTS, STARTS + 100 * MS, 100 * MS) is None


@pytest.mark.parametrize("kind", ["optimizer", "collectives"])
def test_many_periods_in_a_single_window_are_no_agreement(kind: str) -> None:
    # window |-----------------------|   one range over ten steps, or one step of ten layers
    # marks   ^ ^ ^ ^ ^ ^ ^ ^ ^ ^
    start = np.zeros(1, np.int64)
    assert cross_check(kind, _every(100, 1), start, start + 1_000 * MS, 1_000 * MS) is None
    same = cross_check(kind, _every(100, 1), start, start + 100 * MS, 100 * MS)
    assert same is not None
    assert same.agrees
