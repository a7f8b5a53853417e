from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from critpath.base.stats import MAD_TO_SIGMA, median_absolute_deviation, relative_spread


@pytest.mark.parametrize(
    ("values", "deviation"),
    [
        ([7], 0.0),
        ([5, 5, 5], 0.0),
        ([1, 2, 3], 1.0),
        # an even sample: median 2.5, distances 1.5 0.5 0.5 1.5
        ([1, 2, 3, 4], 1.0),
        # an outlier, however far, moves it no further
        ([1, 2, 3, 4, 10**15], 1.0),
        ([-3, -2, -1], 1.0),
    ],
)
def test_median_absolute_deviation(values: list[int], deviation: float) -> None:
    assert median_absolute_deviation(np.array(values)) == deviation
    assert median_absolute_deviation(np.array(values, np.float64)) == deviation


def test_order_makes_no_difference() -> None:
    assert median_absolute_deviation(np.array([3, 1, 2])) == median_absolute_deviation(np.array([1, 2, 3]))


def test_an_empty_sample_has_no_deviation_and_no_spread() -> None:
    for empty in (np.empty(0, np.int64), np.empty(0, np.float64)):
        assert math.isnan(median_absolute_deviation(empty))
        assert math.isnan(relative_spread(empty))


def test_epoch_times_spread_by_their_own_nanoseconds() -> None:
    epoch_ns = 1_790_000_000_000_000_001
    assert median_absolute_deviation(np.array([epoch_ns, epoch_ns + 1, epoch_ns + 2])) == 1.0


def test_relative_spread_is_the_robust_sigma_over_the_median() -> None:
    assert relative_spread(np.array([90, 100, 110])) == pytest.approx(MAD_TO_SIGMA * 10 / 100)


def test_relative_spread_around_a_negative_median_is_positive() -> None:
    assert relative_spread(np.array([-90, -100, -110])) == relative_spread(np.array([90, 100, 110]))


def test_relative_spread_around_0_is_unknown() -> None:
    assert math.isnan(relative_spread(np.array([-1, 0, 1])))


def test_relative_spread_of_equal_values_is_0() -> None:
    assert relative_spread(np.array([4.5, 4.5])) == 0.0


def test_it_estimates_the_sigma_of_a_normal_sample() -> None:
    sample = np.random.default_rng(7).normal(1_000.0, 20.0, 100_000)
    assert MAD_TO_SIGMA * median_absolute_deviation(sample) == pytest.approx(20.0, rel=0.02)


samples = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30)


@given(samples, st.integers(-(2**61), 2**61))
def test_shifting_changes_no_deviation(values: list[int], by: int) -> None:
    assert median_absolute_deviation(np.array(values) + by) == median_absolute_deviation(np.array(values))


@given(samples, st.sampled_from([2, 16, 1024]))
def test_scaling_scales_the_deviation_and_keeps_the_spread(values: list[int], by: int) -> None:
    sample = np.array(values)
    assert median_absolute_deviation(sample * by) == by * median_absolute_deviation(sample)
    assert relative_spread(sample * by) == pytest.approx(relative_spread(sample), nan_ok=True)
