"""The true critical path of a window: what really bounded it, from what the execution knows.

Each op knows which of its edges, or its own launch, set its start, and each thread what held it and who woke it. An
analysis sees neither; it has rows only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from critpath.sim.executed import UNKNOWN, EdgeKind, Held, Op, OpKind, ProcessRun

__all__ = ["TrueLink", "true_path"]

_STEPS_WITHOUT_PROGRESS = 1_000


class TrueLink(NamedTuple):
    """A piece of the true path, in true time [ns].

    `kind` is `op`, `gap`, `launch`, `host` or `wait`. `op` ran, or waited, or was launched, or had been awaited; None
    for what a thread did on the way to waking another.
    """

    start_ns: int
    end_ns: int
    kind: str
    op: Op | None


class _Path:
    """Links found so far, latest first, cut at the window's start."""

    def __init__(self, floor_ns: int, ceiling_ns: int) -> None:
        self.floor_ns = floor_ns
        self.at_ns = ceiling_ns
        self.links: list[TrueLink] = []

    def back_to(self, start_ns: int, kind: str, op: Op | None) -> None:
        start_ns = max(start_ns, self.floor_ns)
        if start_ns < self.at_ns:
            self.links.append(TrueLink(start_ns, self.at_ns, kind, op))
            self.at_ns = start_ns


def true_path(run: ProcessRun, ops: Sequence[Op], window: tuple[int, int]) -> list[TrueLink]:
    """The links of one window, earliest first; they tile it.

    It ends with the first compute op that starts with the window's end, or else with the op that ends last.

    Args:
        run: the process.
        ops: the ops of the unit that have a row.
        window: in true time [ns].
    """
    floor_ns, ceiling_ns = window
    threads = _Threads(run)
    path = _Path(floor_ns, ceiling_ns)
    op = _last(ops, ceiling_ns)
    stuck = 0
    while op is not None and path.at_ns > floor_ns and stuck < _STEPS_WITHOUT_PROGRESS:
        before_ns = path.at_ns
        path.back_to(op.end_ns, "unknown", op)
        path.back_to(op.start_ns, "op", op)
        op = _behind(op, path, threads)
        stuck = stuck + 1 if path.at_ns == before_ns else 0
    path.back_to(floor_ns, "unknown", None)
    return path.links[::-1]


def _last(ops: Sequence[Op], end_ns: int) -> Op | None:
    following = [op for op in ops if op.kind is OpKind.COMPUTE and op.start_ns == end_ns]
    if following:
        return following[0]
    before = [op for op in ops if op.start_ns < end_ns]
    return max(before, key=attrgetter("end_ns"), default=None)


def _behind(op: Op, path: _Path, threads: _Threads) -> Op | None:
    """What set the op's start, with the link up to it."""
    bound = op
    while bound.binding < 0 and bound.graph is not None:
        bound = bound.graph
    edges = [edge for edge in bound.edges[bound.binding :][:1] if edge.kind is not EdgeKind.COLLECTIVE_PEER]
    if bound.binding >= 0 and edges:
        edge = edges[0]
        path.back_to(min(edge.freed_ns, path.at_ns), "gap", op)
        producer = edge.producer
        while producer.members:
            producer = max(producer.members, key=attrgetter("end_ns"))
        if edge.kind is EdgeKind.QUEUE_ORDER:
            return _behind(producer, path, threads)
        return producer
    return threads.behind_launch(bound, op, path)


class _Threads:
    """What held the threads of a process, by thread, in the order in which it began."""

    def __init__(self, run: ProcessRun) -> None:
        self._held: dict[int, list[Held]] = {}
        for held in sorted(run.held, key=attrgetter("start_ns")):
            if held.end_ns > held.start_ns and (held.awaited is not None or held.woken_by is not None):
                self._held.setdefault(held.thread.tid, []).append(held)

    def behind_launch(self, bound: Op, op: Op, path: _Path) -> Op | None:
        """Back through the launch and its thread to the op that the thread had waited for."""
        inside = self._of_call(bound)
        if inside is not None and inside.awaited is not None:
            path.back_to(inside.end_ns, "launch", op)
            path.back_to(inside.awaited.end_ns, "wait", inside.awaited)
            return inside.awaited
        path.back_to(bound.call_start_ns, "launch", op)
        thread = bound.thread.tid
        while path.at_ns > path.floor_ns:
            held = self._before(thread, path.at_ns)
            if held is None:
                path.back_to(path.floor_ns, "host", op)
                return None
            path.back_to(held.end_ns, "host", op)
            if held.awaited is not None:
                path.back_to(held.awaited.end_ns, "wait", held.awaited)
                return held.awaited
            if held.woken_by is None:
                return None
            path.back_to(held.woken_by[1], "host", op)
            thread = held.woken_by[0].tid
        return None

    def _of_call(self, op: Op) -> Held | None:
        """What held the launch call itself: no room in the queue."""
        rows = self._held.get(op.thread.tid, [])
        place = bisect_left(rows, op.call_start_ns, key=attrgetter("start_ns"))
        found = rows[place] if place < len(rows) else None
        held_up = found is not None and found.start_ns < op.call_end_ns and found.awaited is not op
        return found if held_up and op.call_start_ns != UNKNOWN else None

    def _before(self, thread: int, at_ns: int) -> Held | None:
        rows = self._held.get(thread, [])
        place = bisect_left(rows, at_ns, key=attrgetter("start_ns"))
        return rows[place - 1] if place else None
