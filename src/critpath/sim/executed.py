"""What an execution leaves behind: every device op with its causes, every host row, in true time [ns].

These records are the truth. Exports are written from them, never the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from critpath.sim.host_instructions import HostCallback
from critpath.sim.instructions import Collective, Copy, Fault, Graph, Kernel, Memset, Stream
from critpath.sim.program import Job, Process, Report, Thread

if TYPE_CHECKING:
    from critpath.sim.collectives import Rendezvous

__all__ = [
    "UNKNOWN",
    "Call",
    "Edge",
    "EdgeKind",
    "Execution",
    "Held",
    "Op",
    "OpKind",
    "Overhead",
    "ProcessRun",
    "Range",
    "Record",
    "Sync",
    "SyncShape",
    "Waiter",
]

UNKNOWN = -1
"""A time that has not been worked out yet."""


class OpKind(IntEnum):
    """What kind of device work an op is."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    MEMSET = 3
    GRAPH = 4


class EdgeKind(StrEnum):
    """Why one op had to wait for another."""

    STREAM_ORDER = "stream_order"
    EVENT_WAIT = "event_wait"
    LEGACY_STREAM = "legacy_stream"
    GRAPH_ORDER = "graph_order"
    COLLECTIVE_PEER = "collective_peer"
    COPY_ENGINE = "copy_engine"
    """The copy ahead of it held the engine of its direction."""
    QUEUE_ORDER = "queue_order"
    """The op ahead of it in its hardware queue had not started."""
    HOST_CALLBACK = "host_callback"
    """A host function, called behind the producer, had not returned."""
    PROGRAMMATIC = "programmatic"
    """It may start a while before the producer ends, so `delay_ns` is negative."""
    UVM = "uvm"
    """Managed memory was being moved in the order of its stream."""


_ONSETS = (EdgeKind.COLLECTIVE_PEER, EdgeKind.QUEUE_ORDER)


class Edge(NamedTuple):
    """A dependency: the op could not start before `producer` ended plus `delay_ns`.

    `via` holds the (wait, record) correlation ids crossed, from the waiting op back to the producer: one pair for a
    plain event wait, several through relay streams, none for other kinds.
    """

    kind: EdgeKind
    producer: Op
    delay_ns: int
    via: tuple[tuple[int, int], ...] = ()

    @property
    def freed_ns(self) -> int:
        """When the producer did what was waited for: it ended, or for some kinds started [ns]."""
        return self.producer.start_ns if self.kind in _ONSETS else self.producer.end_ns


class Op:
    """One device op and why it ran when it did. Times are UNKNOWN until they can be known.

    `binding` is the place in `edges` of the constraint that set the start; -1 when the op's own launch did.
    `duration_ns` is what the op takes by itself. `submitted_ns` is when it reached the GPU: with its call, unless calls
    are held back. An op that no call explains has correlation id 0.
    """

    __slots__ = (
        "binding",
        "call_end_ns",
        "call_start_ns",
        "collective",
        "correlation",
        "duration_ns",
        "edges",
        "end_ns",
        "exit_jitter_ns",
        "faults",
        "gates",
        "graph",
        "index",
        "kind",
        "members",
        "missing",
        "node",
        "peer",
        "ready_ns",
        "run",
        "start_ns",
        "stream",
        "submitted_ns",
        "thread",
        "waiters",
        "what",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - one call builds the record on the hottest path
        self,
        index: int,
        run: ProcessRun,
        kind: OpKind,
        stream: Stream,
        what: Kernel | Copy | Memset | Graph | HostCallback,
        duration_ns: int,
        correlation: int,
        thread: Thread,
        call_start_ns: int,
        call_end_ns: int,
        ready_ns: int,
    ) -> None:
        self.index = index
        self.run = run
        self.kind = kind
        self.stream = stream
        self.what = what
        self.duration_ns = duration_ns
        self.correlation = correlation
        self.thread = thread
        self.call_start_ns = call_start_ns
        self.call_end_ns = call_end_ns
        self.ready_ns = ready_ns
        self.submitted_ns = call_start_ns
        self.gates: list[Gate] | None = None
        self.faults: tuple[Fault, ...] = ()
        self.edges: list[Edge] = []
        self.binding = -1
        self.start_ns = UNKNOWN
        self.end_ns = UNKNOWN
        self.waiters: list[Waiter] | None = None
        self.missing = 0
        self.collective: Rendezvous | None = None
        self.exit_jitter_ns = 0
        self.peer: Op | None = None
        self.graph: Op | None = None
        self.node = 0
        self.members: list[Op] | None = None

    def proceed(self) -> Sequence[Op]:
        """Place the op now that all it waits for has ended; the ops whose end is thereby known."""
        if self.members is not None:
            return self._enclose(self.members)
        start = self.ready_ns
        for place, edge in enumerate(self.edges):
            free = edge.producer.end_ns + edge.delay_ns
            if free > start:
                start, self.binding = free, place
        self.start_ns = start
        if self.gates:
            return self.gates.pop().enter(self)
        if self.collective is not None:
            return self.collective.arrive(self)
        self.end_ns = start + self.duration_ns
        return (self,)

    def admitted(self) -> Sequence[Op]:
        """Go on behind a gate: to the next, or run."""
        if self.gates:
            return self.gates.pop().enter(self)
        if self.collective is not None:
            return self.collective.arrive(self)
        self.end_ns = self.start_ns + self.duration_ns
        return (self,)

    def held_by(self, kind: EdgeKind, producer: Op, start_ns: int) -> None:
        """Start later than dependencies and launch ask for, because `producer` is in the way until `start_ns`."""
        self.binding = len(self.edges)
        self.edges.append(Edge(kind, producer, 0))
        self.start_ns = start_ns

    def _enclose(self, members: list[Op]) -> Sequence[Op]:
        """Span the members of a graph launch: from the first start to the last end."""
        self.start_ns = min(op.start_ns for op in members)
        self.end_ns = max(op.end_ns for op in members)
        free = self.ready_ns
        for place, edge in enumerate(self.edges):
            if edge.producer.end_ns + edge.delay_ns > free:
                free, self.binding = edge.producer.end_ns + edge.delay_ns, place
        return (self,)


