"""Robust statistics of small samples of windows and large samples of latencies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["median_absolute_deviation", "relative_spread"]

MAD_TO_SIGMA = 1.4826
"""What a median absolute deviation is multiplied by to estimate the sigma of a normal sample."""


def median_absolute_deviation(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The median distance from the median, in the unit of `values`; nan for an empty sample."""
    if not values.size:
        return float("nan")
    return float(np.median(np.abs(values - np.median(values))))


def relative_spread(values: npt.NDArray[np.int64] | npt.NDArray[np.float64]) -> float:
    """The sample's robust sigma over its median, a ratio; nan where the sample is empty or its median 0."""
    if not values.size:
        return float("nan")
    middle = float(np.median(values))
    return MAD_TO_SIGMA * median_absolute_deviation(values) / middle if middle else float("nan")
