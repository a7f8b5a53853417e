"""Spans of one owner that open inside one another: which is around which, and which is the innermost at an instant.

Nothing is assumed of how spans nest. A span is *inside* the latest-started one that is still open when it starts, even
where that one ends first: two spans that overlap in part are both kept as they are.

    rows in order of (owner, start, longest first)
    A  |--------------|
    B     |----|                 inside A
    C             |-------|      inside A, crosses it
    innermost  AAABBBBBAAACCCCCCC
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.jit import compiled

__all__ = ["I32", "Innermost", "crossings", "enclosing_ends", "inherited", "innermost", "insides", "repeats"]

I32 = npt.NDArray[np.int32]


class Innermost(NamedTuple):
    """Disjoint spans in order, and the row that is innermost in each; shape (p,)."""

    starts_ns: I64
    ends_ns: I64
    row: I32


def insides(owner: I64, starts_ns: I64, ends_ns: I64) -> tuple[I32, I32]:
    """(row around each row, -1 without one; number of rows around it), each of shape (n,).

    Args:
        owner: spans of different owners are never inside one another, shape (n,).
        starts_ns: rows are ordered by (owner, start, longest first).
        ends_ns: `ends_ns >= starts_ns`.
    """
    return _insides(owner, starts_ns, ends_ns)


def crossings(owner: I64, starts_ns: I64, ends_ns: I64) -> npt.NDArray[np.bool_]:
    """Rows that overlap another one of their owner without either holding the other; arguments as for `insides`."""
    return _crossings(owner, starts_ns, ends_ns)


def enclosing_ends(owner: I64, starts_ns: I64, ends_ns: I64, open_end_ns: int) -> I64:
    """End of the latest-started row still open when each row starts, `open_end_ns` where none is, shape (n,).

    Args:
        owner: as for `insides`.
        starts_ns: rows are ordered by (owner, start), and by their own order where both are equal.
        ends_ns: a row whose end isn't after its start surrounds nothing.
        open_end_ns: what is told where no row is open.
    """
    return _enclosing_ends(owner, starts_ns, ends_ns, open_end_ns)


def innermost(starts_ns: I64, ends_ns: I64) -> Innermost:
    """Where each row of one owner is the latest-started one still open; ties: the shorter, then the later row.

    Args:
        starts_ns: rows are ordered by (start, longest first), shape (n,).
        ends_ns: `ends_ns >= starts_ns`.
    """
    return Innermost(*_innermost(starts_ns, ends_ns))


def repeats(group: I64, starts_ns: I64, ends_ns: I64) -> npt.NDArray[np.bool_]:
    """Rows that lie wholly inside an earlier row of their group, shape (n,).

    Args:
        group: rows are ordered by (group, start, longest first).
        starts_ns: shape (n,).
        ends_ns: shape (n,).
    """
    return _repeats(group, starts_ns, ends_ns)


def inherited(around: I32, value: I32) -> I32:
    """Each row's own value, or where that is -1 the value of the nearest row around it that has one.

    Args:
        around: row around each row, which comes earlier; -1 without one.
        value: -1 = none.
    """
    return _inherited(around, value)


@compiled
def _insides(owner: I64, starts: I64, ends: I64) -> tuple[I32, I32]:
    n = starts.size
    around, depth = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    stack = np.empty(n, np.int32)
    top = 0
    for i in range(n):
        if i > 0 and owner[i] != owner[i - 1]:
            top = 0
        while top > 0 and ends[stack[top - 1]] <= starts[i]:
            top -= 1
        if top > 0:
            around[i] = stack[top - 1]
            depth[i] = depth[stack[top - 1]] + 1
        stack[top] = i
        top += 1
    return around, depth


@compiled
def _crossings(owner: I64, starts: I64, ends: I64) -> npt.NDArray[np.bool_]:
    n = starts.size
    found = np.zeros(n, np.bool_)
    # Open rows by their end, the next one to end last, so that those which a new row outlives are on top.
    stack = np.empty(n, np.int32)
    top = 0
    for i in range(n):
        if i > 0 and owner[i] != owner[i - 1]:
            top = 0
        while top > 0 and ends[stack[top - 1]] <= starts[i]:
            top -= 1
        place = top
        while place > 0 and ends[stack[place - 1]] < ends[i]:
            found[stack[place - 1]] = True
            found[i] = True
            stack[place] = stack[place - 1]
            place -= 1
        stack[place] = i
        top += 1
    return found


@compiled
def _enclosing_ends(owner: I64, starts: I64, ends: I64, open_end: int) -> I64:
    n = starts.size
    result = np.full(n, open_end, np.int64)
    stack = np.empty(n, np.int64)
    top = 0
    for i in range(n):
        if i > 0 and owner[i] != owner[i - 1]:
            top = 0
        while top > 0 and stack[top - 1] <= starts[i]:
            top -= 1
        if top > 0:
            result[i] = stack[top - 1]
        if ends[i] > starts[i]:
            stack[top] = ends[i]
            top += 1
    return result


@compiled
def _innermost(starts: I64, ends: I64) -> tuple[I64, I64, I32]:
    n = starts.size
    begin, end, row = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(2 * n, np.int32)
    stack = np.empty(n, np.int32)
    top = count = 0
    now = starts[0] if n else 0
    for i in range(n + 1):
        upto = starts[i] if i < n else np.iinfo(np.int64).max
        while top > 0:
            inner = stack[top - 1]
            stop = min(ends[inner], upto)
            if stop > now:
                begin[count], end[count], row[count] = now, stop, inner
                count += 1
                now = stop
            if ends[inner] > upto:
                break
            top -= 1
        if i < n:
            now = max(now, upto)
            stack[top] = i
            top += 1
    return begin[:count], end[:count], row[:count]


@compiled
def _repeats(group: I64, starts: I64, ends: I64) -> npt.NDArray[np.bool_]:
    found = np.zeros(starts.size, np.bool_)
    reach = np.int64(0)
    for i in range(starts.size):
        if i == 0 or group[i] != group[i - 1]:
            reach = ends[i]
        elif ends[i] <= reach:
            found[i] = True
        else:
            reach = ends[i]
    return found


@compiled
def _inherited(around: I32, value: I32) -> I32:
    result = value.copy()
    for i in range(around.size):
        if result[i] < 0 and around[i] >= 0:
            result[i] = result[around[i]]
    return result
