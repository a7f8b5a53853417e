"""The chain of work and of the threads that issued it, followed back from one piece of work through what held it.

work      |== P ==|   gap   |== X ==|          X waited for P, the last of its producers to end
thread    ---host---|launch |== X ==|          X had been issued last: back along the thread that issued it
thread    |wait(A)  |-host--|launch             until that thread had waited for work A, and on with A
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64
from critpath.base.jit import compiled
from critpath.base.walk import NEVER

__all__ = [
    "GAP",
    "HOST",
    "INFERRED",
    "LAUNCH",
    "RAN",
    "UNKNOWN",
    "WAIT",
    "Chain",
    "Issued",
    "Links",
    "Waits",
    "follow_back",
]

RAN, GAP, LAUNCH, HOST, WAIT, UNKNOWN = range(6)
"""What a link is: work ran; it waited behind its producer; it was being issued; the thread that issues it worked; that
thread waited for work that had ended; nothing is known."""

INFERRED = -2
"""`Links.edge` where work was held by what is inferred to have been in its way."""

_CLOCK_NS = 1_000
"""How much later than a wait its work may seem to end: threads and work have clocks of their own."""

_STUCK = 10_000
"""Steps without progress in time after which records contradict each other: the rest is unknown."""


@dataclass(frozen=True, slots=True)
class Issued:
    """Work in time [ns], each array of shape (n,).

    Attributes:
        called_ns: when its issue began; `NEVER` where that is not known.
        ready_ns: when it could have begun after its issue; `NEVER` where that is not known.
        thread: dense number of the thread that issued it; meaningless without a call.
    """

    start_ns: I64
    end_ns: I64
    called_ns: I64
    ready_ns: I64
    thread: I64


@dataclass(frozen=True, slots=True)
class Chain:
    """What holds work: edges of work w are rows [first[w], first[w + 1]) of `producer`.

    Attributes:
        ahead: what is inferred to have been in the way of each piece of work, -1 without such; shape (n,).
        freed_ns: when that left the way.
    """

    first: I64
    producer: I64
    ahead: I64
    freed_ns: I64


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of threads [ns], sorted by (thread, start).

    Attributes:
        first: waits of thread t are rows [first[t], first[t + 1]).
        awaited: the work waited for, -1 where that is not known.
    """

    first: I64
    start_ns: I64
    end_ns: I64
    awaited: I64


@dataclass(frozen=True, slots=True)
class Links:
    """Links of all chains, latest first in each; the links of a chain tile its span. Shape (m,).

    Attributes:
        chain: which chain the link is of.
        kind: `RAN`, `GAP`, `LAUNCH`, `HOST`, `WAIT` or `UNKNOWN`.
        work: the work that ran, waited, was issued, was to be issued or had been awaited; -1 without one.
        edge: row of `Chain.producer` that led to the work that ran, or that held the one that waited; -1 without one,
            `INFERRED` for what was in the way.
        wait: row of `Waits` of a wait, -1 for others.
    """

    chain: I64
    start_ns: I64
    end_ns: I64
    kind: I64
    work: I64
    edge: I64
    wait: I64


def follow_back(work: Issued, chain: Chain, waits: Waits, from_work: I64, spans: tuple[I64, I64]) -> Links:
    """What bounds each span [floor, ceiling), from the given work back.

    At each piece of work the later of two decides: the end of its last producer, or its own issue; what is inferred
    to have been in its way decides where it was so later than both. Ties are the producer's, the first edge first.

    Args:
        work: all work.
        chain: its producers.
        waits: waits of the threads that issue it.
        from_work: where each chain begins; -1 leaves the whole span unknown.
        spans: (floors, ceilings); what follows the end of the first work is unknown.
    """
    rows = _follow(
        work.start_ns,
        work.end_ns,
        work.called_ns,
        work.ready_ns,
        work.thread,
        chain.first,
        chain.producer,
        chain.ahead,
        chain.freed_ns,
        waits.first,
        waits.start_ns,
        waits.end_ns,
        waits.awaited,
        from_work,
        *spans,
    )
    return Links(*(rows[:, i].copy() for i in range(7)))


