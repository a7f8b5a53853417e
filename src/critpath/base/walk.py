"""Walk back from the work that ended an interval to what really held it, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64
from critpath.base.jit import compiled

__all__ = ["LATE", "NEVER", "RAN", "STALLED", "Pieces", "Works", "latest_producers", "walk_back"]

RAN, STALLED, LATE = 0, 1, 2
"""What a piece is: the work ran; it was ready and didn't; it had not been issued."""

NEVER = -(2**63)
"""The ready time of work whose issue is not known."""


@dataclass(frozen=True, slots=True)
class Works:
    """Pieces of work in time [ns], each array of shape (n,).

    Attributes:
        ready_ns: when the work was issued and could have begun; `NEVER` where that is not known.
        latest: the producer with the latest end, -1 without one.
    """

    start_ns: I64
    end_ns: I64
    ready_ns: I64
    latest: I64


@dataclass(frozen=True, slots=True)
class Pieces:
    """Disjoint pieces of the walked intervals, latest first in each; shape (p,).

    Attributes:
        interval: which interval the piece lies in.
        kind: `RAN`, `STALLED` or `LATE`.
        work: the work it is about.
    """

    interval: I64
    start_ns: I64
    end_ns: I64
    kind: I64
    work: I64


def latest_producers(first: I64, producer: I64, end_ns: I64) -> I64:
    """The producer with the latest end of each piece of work, -1 without one; ties: the first edge.

    Args:
        first: edges of work w are rows [first[w], first[w + 1]); shape (n + 1,).
        producer: producer of each edge.
        end_ns: end of each piece of work, shape (n,).
    """
    return _latest(first, producer, end_ns)


def walk_back(works: Works, from_work: I64, floor_ns: I64, ceiling_ns: I64) -> Pieces:
    """What held each interval [floor, ceiling), walking back from the given work through latest producers.

    The pieces of an interval tile it from the walk's end down to its floor, except where the walk runs out of
    producers whose issue is unknown.

    Args:
        works: all work.
        from_work: where each walk begins; -1 walks nothing.
        floor_ns: where each walk stops.
        ceiling_ns: nothing above is told; the end of the first work bounds it too.
    """
    return Pieces(*_walk(works.start_ns, works.end_ns, works.ready_ns, works.latest, from_work, floor_ns, ceiling_ns))


@compiled
def _latest(first: I64, producer: I64, end_ns: I64) -> I64:
    count = first.size - 1
    latest = np.full(count, -1, np.int64)
    for work in range(count):
        best = NEVER
        for edge in range(first[work], first[work + 1]):
            if end_ns[producer[edge]] > best:
                best = end_ns[producer[edge]]
                latest[work] = producer[edge]
    return latest


@compiled
def _walk(  # noqa: PLR0913, PLR0917  (the compiler takes arrays only)
    start_ns: I64,
    end_ns: I64,
    ready_ns: I64,
    latest: I64,
    from_work: I64,
    floor_ns: I64,
    ceiling_ns: I64,
) -> tuple[I64, I64, I64, I64, I64]:
    rows = np.empty((max(16, 4 * from_work.size), 5), np.int64)
    used = 0
    for interval in range(from_work.size):
        work = from_work[interval]
        floor = floor_ns[interval]
        at = ceiling_ns[interval]
        if work >= 0:
            at = min(at, end_ns[work])
        while work >= 0 and at > floor:
            if used + 3 > rows.shape[0]:
                larger = np.empty((2 * rows.shape[0], 5), np.int64)
                larger[:used] = rows[:used]
                rows = larger
            begin = max(start_ns[work], floor)
            if at > begin:
                rows[used] = (interval, begin, at, RAN, work)
                used += 1
                at = begin
            before = latest[work]
            done = end_ns[before] if before >= 0 else NEVER
            ready = ready_ns[work]
            free = max(done, ready, floor)
            if ready != NEVER or before >= 0:
                if at > free:
                    rows[used] = (interval, free, at, STALLED, work)
                    used += 1
                    at = free
                late = max(done, floor)
                if ready > done and at > late:
                    rows[used] = (interval, late, at, LATE, work)
                    used += 1
                    at = late
            work = before
            at = min(at, done)
    rows = rows[:used]
    return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(), rows[:, 3].copy(), rows[:, 4].copy()
