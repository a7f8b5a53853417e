"""What each piece of work in a set of in-order queues has to wait for.

Work on one queue runs in order. A *signal* on a queue stands for all work on it so far; an *await* on a queue makes
later work on it wait for what one signal stood for. Signals may pass on awaits, through queues without any work.
Queues of a group may be tied to a *barrier queue*: work on the barrier waits for all members, and they for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.jit import compiled

__all__ = ["AWAIT", "BARRIER", "FREE", "MEMBER", "SIGNAL", "WORK", "Order", "Queues", "order_of"]

WORK, SIGNAL, AWAIT = 0, 1, 2
"""What an item is."""

FREE, MEMBER, BARRIER = 0, 1, 2
"""What a queue is to its group."""

_SPARE = 256
"""Work that a queue's state may carry beside one of each queue; where more is awaited, the latest of each is kept."""

_MOST_QUEUES = 2_048
"""Queues that one queue can wait for at a time: what a state takes in memory grows with their square."""


@dataclass(frozen=True, slots=True)
class Queues:
    """Items in the order in which they were put into their queues.

    Attributes:
        kind: `WORK`, `SIGNAL` or `AWAIT`, shape (n,).
        queue: queue of each item, in [0, q).
        number: which piece of work, signal or await the item is; each kind counts from 0.
        awaited: for each await, the signal it waits for, or -1 where that is not known; shape (awaits,).
        role: `FREE`, `MEMBER` or `BARRIER` of each queue, shape (q,).
        group: group of each queue, shape (q,).
    """

    kind: npt.NDArray[np.int8]
    queue: I64
    number: I64
    awaited: I64
    role: I64
    group: I64


@dataclass(frozen=True, slots=True)
class Order:
    """Edges between pieces of work, one row an edge, sorted by the work that waits.

    Attributes:
        work: the waiting work.
        producer: the work it waits for.
        via: the await that brought it; -1 for the order of the queue, -2 for a barrier.
        first: edges of work w are rows [first[w], first[w + 1]).
        unknown: for each piece of work, whether an await before it has no known signal, directly or passed on.
    """

    work: I64
    producer: I64
    via: I64
    first: I64
    unknown: npt.NDArray[np.bool_]


def order_of(queues: Queues, works: int, signals: int) -> Order:
    """Every edge that the queues, signals and awaits imply.

    Args:
        queues: the items; an await comes after its signal.
        works: how many pieces of work there are.
        signals: how many signals there are.
    """
    work, producer, via, unknown = _edges(
        queues.kind,
        queues.queue,
        queues.number,
        queues.awaited,
        queues.role,
        queues.group,
        works,
        signals,
        _SPARE + min(queues.role.size, _MOST_QUEUES),
    )
    rows = np.argsort(work, kind="stable")
    first = np.zeros(works + 1, np.int64)
    np.cumsum(np.bincount(work, minlength=works), out=first[1:])
    return Order(work[rows], producer[rows], via[rows], first, unknown)


@compiled
def _grown(values: I64, needed: int) -> I64:
    if needed <= values.size:
        return values
    larger = np.empty(max(2 * values.size, needed), np.int64)
    larger[: values.size] = values
    return larger


