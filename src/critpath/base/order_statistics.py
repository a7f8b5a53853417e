"""Medians of many groups at once, each with an interval that assumes nothing of the values' distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64

__all__ = ["FEWEST_FOR_INTERVAL", "GroupMedians", "group_medians", "interval_rank"]

F64 = npt.NDArray[np.float64]

_TAIL = 0.0125
"""Chance that a median lies below its interval, and as much above it: two intervals then hold together at 95 %."""

_EXACT_UP_TO = 1000
_Z = 2.2414
"""Quantile of the normal distribution that leaves `_TAIL` above it."""

FEWEST_FOR_INTERVAL = 7
"""The smallest sample whose least and largest value hold the median often enough."""


@dataclass(frozen=True, slots=True)
class GroupMedians:
    """The median of each group and its interval, arrays of shape (groups,); nan where the group has too few values.

    Attributes:
        n: values of each group.
        median: nan for an empty group.
        low, high: hold the true median at 97.5 %; nan below `FEWEST_FOR_INTERVAL` values.
    """

    n: I64
    median: F64
    low: F64
    high: F64


def interval_rank(n: int) -> int:
    """The rank r, from 1, so that the r-th least and r-th largest of n independent values hold the median at 97.5 %.

    0 where n values are too few. How many values lie below the true median is binomial whatever their distribution;
    ties only widen what the interval holds. Above a thousand values the binomial is taken as normal, one rank wider.
    """
    if n > _EXACT_UP_TO:
        return max(int((n - _Z * math.sqrt(n)) / 2) - 1, 1)
    below, whole = 0, 2**n
    for rank in range(n // 2 + 1):
        below += math.comb(n, rank)
        if below > _TAIL * whole:
            return rank
    return n // 2


def group_medians(group: npt.NDArray[np.intp], values: I64, groups: int) -> GroupMedians:
    """Medians of the values of each group.

    Args:
        group: group of each value, in [0, groups), shape (n,).
        values: shape (n,).
        groups: how many groups there are.
    """
    ordered = values[np.lexsort((values, group))].astype(np.float64)
    n = np.bincount(group, minlength=groups).astype(np.int64)
    first = np.cumsum(n) - n
    sizes, size = np.unique(n, return_inverse=True)
    rank = np.array([interval_rank(each) for each in sizes.tolist()], np.int64)[size]

    def at(place: I64, known: npt.NDArray[np.bool_]) -> F64:
        found = np.full(groups, np.nan)
        found[known] = ordered[(first + place)[known]]
        return found

    some = n > 0
    return GroupMedians(
        n=n,
        median=(at((n - 1) // 2, some) + at(n // 2, some)) / 2,
        low=at(rank - 1, rank > 0),
        high=at(n - rank, rank > 0),
    )