class Waiter(Protocol):
    """Whatever waits until `missing` unknown ends are known: an op, or a blocked host thread."""

    missing: int

    def proceed(self) -> Sequence[Op]:
        """Go on; the ops whose end is thereby known."""
        ...


class Gate(Protocol):
    """Whatever a ready op has to pass before it runs; what lies behind a gate decides when, and may start it later."""

    def enter(self, op: Op) -> Sequence[Op]:
        """Take the op, whose `start_ns` is the earliest possible; the ops whose end is thereby known."""
        ...


class Call(NamedTuple):
    """A CUDA API call of a thread."""

    start_ns: int
    end_ns: int
    name: str
    correlation: int
    result: int = 0


class SyncShape(StrEnum):
    """What a synchronization row is, whatever code a version writes for it."""

    EVENT = "event"
    QUERY = "query"
    WAIT = "wait"
    STREAM = "stream"
    CONTEXT = "context"


class Sync(NamedTuple):
    """A synchronization row. `anchor` is any stream of its context; `event` and `event_sync` are None without event."""

    start_ns: int
    end_ns: int
    shape: SyncShape
    anchor: Stream
    correlation: int
    event: int | None = None
    event_sync: int | None = None


class Record(NamedTuple):
    """An event record as issued."""

    stream: Stream
    correlation: int
    event: int
    event_sync: int


class Range(NamedTuple):
    """An NVTX range as executed."""

    start_ns: int
    end_ns: int
    text: str
    thread: Thread
    domain: int
    registered: bool
    step: int | None
    payload: Collective | None = None


class OverheadKind(StrEnum):
    """What took a thread's time inside or between calls."""

    FLUSH = "flush"
    """The profiler wrote its buffers."""
    QUEUE_FULL = "queue_full"
    """A launch waited for room in the device's queue."""


class Overhead(NamedTuple):
    """Time that was taken from a thread; `correlation` is that of the call it lies in, 0 outside."""

    start_ns: int
    end_ns: int
    thread: Thread
    kind: OverheadKind = OverheadKind.FLUSH
    correlation: int = 0


class OsRow(NamedTuple):
    """A call into the operating system as executed, long or short."""

    start_ns: int
    end_ns: int
    name: str
    thread: Thread


class Held(NamedTuple):
    """Time in which a thread could not go on; the whole call counts, from its start to its return.

    `cause` is "host-sync" for a call that waited until `awaited` had ended, "other-thread" for a hand-over, which
    `woken_by` gave at an instant [ns].
    """

    start_ns: int
    end_ns: int
    thread: Thread
    cause: str
    awaited: Op | None = None
    woken_by: tuple[Thread, int] | None = None


@dataclass(slots=True, eq=False)
class ProcessRun:
    """What one process did."""

    report: Report
    process: Process
    calls: dict[int, list[Call]] = field(default_factory=dict)
    """By thread id, in time order."""
    ops: list[Op] = field(default_factory=list)
    """Every device op in issue order; graph launches before their nodes."""
    syncs: list[Sync] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)
    os_calls: list[OsRow] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Execution:
    """What a job did: one run a process, in the job's order, and the collectives in the order of their first part."""

    job: Job
    runs: list[ProcessRun]
    collectives: list[Rendezvous]
