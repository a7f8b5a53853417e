"""Robust statistics of small samples of windows and large samples of latencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["median_absolute_deviation", "relative_spread"]

MAD_TO_SIGMA = 1.4826
"""What a median absolute deviation is multiplied by to estimate the sigma of a normal sample."""


def median_absolute_deviation(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The median distance from the median, in the unit of `values`, of shape (n,); nan for an empty sample.

    Integers keep every digit, however far from 0 they lie: a sample of epoch times in ns spreads by its own ns.
    """
    if not values.size:
        return float("nan")
    # A float64 counts whole ns only up to 2**53; distances from any member of the sample are small.
    near = values - values.flat[0] if np.issubdtype(values.dtype, np.integer) else values
    return float(np.median(np.abs(near - np.median(near))))


def relative_spread(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The robust sigma of a sample of shape (n,) over the size of its median, a ratio >= 0.

    nan where the sample is empty or its median 0.
    """
    if not values.size:
        return float("nan")
    middle = abs(float(np.median(values)))
    return MAD_TO_SIGMA * median_absolute_deviation(values) / middle if middle else float("nan")
