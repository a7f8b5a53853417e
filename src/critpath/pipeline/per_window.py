"""int64 ns of windows as milliseconds an iteration of the report."""

from __future__ import annotations

import numpy as np

from critpath.base.intervals import I64
from critpath.model.report import DurationBin
from critpath.model.values import NS_PER_MS, Stat

__all__ = ["duration_bins", "mean_ms", "stat"]


def stat(values_ns: I64) -> Stat:
    """Mean, median, least and largest of one value a window [ms]."""
    return Stat(
        mean_ms=float(values_ns.mean()) / NS_PER_MS,
        median_ms=float(np.median(values_ns)) / NS_PER_MS,
        min_ms=float(values_ns.min()) / NS_PER_MS,
        max_ms=float(values_ns.max()) / NS_PER_MS,
    )


def mean_ms(values_ns: I64) -> float:
    """Mean of one value a window [ms]."""
    return float(values_ns.mean()) / NS_PER_MS


def duration_bins(counts: tuple[int, ...]) -> list[DurationBin]:
    """A histogram by powers of two of 1 us, from the first bin that isn't empty."""
    first = next((k for k, count in enumerate(counts) if count), 0)
    return [
        DurationBin(from_us=float(2 ** (k - 1)) if k else 0.0, to_us=float(2**k), count=count)
        for k, count in enumerate(counts)
        if k >= first
    ]
