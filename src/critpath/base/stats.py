"""Robust statistics of small samples of windows and large samples of latencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["log2_counts", "median_absolute_deviation", "relative_spread", "theil_sen_slope"]

MAD_TO_SIGMA = 1.4826
"""What a median absolute deviation is multiplied by to estimate the sigma of a normal sample."""

_MOST_POINTS = 1_000
_BINS = 48


def median_absolute_deviation(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The median distance from the median, in the unit of `values`, of shape (n,); nan for an empty sample.

    Integers keep every digit, however far from 0 they lie: a sample of epoch times in ns spreads by its own ns.
    """
    if not values.size:
        return float("nan")
    # A float64 counts whole ns only up to 2**53; distances from any member of the sample are small.
    near = values - values.flat[0] if np.issubdtype(values.dtype, np.integer) else values
    return float(np.median(np.abs(near - np.median(near))))


def log2_counts(values: npt.NDArray[np.int64], unit: int) -> tuple[int, ...]:
    """How many values lie in [0, unit), [unit, 2 unit), [2 unit, 4 unit) … up to the last that isn't empty.

    Args:
        values: shape (n,), >= 0.
        unit: end of the first bin.
    """
    edges = unit * 2 ** np.arange(_BINS, dtype=np.int64)
    bins = np.searchsorted(edges, values, side="right")
    return tuple(np.bincount(bins).tolist()) if bins.size else ()


def relative_spread(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The robust sigma of a sample of shape (n,) over the size of its median, a ratio >= 0.

    nan where the sample is empty or its median 0.
    """
    if not values.size:
        return float("nan")
    middle = abs(float(np.median(values)))
    return MAD_TO_SIGMA * median_absolute_deviation(values) / middle if middle else float("nan")


def theil_sen_slope(x: npt.NDArray[np.int64], y: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The median slope over all pairs of points with different `x`, in units of `y` a unit of `x`; nan without a pair.

    Up to 29 % of the points may lie anywhere without moving it far (Sen 1968). Above 1,000 points, those at equal
    distances are taken: memory is the square of their number.

    Args:
        x: shape (n,), in any order.
        y: shape (n,).
    """
    step = -(-x.size // _MOST_POINTS)
    if step > 1:
        x, y = x[::step], y[::step]
    left, right = np.triu_indices(x.size, 1)
    run = x[right] - x[left]
    apart = run != 0
    if not apart.any():
        return float("nan")
    return float(np.median((y[right] - y[left])[apart] / run[apart]))
