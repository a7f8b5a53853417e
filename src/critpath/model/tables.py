"""The canonical tables, each a contract: column names, units, meaning.

Readers of every export format fill these and nothing else; analysis reads these and nothing else. A table is a frozen
record of equally long int64 arrays. NULL, an absent column and "no id" read as `identity.NULL` unless a column says
otherwise. Times are ns on the report's own axis. `process` is `identity.process_of`; names are ids into the report's
`Strings`.

    long = kernels.where(kernels.end_ns - kernels.start_ns > 1_000_000)
    frame = kernels.frame()        # the same columns in polars
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from critpath.base.intervals import I64, Intervals, union
from critpath.model.identity import NULL

__all__ = [
    "Copies",
    "CopyKind",
    "DeviceOps",
    "Diagnostics",
    "EventRecords",
    "GraphLaunches",
    "Kernels",
    "MemoryKind",
    "Memsets",
    "NcclCalls",
    "NvtxRanges",
    "OsCalls",
    "Overheads",
    "RuntimeCalls",
    "Spans",
    "SyncShape",
    "SyncWaits",
    "Table",
    "ThreadSwitches",
]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Equally long int64 columns; the fields of a subclass are its contract.

    Raises:
        TypeError: a column isn't int64.
        ValueError: a column has more or fewer than one dimension, or another length than the rest.
    """

    def __post_init__(self) -> None:
        shapes = {name: getattr(self, name).shape for name in self.columns()}
        if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
            raise ValueError(f"{type(self).__name__}: columns of different length or dimension: {shapes}")
        for name in self.columns():
            if getattr(self, name).dtype != np.int64:
                raise TypeError(f"{type(self).__name__}.{name}: {getattr(self, name).dtype}, not int64")

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """Column names, in the order of the contract."""
        return tuple(f.name for f in fields(cls))

    @classmethod
    def empty(cls) -> Self:
        """A table without rows."""
        return cls(**{name: np.empty(0, np.int64) for name in cls.columns()})

    @classmethod
    def of(cls, **columns: Any) -> Self:
        """A table from sequences of integers; a column not given is NULL throughout.

        Raises:
            TypeError: a column that the contract hasn't, or one of floats: they can't hold ids and times above 2**53.
            ValueError: columns of different length.
        """
        arrays = {name: _int64(f"{cls.__name__}.{name}", values) for name, values in columns.items()}
        size = next(iter(arrays.values())).size if arrays else 0
        return cls(**{n: arrays[n] if n in arrays else np.full(size, NULL, np.int64) for n in cls.columns()} | arrays)

    def __len__(self) -> int:
        return int(getattr(self, self.columns()[0]).size)

    def where(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | I64) -> Self:
        """The rows that a mask of shape (len,) or an index array selects, in that order; always a copy."""
        return type(self)(**{name: getattr(self, name)[rows] for name in self.columns()})

    def frame(self) -> pl.DataFrame:
        """The same columns as a polars frame; NULL stays the number it is here."""
        return pl.DataFrame({name: getattr(self, name) for name in self.columns()})