@compiled
def _edges(  # noqa: PLR0912, PLR0913, PLR0915, PLR0917  (one state machine; the compiler takes arrays only)
    kind: npt.NDArray[np.int8],
    queue: I64,
    number: I64,
    awaited: I64,
    role: I64,
    group: I64,
    works: int,
    signals: int,
    most: int,
) -> tuple[I64, I64, I64, npt.NDArray[np.bool_]]:
    queues = role.size
    # What a queue's next work must wait for lies in `carried`: (work, await that brought it), `length` entries.
    carried = np.empty((queues, most), np.int64)
    brought = np.empty((queues, most), np.int64)
    length = np.zeros(queues, np.int64)
    tainted = np.zeros(queues, np.bool_)
    # When a queue was last given anything to pass on, and when it was last given work, which takes that up.
    changed = np.full(queues, -1, np.int64)
    worked = np.full(queues, -1, np.int64)
    home = np.full(works, -1, np.int64)
    put = np.full(works, -1, np.int64)
    latest = np.full(queues, -1, np.int64)
    kept = np.empty(max(16, signals), np.int64)
    kept_first = np.zeros(signals, np.int64)
    kept_size = np.zeros(signals, np.int64)
    kept_tainted = np.zeros(signals, np.bool_)
    kept_used = 0
    work = np.empty(max(16, works), np.int64)
    producer = np.empty(max(16, works), np.int64)
    via = np.empty(max(16, works), np.int64)
    used = 0
    unknown = np.zeros(works, np.bool_)
    for i in range(kind.size):
        q = queue[i]
        n = number[i]
        if kind[i] == 0:
            needed = used + length[q] + 1
            for other in range(queues):
                needed += length[other] if group[other] == group[q] and other != q else 0
            work = _grown(work, needed)
            producer = _grown(producer, needed)
            via = _grown(via, needed)
            for j in range(length[q]):
                work[used] = n
                producer[used] = carried[q, j]
                via[used] = brought[q, j]
                used += 1
            unknown[n] = tainted[q]
            if role[q] != 0:
                for other in range(queues):
                    tied = group[other] == group[q] and other != q and changed[other] > worked[q]
                    if tied and (role[q] + role[other] == 3):
                        for j in range(length[other]):
                            work[used] = n
                            producer[used] = carried[other, j]
                            via[used] = -2
                            used += 1
                        unknown[n] = unknown[n] or tainted[other]
            carried[q, 0] = n
            brought[q, 0] = -1
            length[q] = 1
            tainted[q] = False
            home[n] = q
            put[n] = i
            worked[q] = i
            changed[q] = i
        elif kind[i] == 1:
            # A relay without work collects what it ever waited for; of one queue only the latest can still matter.
            length[q] = _latest_of_each(carried, brought, q, length[q], home, put, latest)
            total = length[q]
            if role[q] != 0:
                for other in range(queues):
                    if group[other] == group[q] and role[q] + role[other] == 3:
                        total += length[other]
            kept = _grown(kept, kept_used + total)
            kept_first[n] = kept_used
            kept_tainted[n] = tainted[q]
            for j in range(length[q]):
                kept[kept_used] = carried[q, j]
                kept_used += 1
            if role[q] != 0:
                for other in range(queues):
                    if group[other] == group[q] and role[q] + role[other] == 3:
                        kept_tainted[n] = kept_tainted[n] or tainted[other]
                        for j in range(length[other]):
                            kept[kept_used] = carried[other, j]
                            kept_used += 1
            kept_size[n] = total
        else:
            signal = awaited[n]
            if signal < 0:
                tainted[q] = True
                changed[q] = i
                continue
            tainted[q] = tainted[q] or kept_tainted[signal]
            changed[q] = i
            for j in range(kept_first[signal], kept_first[signal] + kept_size[signal]):
                new = kept[j]
                size = length[q]
                if size == most:
                    size = _latest_of_each(carried, brought, q, size, home, put, latest)
                if size < most:
                    carried[q, size] = new
                    brought[q, size] = n
                    size += 1
                length[q] = size
    return work[:used].copy(), producer[:used].copy(), via[:used].copy(), unknown


@compiled
def _latest_of_each(  # noqa: PLR0913, PLR0917  (the compiler takes arrays only)
    carried: I64, brought: I64, q: int, size: int, home: I64, put: I64, latest: I64
) -> int:
    """Drop work that later work of the same queue implies; awaits may have brought the later work first.

    `latest` holds -1 for every queue, before and after: one array for all calls, since each touches few queues.
    """
    for j in range(size):
        best = latest[home[carried[q, j]]]
        if best < 0 or put[carried[q, j]] >= put[carried[q, best]]:
            latest[home[carried[q, j]]] = j
    kept = 0
    for j in range(size):
        mine = carried[q, j]
        if latest[home[mine]] == j:
            latest[home[mine]] = -1
            carried[q, kept] = mine
            brought[q, kept] = brought[q, j]
            kept += 1
    return kept
