"""What a host thread can be told to do, and the streams, kernels and graphs it does it with.

Instructions carry every duration they need; an execution adds nothing by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from critpath.sim.host_instructions import HostInstruction
from critpath.sim.stream import Stream, StreamKind

__all__ = [
    "BufferFlush",
    "Collective",
    "Communicator",
    "Copy",
    "CopyDirection",
    "CpuWork",
    "DeviceSync",
    "EventQuery",
    "EventRecord",
    "EventSync",
    "Fault",
    "Graph",
    "GraphLaunch",
    "GraphNode",
    "HostMemory",
    "Instruction",
    "Kernel",
    "KernelLaunch",
    "Memset",
    "ProfilerStart",
    "ProfilerStop",
    "RangePop",
    "RangePush",
    "Signal",
    "SignalWait",
    "Stream",
    "StreamKind",
    "StreamSync",
    "StreamWait",
    "hand_over",
]


class CopyDirection(IntEnum):
    """Direction of a copy; the values are the export's copy kinds. The last two are migrations of managed memory."""

    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 8
    MIGRATION_IN = 11
    MIGRATION_OUT = 12


class HostMemory(StrEnum):
    """Kind of host memory at the host end of a copy; decides whether an async call blocks."""

    PAGEABLE = "pageable"
    PINNED = "pinned"


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel function: its names as an export shows them, and its launch shape.

    `communication` is the backend that owns it ("nccl", ...) or None for compute.
    """

    demangled: str
    short: str
    mangled: str
    communication: str | None = None
    grid: tuple[int, int, int] = (132, 1, 1)
    block: tuple[int, int, int] = (256, 1, 1)
    registers: int = 64
    static_shared_bytes: int = 0
    dynamic_shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Communicator:
    """A group of ranks that meet in collectives, in the order in which each rank issues them.

    A pair that exchanges messages may be part of a larger communicator, which is what the library knows.
    """

    name: str
    size: int
    backend: str = "nccl"
    parent: str = ""
    parent_size: int = 0

    @property
    def known_as(self) -> str:
        """Name of the communicator that the library knows."""
        return self.parent or self.name

    @property
    def known_size(self) -> int:
        """Ranks of the communicator that the library knows."""
        return self.parent_size or self.size


@dataclass(frozen=True, slots=True)
class Collective:
    """One rank's part in a collective.

    Every part starts when its own stream allows and ends `transfer_ns` after the last part has started, plus its own
    `exit_jitter_ns`; the kernel's own duration is not used.
    """

    communicator: Communicator
    operation: str
    bytes: int
    transfer_ns: int
    exit_jitter_ns: int = 0
    call: str = ""
    """What this rank called where ranks call differently: "send" or "recv"."""
    peer: int = -1
    """The other rank of a message, within the communicator that the library knows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Managed memory that a kernel waits for while it runs: the migration begins `after_ns` into the kernel."""

    after_ns: int
    bytes: int
    duration_ns: int
    direction: CopyDirection = CopyDirection.MIGRATION_IN


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """Launch one kernel. `call_ns` is the API call's length, `latency_ns` from the call's start to the earliest run."""

    stream: Stream
    kernel: Kernel
    duration_ns: int
    call_ns: int = 4_500
    latency_ns: int = 6_000
    collective: Collective | None = None
    early_ns: int = 0
    """How long before the end of the kernel ahead of it in its stream it may start (programmatic dependent launch)."""
    faults: tuple[Fault, ...] = ()
    """Migrations during the kernel, whose duration contains what it waits for them."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy `bytes`, blocking (`cudaMemcpy`) or async.

    The host waits for the copy's end when it is blocking, or async with pageable memory: from the device always, to the
    device above 64 KiB. Between device and device it never waits.
    """

    stream: Stream
    direction: CopyDirection
    bytes: int
    duration_ns: int
    memory: HostMemory = HostMemory.PINNED
    blocking: bool = False
    call_ns: int = 5_500
    latency_ns: int = 7_000


@dataclass(frozen=True, slots=True)
class Memset:
    """Fill device memory."""

    stream: Stream
    bytes: int
    duration_ns: int
    value: int = 0
    call_ns: int = 4_000
    latency_ns: int = 6_000


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of a graph: what runs, for how long, and the earlier nodes (by position) that it waits for.

    `stream` is the lane on which the export shows the node; None is the launch's own stream.
    """

    what: Kernel | Memset | Copy
    duration_ns: int
    depends: tuple[int, ...] = ()
    stream: Stream | None = None
    collective: Collective | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """An instantiated graph. Two launches of one never overlap."""

    graph_id: int
    exec_id: int
    nodes: tuple[GraphNode, ...]