def _int64(name: str, values: Any) -> I64:
    array = np.asarray(values)
    if array.size and array.dtype.kind == "f":
        raise TypeError(f"{name}: {array.dtype}, not integers")
    return np.asarray(values, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Spans(Table):
    """A table whose rows last from `start_ns` to `end_ns`."""

    start_ns: I64
    """First instant of the row [ns, report axis]; never NULL."""
    end_ns: I64
    """First instant after the row [ns, report axis]; NULL where the row was still open when the capture ended."""

    def union(self) -> Intervals:
        """Instants in which at least one row ran; a row that was still open adds none."""
        return union(self.start_ns, self.end_ns)

    @property
    def durations_ns(self) -> I64:
        """Length of each row [ns], shape (n,); NULL where the row was still open."""
        return np.where(self.end_ns == NULL, NULL, self.end_ns - self.start_ns)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceOps(Spans):
    """What runs on a device: keys shared by kernels, copies, memsets and opaque graph launches."""

    process: I64
    """Process key."""
    device: I64
    """CUDA ordinal inside the process."""
    context: I64
    """CUDA context id, unique within the process."""
    stream: I64
    """Stream id, unique within (process, context); 0 without a stream."""
    correlation: I64
    """Correlation id of the API call that issued the op, unique within the process; 0 or NULL = none."""
    graph_node: I64
    """Node id when the op ran inside a graph traced by node; NULL otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernels(DeviceOps):
    """Kernel executions, device time."""

    name: I64
    """String id of the demangled name."""
    short_name: I64
    """String id of the base name without template arguments."""
    mangled_name: I64
    """String id of the mangled name."""
    grid: I64
    """Blocks in the grid (x·y·z)."""
    block: I64
    """Threads a block (x·y·z)."""


@dataclass(frozen=True, slots=True, eq=False)
class Copies(DeviceOps):
    """Memory copies and unified-memory migrations, device time."""

    bytes: I64
    """Payload of the copy [bytes]."""
    kind: I64
    """`CopyKind`."""
    source_kind: I64
    """`MemoryKind` of the source; NULL = not told."""
    target_kind: I64
    """`MemoryKind` of the target; NULL = not told."""
    source_device: I64
    """Device ordinal copied from, for copies between devices."""
    target_device: I64
    """Device ordinal copied to, for copies between devices."""


@dataclass(frozen=True, slots=True, eq=False)
class Memsets(DeviceOps):
    """Memory fills, device time."""

    bytes: I64
    """Bytes filled."""
    memory_kind: I64
    """`MemoryKind` of the target."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphLaunches(DeviceOps):
    """Whole CUDA graphs traced as one row: busy, their inside unknown (P21)."""

    graph: I64
    """Graph id."""
    graph_exec: I64
    """Executable graph id."""


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeCalls(Spans):
    """CUDA runtime and driver API calls, host time."""

    process: I64
    """Process key."""
    thread: I64
    """Whole serialized thread id."""
    correlation: I64
    """Correlation id, unique within the process."""
    name: I64
    """String id of the function's name, version suffix included."""
    result: I64
    """Return code; 600 of an event query means "not ready"."""
    callchain: I64
    """Id of the call stack at the call, where the export holds its frames; NULL = none (P22)."""


@dataclass(frozen=True, slots=True, eq=False)
class SyncWaits(Spans):
    """Synchronization rows, host time: the span of the blocking call; of a stream wait only its enqueueing (P11)."""

    process: I64
    """Process key."""
    context: I64
    """CUDA context id; the row's device is that of (process, context), never the export's own device column."""
    stream: I64
    """Stream id; NULL = none."""
    event: I64
    """Event handle id, reused by every record of the handle (P09); NULL = none."""
    event_sync: I64
    """Id that ties the wait to one record, unique within the process; NULL = none."""
    correlation: I64
    """Correlation id of the API call."""
    shape: I64
    """`SyncShape`, from which of `event` and `stream` are real, never from `syncType`."""


@dataclass(frozen=True, slots=True, eq=False)
class EventRecords(Table):
    """Calls that recorded an event; the device's own completion timestamp is 0 in real exports and not read (P10)."""

    process: I64
    """Process key."""
    context: I64
    """CUDA context id."""
    stream: I64
    """Stream whose work so far the event stands for."""
    event: I64
    """Event handle id, reused (P09)."""
    event_sync: I64
    """Id that ties the record to its waits, unique within the process; NULL = none."""
    correlation: I64
    """Correlation id of the API call."""


@dataclass(frozen=True, slots=True, eq=False)
class NvtxRanges(Spans):
    """NVTX ranges, host time; marks and domain rows are not ranges."""

    process: I64
    """Process key."""
    thread: I64
    """Whole serialized id of the thread that opened the range."""
    end_thread: I64
    """Thread that closed it; NULL = the same."""
    name: I64
    """String id of the text, whether the export held it inline or by id."""
    domain: I64
    """NVTX domain id, unique within the process; 0 = default."""
    kind: I64
    """nsys event type: 59 push/pop, 60 start/end, 70 and 71 imported text ranges."""


@dataclass(frozen=True, slots=True, eq=False)
class NcclCalls(Spans):
    """NCCL's ranges that carry a payload with a communicator, host time; NULL = the payload doesn't say."""

    process: I64
    """Process key."""
    thread: I64
    """Whole serialized thread id."""
    name: I64
    """String id of the call, as `ncclAllReduce`."""
    communicator: I64
    """The communicator's 64-bit id, equal on all its ranks, as a signed number."""
    bytes: I64
    """Message size: of one rank's part for all-gather and reduce-scatter, of one peer's for all-to-all."""
    peer: I64
    """Rank of the other end of a message, in the communicator."""
    root: I64
    """Rank of the root, in the communicator."""
    ranks: I64
    """Ranks of the communicator; told by its initialization."""
    rank: I64
    """The caller's rank in the communicator; told by its initialization."""
    device: I64
    """CUDA ordinal of the caller in its process; told by its initialization."""


@dataclass(frozen=True, slots=True, eq=False)
class Overheads(Spans):
    """The profiler's and the driver's own activity on application threads; never a slowdown (P25)."""

    process: I64
    """Process key."""
    thread: I64
    """Whole serialized thread id."""
    correlation: I64
    """Correlation id of the API call it happened in; NULL = none."""
    name: I64
    """String id of its label."""
    kind: I64
    """nsys overhead type (3 buffer flush, 4 instrumentation, 5 resource, 8 command buffer full, …); NULL = not told."""


@dataclass(frozen=True, slots=True, eq=False)
class OsCalls(Spans):
    """Calls into the operating system's libraries, host time; only those above a threshold are recorded."""

    process: I64
    """Process key."""
    thread: I64
    """Whole serialized thread id."""
    name: I64
    """String id of the function's name."""


@dataclass(frozen=True, slots=True, eq=False)
class ThreadSwitches(Table):
    """When threads were put on and taken off a processor, host time."""

    time_ns: I64
    """Time of the switch."""
    process: I64
    """Process key."""
    thread: I64
    """Whole serialized thread id."""
    scheduled: I64
    """1 = put on a processor, 0 = taken off."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics(Table):
    """The profiler's own messages."""

    time_ns: I64
    """Time of the message, on the axis that `clock` names."""
    clock: I64
    """1 = the events' axis; 2 = the analysis host's, not comparable with events."""
    source: I64
    """1 injection, 2 daemon, 3 analysis."""
    severity: I64
    """1 info, 2 warning, 3 error, 4 verbose."""
    process: I64
    """Process key the message is about; NULL or a process without pid = the session."""
    text: I64
    """String id of the message."""


class SyncShape:
    """What a synchronization row is, by which of its ids are real."""

    STREAM_WAIT = 1
    """A stream waits for an event; the host returns at once."""
    EVENT = 2
    """The host waits for an event, or queries it: the API's name tells."""
    STREAM = 3
    """The host waits for a stream."""
    CONTEXT = 4
    """The host waits for a context or device."""


class CopyKind:
    """`copyKind` of the export, the same in all versions."""

    H2D, D2H, D2D, H2H, P2P = 1, 2, 8, 9, 10
    UVM_H2D, UVM_D2H, UVM_D2D = 11, 12, 13
    UVM = (11, 12, 13)
    LABELS: ClassVar[dict[int, str]] = {
        0: "unknown", 1: "H2D", 2: "D2H", 3: "H2A", 4: "A2H", 5: "A2A", 6: "A2D", 7: "D2A", 8: "D2D", 9: "H2H",
        10: "P2P", 11: "UVM_H2D", 12: "UVM_D2H", 13: "UVM_D2D",
    }  # fmt: skip


class MemoryKind:
    """Memory kinds of the export, the same in all versions: 0 is pageable, 1 is pinned."""

    PAGEABLE, PINNED, DEVICE = 0, 1, 2
    LABELS: ClassVar[dict[int, str]] = {
        0: "pageable", 1: "pinned", 2: "device", 3: "array", 4: "managed", 5: "device_static", 6: "managed_static",
        7: "unknown",
    }  # fmt: skip
