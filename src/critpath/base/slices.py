"""Unions and extents of many slices of one list of spans, in near-linear time however the slices nest or overlap.

A slice is the spans [lo, hi) of the list, in the list's own order, which need not be the order of time. Summing lengths
would count what runs at the same time twice, and a sort of each slice would cost its length once for every slice that
holds it.

    wall_ns = slice_unions(ops.start_ns, ops.end_ns, first_op, last_op)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.jit import compiled

__all__ = ["slice_extents", "slice_unions"]


def slice_unions(starts_ns: I64, ends_ns: I64, lo: npt.NDArray[np.integer], hi: npt.NDArray[np.integer]) -> I64:
    """The measure of the union of each slice [ns], shape of `lo`; 0 for an empty slice.

    The spans are laid over one another in their order, and each instant remembers the last span that covers it. After
    the first `hi` spans, the instants of span `lo` or a later one are exactly the union of the slice; their measure is
    kept in a tree of prefix sums. Time is O((spans + slices) * log(spans)).

    Args:
        starts_ns: shape (n,), in any order.
        ends_ns: shape (n,); a span with `end <= start` holds no instant.
        lo: first span of each slice, shape (m,), in [0, n].
        hi: first span after each slice, shape (m,), in [0, n].
    """
    result = np.zeros(lo.size, np.int64)
    single = np.flatnonzero(hi - lo == 1)
    result[single] = np.maximum(ends_ns[lo[single]] - starts_ns[lo[single]], 0)
    rows = np.flatnonzero(hi - lo > 1)
    if rows.size:
        first, last = int(lo[rows].min()), int(hi[rows].max())
        begins, ends = starts_ns[first:last], ends_ns[first:last]
        instants, place = np.unique(np.concatenate([begins, ends]), return_inverse=True)
        left, right = place[: begins.size].astype(np.int32), place[begins.size :].astype(np.int32)
        lows, highs = (lo[rows] - first).astype(np.int64), (hi[rows] - first).astype(np.int64)
        result[rows] = _laid(left, right, instants, lows, highs)
    return result


def slice_extents(
    starts_ns: I64, ends_ns: I64, lo: npt.NDArray[np.integer], hi: npt.NDArray[np.integer]
) -> tuple[I64, I64]:
    """(least start, largest end) of each slice that isn't empty [ns], each of the shape of `lo`; 0 for the others.

    Args:
        starts_ns: shape (n,).
        ends_ns: shape (n,).
        lo: first span of each slice, shape (m,), in [0, n].
        hi: first span after each slice, shape (m,), in [0, n].
    """
    solid = np.flatnonzero(hi > lo)
    least, largest = np.zeros(lo.size, np.int64), np.zeros(lo.size, np.int64)
    if solid.size:
        lows, highs = lo[solid].astype(np.int64), hi[solid].astype(np.int64)
        least[solid] = _least(starts_ns, lows, highs)
        largest[solid] = -_least(-ends_ns, lows, highs)
    return least, largest


@compiled
def _by_end(hi: I64, n: int) -> tuple[I64, I64]:
    """(first, order): slices that end at span k are order[first[k]:first[k + 1]]."""
    first = np.zeros(n + 2, np.int64)
    for i in range(hi.size):
        first[hi[i] + 1] += 1
    for k in range(n + 1):
        first[k + 1] += first[k]
    order = np.empty(hi.size, np.int64)
    at = first.copy()
    for i in range(hi.size):
        order[at[hi[i]]] = i
        at[hi[i]] += 1
    return first, order


@compiled
def _least(values: I64, lo: I64, hi: I64) -> I64:
    """The least value of each slice that isn't empty, by a stack of the values that no later one is below."""
    n = values.size
    first, order = _by_end(hi, n)
    result = np.empty(lo.size, np.int64)
    stack = np.empty(n, np.int64)
    top = 0
    for k in range(n):
        while top > 0 and values[stack[top - 1]] >= values[k]:
            top -= 1
        stack[top] = k
        top += 1
        for j in range(first[k + 1], first[k + 2]):
            query = order[j]
            result[query] = values[stack[np.searchsorted(stack[:top], lo[query])]]
    return result


@compiled
def _add(tree: I64, at: int, value: int) -> None:
    place = at + 1
    while place < tree.size:
        tree[place] += value
        place += place & -place


@compiled
def _before(tree: I64, at: int) -> int:
    total = 0
    place = at
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@compiled
def _mark(marks: npt.NDArray[np.uint8], at: int) -> None:
    node = at + marks.size // 2
    while node > 0 and marks[node] == 0:
        marks[node] = 1
        node //= 2


@compiled
def _unmark(marks: npt.NDArray[np.uint8], at: int) -> None:
    node = at + marks.size // 2
    marks[node] = 0
    while node > 1 and marks[node ^ 1] == 0:
        node //= 2
        marks[node] = 0


@compiled
def _marked_at_or_before(marks: npt.NDArray[np.uint8], at: int) -> int:
    """The last marked place that isn't after `at`; the first place is always marked."""
    size = marks.size // 2
    node = at + size
    if marks[node]:
        return at
    while node % 2 == 0 or marks[node - 1] == 0:
        node //= 2
    node -= 1
    while node < size:
        node = 2 * node + 1 if marks[2 * node + 1] else 2 * node
    return node - size


@compiled
def _laid(left: npt.NDArray[np.int32], right: npt.NDArray[np.int32], instants: I64, lo: I64, hi: I64) -> I64:
    """The union of each slice; pieces of the axis are a linked list by place, found by a tree of marks."""
    n, places = left.size, instants.size
    first, order = _by_end(hi, n)
    result = np.zeros(lo.size, np.int64)
    size = 1
    while size < places:
        size *= 2
    marks = np.zeros(2 * size, np.uint8)
    following = np.full(places, places - 1, np.int32)
    owner = np.full(places, -1, np.int32)
    tree = np.zeros(n + 1, np.int64)
    total = 0
    _mark(marks, 0)
    for k in range(n):
        begin, end = left[k], right[k]
        if begin < end:
            at = _marked_at_or_before(marks, begin)
            if at < begin:
                following[begin], owner[begin] = following[at], owner[at]
                following[at] = begin
                _mark(marks, begin)
            at = begin
            while at < end:
                upto, whose = following[at], owner[at]
                if upto > end:
                    following[end], owner[end] = upto, whose
                    _mark(marks, end)
                    upto = end
                if whose >= 0:
                    length = instants[upto] - instants[at]
                    _add(tree, whose, -length)
                    total -= length
                if at != begin:
                    _unmark(marks, at)
                at = upto
            following[begin], owner[begin] = end, k
            length = instants[end] - instants[begin]
            _add(tree, k, length)
            total += length
        for j in range(first[k + 1], first[k + 2]):
            query = order[j]
            result[query] = total - _before(tree, lo[query])
    return result
