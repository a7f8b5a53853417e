"""The only interval maths of the project.

An `Intervals` is a sorted, disjoint set of half-open spans [start, end) on one int64 nanosecond axis. Touching spans
merge and empty ones vanish, so equal sets have equal arrays. Everything is linear after a sort or a merge.

Instants lie in [-2**62, 2**62], so that any two have a difference: 146 years to either side of the axis' zero. A set
may be longer than an int64 counts only in `total_ns`, which is a Python int.

    busy = union(kernels.start_ns, kernels.end_ns)
    idle = window.subtract(busy)
    per_window_ns = busy.clip(starts, ends)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["I64", "Intervals", "clip_spans", "coverage", "overlap", "union"]

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
        # The longest set has 2**63 ns, one more than an int64 holds; unsigned, the same bits are right.
        return int((self.ends_ns - self.starts_ns).view(np.uint64).sum())

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
        mine = self._over(int(other.starts_ns[0]), int(other.ends_ns[-1]))
        theirs = other._over(int(self.starts_ns[0]), int(self.ends_ns[-1]))
        starts = _merged(self.starts_ns[mine], other.starts_ns[theirs])
        ends = _merged(self.ends_ns[mine], other.ends_ns[theirs])
        # At most two spans are open at a time, one of each set. So start k + 1 finds another open exactly where it
        # comes before end k, and both stay open until that end.
        both = starts[1:] < ends[:-1]
        return Intervals(starts[1:][both], ends[:-1][both])

    def subtract(self, other: Intervals) -> Intervals:
        """Instants in this set that are not in `other`."""
        if not len(self) or not len(other):
            return self
        lo, hi = int(self.starts_ns[0]), int(self.ends_ns[-1])
        return self.intersect(other.gaps(lo, hi))

    def gaps(self, start_ns: int, end_ns: int) -> Intervals:
        """Instants of [start_ns, end_ns) that are not in this set; none where the window is empty or inverted."""
        if end_ns <= start_ns:
            return Intervals.empty()
        inside = self._over(start_ns, end_ns)
        starts = np.concatenate([np.array([start_ns], np.int64), self.ends_ns[inside]])
        ends = np.concatenate([self.starts_ns[inside], np.array([end_ns], np.int64)])
        keep = starts < ends
        return Intervals(starts[keep], ends[keep])

    def clip(self, starts_ns: I64, ends_ns: I64) -> I64:
        """The measure of this set inside each of many windows [ns], shape of `starts_ns`.

        Windows may overlap, touch, be empty and come in any order; a window that ends before it starts counts 0.

        Args:
            starts_ns: first instants of the windows, any shape.
            ends_ns: first instants after them, the same shape.
        """
        starts = np.asarray(starts_ns, np.int64)
        return coverage(self, np.maximum(starts, ends_ns)) - coverage(self, starts)

    def contains(self, instants_ns: I64) -> npt.NDArray[np.bool_]:
        """Whether each instant lies in the set, shape of `instants_ns`; an end is outside, a start inside."""
        if not len(self):
            return np.zeros(np.shape(instants_ns), np.bool_)
        index = np.searchsorted(self.starts_ns, instants_ns, side="right") - 1
        return (index >= 0) & (instants_ns < self.ends_ns[np.maximum(index, 0)])

    def _over(self, start_ns: int, end_ns: int) -> slice:
        """Which spans share an instant with [start_ns, end_ns), which is not empty."""
        first = np.searchsorted(self.ends_ns, start_ns, side="right")
        return slice(first, np.searchsorted(self.starts_ns, end_ns, side="left"))


def union(starts_ns: I64, ends_ns: I64) -> Intervals:
    """The union of spans that may overlap and come in any order.

    Args:
        starts_ns: shape (n,), int64.
        ends_ns: shape (n,), int64; a span with `end <= start` holds no instant and adds nothing.

    Raises:
        ValueError: `starts_ns` and `ends_ns` differ in size.
    """
    starts = np.asarray(starts_ns, np.int64).ravel()
    ends = np.asarray(ends_ns, np.int64).ravel()
    if starts.size != ends.size:
        raise ValueError(f"{starts.size} starts and {ends.size} ends")
    solid = ends > starts
    if not solid.all():
        starts, ends = starts[solid], ends[solid]
    if not starts.size:
        return Intervals.empty()
    starts, reach = _swept(starts, ends)
    first = np.empty(starts.size, np.bool_)
    first[0] = True
    np.greater(starts[1:], reach[:-1], out=first[1:])
    last = np.append(np.flatnonzero(first)[1:] - 1, starts.size - 1)
    return Intervals(starts[first], reach[last])


def coverage(spans: Intervals, instants_ns: I64) -> I64:
    """The measure of `spans` before each instant [ns], shape of `instants_ns`, by prefix sums."""
    if not len(spans):
        return np.zeros(np.shape(instants_ns), np.int64)
    lengths = spans.ends_ns - spans.starts_ns
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    index = np.searchsorted(spans.starts_ns, instants_ns, side="right")
    inside = np.maximum(index - 1, 0)
    ends = spans.ends_ns[inside]
    # An instant past its span is moved back to the span's end: a subtraction of far instants could wrap around.
    return before[index] - np.where(index > 0, ends - np.minimum(instants_ns, ends), 0)


def overlap(starts_ns: I64, ends_ns: I64, window_starts_ns: I64, window_ends_ns: I64) -> I64:
    """Time of each span inside each window, added up over the windows [ns]; where windows overlap, each counts.

    Args:
        starts_ns: starts of the spans, shape (n,).
        ends_ns: their ends, shape (n,).
        window_starts_ns: starts of the windows, in any order, shape (m,).
        window_ends_ns: their ends, shape (m,).
    """
    if not window_starts_ns.size or not starts_ns.size:
        return np.zeros(starts_ns.size, np.int64)
    base, last = window_starts_ns.min(), window_ends_ns.max()
    opens, closes = np.sort(window_starts_ns - base), np.sort(window_ends_ns - base)
    opened_ns, closed_ns = (np.concatenate([np.zeros(1, np.int64), np.cumsum(side)]) for side in (opens, closes))

    def before(instants_ns: I64) -> I64:
        at = np.clip(instants_ns, base, last) - base
        opened, closed = np.searchsorted(opens, at, side="right"), np.searchsorted(closes, at, side="right")
        covered: I64 = (opened - closed) * at - opened_ns[opened] + closed_ns[closed]
        return covered

    return before(np.maximum(starts_ns, ends_ns)) - before(starts_ns)


def clip_spans(starts_ns: I64, ends_ns: I64, start_ns: int, end_ns: int) -> tuple[I64, I64]:
    """Each span cut to [start_ns, end_ns), spans outside and empty ones dropped; overlaps between spans stay.

    For volumes of work, where every span counts on its own; a wall time needs `union`.

    Returns:
        (starts, ends) [ns] of the spans that are left, in the order they came, each of shape (k,) with k <= n.
    """
    starts = np.maximum(starts_ns, start_ns)
    ends = np.minimum(ends_ns, end_ns)
    keep = ends > starts
    return starts[keep], ends[keep]


def _swept(starts: I64, ends: I64) -> tuple[I64, I64]:
    """(starts in order, reach): before the next start all spans so far are over exactly where their reach is.

    There `reach` is the last of their ends; elsewhere it says no more than that one of them goes on.
    """
    if (starts[1:] >= starts[:-1]).all():
        return starts, np.maximum.accumulate(ends)
    sample = starts[::64]
    if np.count_nonzero(sample[1:] < sample[:-1]) <= sample.size // 8:
        # Nearly in order, or a few runs in order, as tables of traces come: a stable sort takes advantage of that.
        order = np.argsort(starts, kind="stable")
        return starts[order], np.maximum.accumulate(ends[order])
    # The first i + 1 spans are over exactly when i + 1 ends are past: which end is whose doesn't matter.
    return np.sort(starts), np.sort(ends)


def _merged(a: I64, b: I64) -> I64:
    """Two ordered columns as one, by the sort that merges runs."""
    return np.sort(np.concatenate([a, b]), kind="stable")
