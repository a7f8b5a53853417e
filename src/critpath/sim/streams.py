"""Order on the device: streams, recorded events, waits for them, and the legacy default stream.

stream A  [ op 1 ]──record e
                     │
stream B             └─ wait e ──[ op 2 ]     op 2: edge to op 1 (event wait)
stream C  wait f                              a stream that only waits and records is a relay:
          record g ── stream D wait g ──      what waits for g waits for what f recorded
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from critpath.sim.executed import UNKNOWN, Edge, EdgeKind, Op
from critpath.sim.instructions import Stream, StreamKind
from critpath.sim.program import Costs

__all__ = ["ContextState", "Snapshot", "StreamState", "enqueue", "hold"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What an event captured: the last op of each stream it stands for, and waits that no op had taken up yet."""

    record: int
    """Correlation id of the record call."""
    event_sync: int
    tails: tuple[Op, ...]
    waits: tuple[PendingWait, ...]

    def ops(self) -> list[Op]:
        """The ops that have to end for the event to complete."""
        return [*self.tails, *(edge.producer for edge in _awaited(self.waits, 0))]


@dataclass(frozen=True, slots=True)
class PendingWait:
    """A stream wait that the next op of its stream has to honour."""

    wait: int
    """Correlation id of the wait call."""
    snapshot: Snapshot


class ContextState:
    """The streams of one context, among them at most one legacy default stream."""

    __slots__ = ("blocking", "clock", "legacy", "streams")

    def __init__(self) -> None:
        self.streams: list[StreamState] = []
        self.blocking: list[StreamState] = []
        self.legacy: StreamState | None = None
        self.clock = 0

    def add(self, stream: Stream) -> StreamState:
        """The state of a stream that joins the context."""
        state = StreamState(stream, self)
        self.streams.append(state)
        if stream.kind is StreamKind.BLOCKING:
            self.blocking.append(state)
        elif stream.kind is StreamKind.LEGACY:
            self.legacy = state
        return state


class StreamState:
    """The tail of a stream while it is being issued to."""

    __slots__ = ("context", "issued", "pending", "relayed", "stream", "tail", "touched")

    def __init__(self, stream: Stream, context: ContextState) -> None:
        self.stream = stream
        self.context = context
        self.tail: Op | None = None
        self.pending: list[PendingWait] = []
        self.relayed = 0
        """How many of the pending waits a record of this stream has captured."""
        self.issued = 0
        self.touched = 0

    def wait(self, correlation: int, snapshot: Snapshot) -> None:
        """Make later work wait for what `snapshot` captured.

        A stream that only relays would collect waits for ever; those it passed on already and that this one implies go.
        """
        if self.relayed:
            passed, rest = self.pending[: self.relayed], self.pending[self.relayed :]
            reach = _reach(snapshot)
            passed = [wait for wait in passed if not _implied(_reach(wait.snapshot), reach)]
            self.pending, self.relayed = [*passed, *rest], len(passed)
        self.pending.append(PendingWait(correlation, snapshot))
        self.context.clock += 1
        self.touched = self.context.clock

    def neighbours(self) -> list[StreamState]:
        """Streams of the context that implicitly order with this one."""
        context = self.context
        if self.stream.kind is StreamKind.LEGACY:
            return context.blocking
        if self.stream.kind is StreamKind.BLOCKING and context.legacy is not None:
            return [context.legacy]
        return []

    def snapshot(self, record: int, event_sync: int) -> Snapshot:
        """What an event recorded here captures; on the legacy stream that includes the blocking streams."""
        states = [self, *self.neighbours()]
        for state in states:
            state.relayed = len(state.pending)
        return Snapshot(
            record,
            event_sync,
            tuple(state.tail for state in states if state.tail is not None),
            tuple(wait for state in states for wait in state.pending),
        )


def _reach(snapshot: Snapshot) -> dict[Stream, int]:
    """How far into each stream a snapshot waits: the index of the last op it stands for, through relays."""
    reach = {tail.stream: tail.index for tail in snapshot.tails}
    for wait in snapshot.waits:
        for stream, index in _reach(wait.snapshot).items():
            reach[stream] = max(index, reach.get(stream, index))
    return reach


def _implied(less: dict[Stream, int], more: dict[Stream, int]) -> bool:
    """Whether everything that `less` waits for is over when `more` is."""
    return all(index <= more.get(stream, -1) for stream, index in less.items())


def _awaited(
    waits: list[PendingWait] | tuple[PendingWait, ...], delay_ns: int, via: tuple[tuple[int, int], ...] = ()
) -> Iterator[Edge]:
    """The edges that pending waits stand for, through relays to the ops that really produce."""
    for pending in waits:
        path = (*via, (pending.wait, pending.snapshot.record))
        for tail in pending.snapshot.tails:
            yield Edge(EdgeKind.EVENT_WAIT, tail, delay_ns * len(path), path)
        if pending.snapshot.waits:
            yield from _awaited(pending.snapshot.waits, delay_ns, path)


def enqueue(op: Op, state: StreamState, costs: Costs) -> None:
    """Put `op` behind everything its stream orders it after, and make it the stream's tail."""
    context = state.context
    edges = op.edges
    if state.tail is not None:
        edges.append(Edge(EdgeKind.STREAM_ORDER, state.tail, costs.stream_gap_ns))
    if state.pending:
        edges.extend(_awaited(state.pending, costs.event_gap_ns))
        state.pending, state.relayed = [], 0
    if context.blocking:
        for other in state.neighbours():
            if other.touched > state.issued:
                if other.tail is not None:
                    edges.append(Edge(EdgeKind.LEGACY_STREAM, other.tail, costs.legacy_gap_ns))
                edges.extend(_awaited(other.pending, costs.event_gap_ns))
    state.tail = op
    context.clock += 1
    state.issued = state.touched = context.clock


def hold(op: Op) -> bool:
    """Make `op` wait for each producer whose end is unknown; whether there is any."""
    for edge in op.edges:
        producer = edge.producer
        if producer.end_ns == UNKNOWN:
            op.missing += 1
            if producer.waiters is None:
                producer.waiters = [op]
            else:
                producer.waiters.append(op)
    return op.missing > 0