@dataclass(frozen=True, slots=True)
class GraphLaunch:
    """Launch every node of `graph` with one API call."""

    stream: Stream
    graph: Graph
    call_ns: int = 12_000
    latency_ns: int = 9_000


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Record `event` (a handle, reused freely) behind everything issued to `stream` so far."""

    stream: Stream
    event: int
    call_ns: int = 1_500


@dataclass(frozen=True, slots=True)
class StreamWait:
    """Make later work of `stream` wait for the latest record of `event`."""

    stream: Stream
    event: int
    call_ns: int = 1_500


@dataclass(frozen=True, slots=True)
class EventSync:
    """Block the host until the latest record of `event` completed."""

    event: int
    stream: Stream
    """Any stream of the event's context; a sync row names a context, not a stream."""
    call_ns: int = 2_000


@dataclass(frozen=True, slots=True)
class StreamSync:
    """Block the host until everything issued to `stream` completed."""

    stream: Stream
    call_ns: int = 2_000


@dataclass(frozen=True, slots=True)
class DeviceSync:
    """Block the host until everything issued to the context of `stream`, by any thread, completed."""

    stream: Stream
    call_ns: int = 2_000


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Ask whether the latest record of `event` completed; never waits, returns 600 when it hasn't."""

    event: int
    stream: Stream
    """Any stream of the event's context."""
    call_ns: int = 1_000


@dataclass(frozen=True, slots=True)
class CpuWork:
    """Host time without CUDA calls. `label` names the cause, so that a rerun can remove it."""

    label: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class RangePush:
    """Open an NVTX range. `registered` text is exported by id; `step` marks the range of a training step."""

    text: str
    domain: int = 0
    registered: bool = False
    step: int | None = None
    payload: Collective | None = None
    """The call whose payload an export with blobs holds."""


@dataclass(frozen=True, slots=True)
class RangePop:
    """Close the innermost open NVTX range of the thread in `domain`."""

    domain: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """Raise a flag of the process; every raise lets one wait pass."""

    flag: str


@dataclass(frozen=True, slots=True)
class SignalWait:
    """Block the thread until the flag is raised."""

    flag: str


@dataclass(frozen=True, slots=True)
class ProfilerStart:
    """The program asks the profiler to begin (`cudaProfilerStart`)."""

    call_ns: int = 15_000_000


@dataclass(frozen=True, slots=True)
class ProfilerStop:
    """The program asks the profiler to end (`cudaProfilerStop`)."""

    call_ns: int = 4_000_000


@dataclass(frozen=True, slots=True)
class BufferFlush:
    """The profiler holds the thread to write its buffers; exported as profiler overhead."""

    duration_ns: int


Instruction = (
    KernelLaunch
    | Copy
    | Memset
    | GraphLaunch
    | EventRecord
    | StreamWait
    | EventSync
    | StreamSync
    | DeviceSync
    | EventQuery
    | CpuWork
    | RangePush
    | RangePop
    | Signal
    | SignalWait
    | ProfilerStart
    | ProfilerStop
    | BufferFlush
    | HostInstruction
)


def hand_over(flag: str) -> tuple[tuple[Signal, SignalWait], SignalWait, Signal]:
    """The four halves of handing work to another thread and waiting for it.

    Returns:
        What the handing thread does, what the other does first, and what the other does last.
    """
    return (Signal(f"{flag}:begin"), SignalWait(f"{flag}:end")), SignalWait(f"{flag}:begin"), Signal(f"{flag}:end")
