"""The only interval maths of the project.

An `Intervals` is a sorted, disjoint set of half-open spans [start, end) on one int64 nanosecond axis. Touching spans
merge and empty ones vanish, so equal sets have equal arrays. Everything is linear after at most one stable sort:
trace tables come nearly in order, and a stable sort takes advantage of that.

    busy = union(kernels.start_ns, kernels.end_ns)
    idle = window.subtract(busy)
    per_window_ns = busy.clip(starts, ends)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["I64", "Intervals", "clip_spans", "coverage", "union"]

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A set of instants, as sorted, disjoint, non-empty, non-touching spans [start, end).

    Build one with `union` or `Intervals.of`; the constructor trusts its arrays.

    Attributes:
        starts_ns: shape (n,), strictly increasing.
        ends_ns: shape (n,), `starts_ns < ends_ns`, and each end is before the next start.
    """

    starts_ns: I64
    ends_ns: I64

    @classmethod
    def empty(cls) -> Self:
        """No instant at all."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, *spans: tuple[int, int]) -> Self:
        """The union of the given spans; empty ones (end <= start) add nothing."""
        pairs = np.array(spans, np.int64).reshape(-1, 2)
        merged = union(pairs[:, 0], pairs[:, 1])
        return cls(merged.starts_ns, merged.ends_ns)

    def __len__(self) -> int:
        return int(self.starts_ns.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(self.starts_ns, other.starts_ns) and np.array_equal(self.ends_ns, other.ends_ns)

    __hash__ = None  # type: ignore[assignment]

    @property
    def total_ns(self) -> int:
        """The measure of the set [ns]."""
        return int((self.ends_ns - self.starts_ns).sum())

    def pairs(self) -> list[tuple[int, int]]:
        """The spans as Python tuples, for messages and tests."""
        return list(zip(self.starts_ns.tolist(), self.ends_ns.tolist(), strict=True))

    def union(self, other: Intervals) -> Intervals:
        """Instants in either set."""
        return union(np.concatenate([self.starts_ns, other.starts_ns]), np.concatenate([self.ends_ns, other.ends_ns]))

    def intersect(self, other: Intervals) -> Intervals:
        """Instants in both sets."""
        if not len(self) or not len(other):
            return Intervals.empty()
        first = np.searchsorted(other.ends_ns, self.starts_ns, side="right")
        last = np.searchsorted(other.starts_ns, self.ends_ns, side="left")
        mine, theirs = _expand(first, last)
        return Intervals(
            np.maximum(self.starts_ns[mine], other.starts_ns[theirs]),
            np.minimum(self.ends_ns[mine], other.ends_ns[theirs]),
        )

    def subtract(self, other: Intervals) -> Intervals:
        """Instants in this set that are not in `other`."""
        if not len(self) or not len(other):
            return self
        lo, hi = int(self.starts_ns[0]), int(self.ends_ns[-1])
        return self.intersect(other.gaps(lo, hi))

    def gaps(self, start_ns: int, end_ns: int) -> Intervals:
        """Instants of [start_ns, end_ns) that are not in this set."""
        if end_ns <= start_ns:
            return Intervals.empty()
        inside = (self.ends_ns > start_ns) & (self.starts_ns < end_ns)
        starts = np.concatenate([[start_ns], self.ends_ns[inside]]).astype(np.int64)
        ends = np.concatenate([self.starts_ns[inside], [end_ns]]).astype(np.int64)
        keep = starts < ends
        return Intervals(starts[keep], ends[keep])

    def clip(self, starts_ns: I64, ends_ns: I64) -> I64:
        """The measure of this set inside each of many windows [ns], shape of `starts_ns`.

        Windows may overlap, touch, be empty and come in any order; a window that ends before it starts counts 0.
        """
        ends = np.maximum(ends_ns, starts_ns)
        return coverage(self, ends) - coverage(self, np.asarray(starts_ns, np.int64))

    def contains(self, instants_ns: I64) -> npt.NDArray[np.bool_]:
        """Whether each instant lies in the set; an end is outside, a start inside."""
        index = np.searchsorted(self.starts_ns, instants_ns, side="right") - 1
        inside = index >= 0
        inside[inside] = instants_ns[inside] < self.ends_ns[index[inside]]
        return inside


def union(starts_ns: I64, ends_ns: I64) -> Intervals:
    """The union of spans that may overlap and come in any order.

    Args:
        starts_ns: shape (n,), int64.
        ends_ns: shape (n,), int64; a span with `end <= start` holds no instant and adds nothing.
    """
    starts = np.asarray(starts_ns, np.int64)
    ends = np.asarray(ends_ns, np.int64)
    solid = ends > starts
    if not solid.all():
        starts, ends = starts[solid], ends[solid]
    if not starts.size:
        return Intervals.empty()
    if not (starts[1:] >= starts[:-1]).all():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    first = np.empty(starts.size, np.bool_)
    first[0] = True
    np.greater(starts[1:], reach[:-1], out=first[1:])
    last = np.append(np.flatnonzero(first)[1:] - 1, starts.size - 1)
    return Intervals(starts[first], reach[last])


def coverage(spans: Intervals, instants_ns: I64) -> I64:
    """The measure of `spans` before each instant [ns], by prefix sums."""
    if not len(spans):
        return np.zeros(np.shape(instants_ns), np.int64)
    lengths = spans.ends_ns - spans.starts_ns
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    index = np.searchsorted(spans.starts_ns, instants_ns, side="right")
    inside = np.maximum(index - 1, 0)
    over = np.maximum(spans.ends_ns[inside] - instants_ns, 0)
    return before[index] - np.where(index > 0, over, 0)


def clip_spans(starts_ns: I64, ends_ns: I64, start_ns: int, end_ns: int) -> tuple[I64, I64]:
    """Each span cut to [start_ns, end_ns), spans outside dropped; overlaps between spans stay.

    For volumes of work, where every span counts on its own; a wall time needs `union`.
    """
    starts = np.maximum(starts_ns, start_ns)
    ends = np.minimum(ends_ns, end_ns)
    keep = ends > starts
    return starts[keep], ends[keep]


def _expand(
    first: npt.NDArray[np.intp], last: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """All index pairs (i, j) with first[i] <= j < last[i], in order."""
    counts = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(counts.size), counts)
    offset = np.cumsum(counts) - counts
    theirs = np.arange(int(counts.sum())) - np.repeat(offset, counts) + np.repeat(first, counts)
    return mine, theirs
