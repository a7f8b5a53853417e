from __future__ import annotations

import numpy as np
import pytest

from critpath.base.intervals import union
from critpath.base.slices import slice_extents, slice_unions


def test_overlapping_spans_of_a_slice_count_once():
    # 0 |----|        naive sum: 12
    # 1    |----|     union of 0 and 1: 7
    # 2          |--|
    starts, ends = np.array([0, 3, 9]), np.array([5, 8, 11])
    lo, hi = np.array([0, 0, 1, 2, 1]), np.array([2, 3, 3, 3, 1])
    assert slice_unions(starts, ends, lo, hi).tolist() == [8, 10, 7, 2, 0]
    assert int((ends - starts)[:2].sum()) == 10


@pytest.mark.parametrize("seed", range(60))
def test_unions_and_extents_equal_those_of_each_slice_alone(seed: int):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    starts = random.integers(-50, int(random.choice([5, 60, 5_000])), n)
    ends = starts + random.integers(0, int(random.choice([2, 20, 400])), n)
    lo = random.integers(0, n + 1, 200)
    hi = np.maximum(lo, random.integers(0, n + 1, 200))
    unions = [union(starts[a:b], ends[a:b]).total_ns for a, b in zip(lo, hi, strict=True)]
    assert slice_unions(starts, ends, lo, hi).tolist() == unions
    least, largest = slice_extents(starts, ends, lo, hi)
    solid = hi > lo
    assert least[solid].tolist() == [int(starts[a:b].min()) for a, b in zip(lo, hi, strict=True) if b > a]
    assert largest[solid].tolist() == [int(ends[a:b].max()) for a, b in zip(lo, hi, strict=True) if b > a]
    assert not least[~solid].any() and not largest[~solid].any()


def test_a_span_that_ends_before_it_starts_holds_nothing():
    starts, ends = np.array([5, 0]), np.array([2, 3])
    assert slice_unions(starts, ends, np.array([0, 0]), np.array([1, 2])).tolist() == [0, 3]


def test_slices_that_all_reach_the_end_stay_near_linear():
    # Ranges that a program never closes: one sort a slice would take n * n / 2 spans.
    n = 200_000
    starts = np.arange(n) * 10
    ends = starts + 15
    lo, hi = np.arange(n - 1), np.full(n - 1, n)
    assert slice_unions(starts, ends, lo, hi).tolist() == (ends[-1] - starts[:-1]).tolist()


def test_no_slices_give_nothing():
    nothing = np.empty(0, np.int64)
    assert slice_unions(nothing, nothing, nothing, nothing).size == 0
    assert slice_unions(np.array([1]), np.array([2]), np.array([0]), np.array([0])).tolist() == [0]