@compiled
def _follow(  # noqa: PLR0912, PLR0913, PLR0915, PLR0917  (one loop over arrays: the compiler takes nothing else)
    start_ns: I64,
    end_ns: I64,
    called_ns: I64,
    ready_ns: I64,
    thread: I64,
    first: I64,
    producer: I64,
    ahead: I64,
    freed_ns: I64,
    wait_first: I64,
    wait_start: I64,
    wait_end: I64,
    awaited: I64,
    from_work: I64,
    floors: I64,
    ceilings: I64,
) -> I64:
    rows = np.empty((max(64, 8 * from_work.size), 7), np.int64)
    used = 0
    for chain in range(from_work.size):
        floor, at = floors[chain], ceilings[chain]
        x, via, stuck, last = from_work[chain], -1, 0, ceilings[chain] + 1
        while at > floor:
            if used + 8 > rows.shape[0]:
                larger = np.empty((2 * rows.shape[0], 7), np.int64)
                larger[:used] = rows[:used]
                rows = larger
            stuck = stuck + 1 if at == last else 0
            last = at
            if x < 0 or stuck > _STUCK:
                rows[used] = (chain, floor, at, UNKNOWN, -1, -1, -1)
                used += 1
                break
            if end_ns[x] < at:
                rows[used] = (chain, max(end_ns[x], floor), at, UNKNOWN, -1, -1, -1)
                used += 1
                at = max(end_ns[x], floor)
            if at > max(start_ns[x], floor):
                rows[used] = (chain, max(start_ns[x], floor), at, RAN, x, via, -1)
                used += 1
                at = max(start_ns[x], floor)
            if at <= floor:
                break
            edge = _last_edge(first, producer, end_ns, x)
            done = end_ns[producer[edge]] if edge >= 0 else NEVER
            if ahead[x] >= 0 and freed_ns[x] > max(done, ready_ns[x]) and freed_ns[x] <= start_ns[x]:
                free = max(min(freed_ns[x], at), floor)
                if at > free:
                    rows[used] = (chain, free, at, GAP, x, INFERRED, -1)
                    used += 1
                    at = free
                x, via = ahead[x], INFERRED
                continue
            if edge >= 0 and done >= ready_ns[x]:
                free = max(min(done, at), floor)
                if at > free:
                    rows[used] = (chain, free, at, GAP, x, edge, -1)
                    used += 1
                    at = free
                x, via = producer[edge], edge
                continue
            if called_ns[x] == NEVER:
                rows[used] = (chain, floor, at, UNKNOWN, x, -1, -1)
                used += 1
                break
            called = max(min(called_ns[x], at), floor)
            if at > called:
                rows[used] = (chain, called, at, LAUNCH, x, -1, -1)
                used += 1
                at = called
            wait = _wait_before(wait_first, wait_start, wait_end, awaited, end_ns, thread[x], at, floor)
            free = max(min(wait_end[wait], at), floor) if wait >= 0 else floor
            if at > free:
                rows[used] = (chain, free, at, HOST, x, -1, -1)
                used += 1
                at = free
            if wait < 0:
                continue
            its = awaited[wait]
            free = max(min(end_ns[its] if its >= 0 else wait_start[wait], at), floor)
            if at > free:
                rows[used] = (chain, free, at, WAIT, its, -1, wait)
                used += 1
                at = free
            if its >= 0:
                x, via = its, -1
    return rows[:used]


@compiled
def _last_edge(first: I64, producer: I64, end_ns: I64, work: int) -> int:
    """The edge whose producer ends last, -1 without one; ties: the first edge."""
    best, found = NEVER, -1
    for edge in range(first[work], first[work + 1]):
        if end_ns[producer[edge]] > best:
            best, found = end_ns[producer[edge]], edge
    return found


@compiled
def _wait_before(  # noqa: PLR0913, PLR0917  (the compiler takes arrays only)
    first: I64, start_ns: I64, end_ns: I64, awaited: I64, done_ns: I64, thread: int, at: int, floor: int
) -> int:
    """The last wait of a thread that began before an instant and did wait: its work ended inside it, or isn't known."""
    low, high = first[thread], first[thread + 1]
    wait = int(low + np.searchsorted(start_ns[low:high], at) - 1)
    while wait >= low and end_ns[wait] > floor:
        its = awaited[wait]
        if its < 0 or (start_ns[wait] < done_ns[its] <= end_ns[wait] + _CLOCK_NS):
            return wait
        wait -= 1
    return -1
