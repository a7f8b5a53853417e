"""One export, read: its tables, its strings, and what it says of itself.

A `Trace` holds everything of one report; a `UnitTrace` the rows of one device as one process used it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import NULL, UnitKey
from critpath.model.tables import (
    Copies,
    Diagnostics,
    EventRecords,
    GraphLaunches,
    Kernels,
    Memsets,
    NcclCalls,
    NvtxRanges,
    OsCalls,
    Overheads,
    RuntimeCalls,
    SyncWaits,
    ThreadSwitches,
)

__all__ = ["Context", "Gpu", "Process", "Source", "Stream", "Strings", "Trace", "UnitTrace"]

_FIRST_INTERNED = 2**40


class Strings:
    """A report's strings by id. Kernel and NVTX names are foreign text: any characters, any length.

    Ids of the export are kept; texts that the export holds inline get ids of their own.
    """

    def __init__(self, values: Mapping[int, str]) -> None:
        self._values = dict(values)
        self._interned: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, string_id: int) -> str:
        """The text of an id; an id without text names itself, so that a missing string stays visible."""
        if string_id == NULL:
            return "[no name]"
        return self._values.get(string_id, f"[string {string_id} missing]")

    def get(self, string_id: int) -> str | None:
        """The text of an id, or None where the export has none."""
        return self._values.get(string_id)

    def intern(self, text: str) -> int:
        """The id of an inline text."""
        known = self._interned.get(text)
        if known is None:
            known = _FIRST_INTERNED + len(self._interned)
            self._interned[text] = known
            self._values[known] = text
        return known

    def of(self, ids: I64) -> dict[int, str]:
        """The distinct ids of a column with their texts."""
        first, _ = group_rows(ids)
        return {i: self[i] for i in ids[first].tolist()}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a trace comes from and what the export says of itself; None = not told.

    Attributes:
        path: the input as the user gave it.
        kind: sqlite, parquetdir, arrowdir or nsys-rep.
        bytes: size of the input.
        session_start_utc_ns: UTC of the time axis' zero, already with any time shift of the export removed.
        system_clock_ns: the host's monotonic clock at the axis' zero; None before nsys 2025.6.
        duration_ns: length of the profiling session.
        utc_axis: whether the export was made with times normalised to UTC.
        tables_exported, times_exported: what a deliberately partial export was limited to; None where it was not.
        blobs_exported: whether binary NVTX payloads were exported.
        batches_launches: whether the driver hands launches over in batches, as under Windows and WSL: when an op was
            issued is then unknown.
    """

    path: str
    kind: str
    bytes: int
    nsys_version: str | None = None
    schema_version: str | None = None
    hostname: str | None = None
    session_start_utc_ns: int | None = None
    system_clock_ns: int | None = None
    duration_ns: int | None = None
    utc_axis: bool = False
    tables_exported: str | None = None
    times_exported: str | None = None
    blobs_exported: bool | None = None
    batches_launches: bool = False


@dataclass(frozen=True, slots=True)
class Process:
    """A process that the export names: its key, its pid for people, its name."""

    key: int
    pid: int
    name: str | None


@dataclass(frozen=True, slots=True)
class Gpu:
    """A physical GPU as one process saw it.

    Attributes:
        pid: pid of that process, or None where the export does not say which process saw it.
        device: CUDA ordinal inside the process.
        uuid: None where the export lacks it.
        bus: PCI location, unique only within a host.
    """

    pid: int | None
    device: int
    name: str | None
    uuid: str | None
    bus: str | None


@dataclass(frozen=True, slots=True)
class Context:
    """A CUDA context: the only reliable way from a synchronization row to a device."""

    process: int
    context: int
    device: int
    null_stream: int | None


@dataclass(frozen=True, slots=True)
class Stream:
    """A CUDA stream that the export lists; many listed streams are never used.

    Attributes:
        flag: 1 default (blocking), 2 non-blocking, 3 the legacy default ("null") stream.
        priority: lower is more urgent.
    """

    process: int
    context: int
    stream: int
    flag: int
    priority: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything of one report. Tables the export lacks are empty; `rows` tells absent from empty.

    Attributes:
        rows: export table name → number of rows, for every table that exists.
        mistyped: export "TABLE.column" → values that were neither integer nor NULL, read as NULL.
        capture_options: how the capture was made; values of a repeated option are joined by commas.
        environment: allow-listed environment of the launched process; never anything else.
        rank_by_process: ranks that the export itself states of whole processes, by process key.
        rank_source: which statement that was: mpi or environment; None without one.
        rank_by_device: ranks that JAX's device names state, by (process key, CUDA ordinal).
    """

    source: Source
    strings: Strings
    kernels: Kernels
    copies: Copies
    memsets: Memsets
    graph_launches: GraphLaunches
    runtime_calls: RuntimeCalls
    sync_waits: SyncWaits
    event_records: EventRecords
    nvtx_ranges: NvtxRanges
    overheads: Overheads
    diagnostics: Diagnostics
    os_calls: OsCalls = field(default_factory=OsCalls.empty)
    thread_switches: ThreadSwitches = field(default_factory=ThreadSwitches.empty)
    nccl_calls: NcclCalls = field(default_factory=NcclCalls.empty)
    rows: Mapping[str, int] = field(default_factory=dict)
    mistyped: Mapping[str, int] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    contexts: tuple[Context, ...] = ()
    streams: tuple[Stream, ...] = ()
    capture_options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    rank_by_process: Mapping[int, int] = field(default_factory=dict)
    rank_source: str | None = None
    rank_by_device: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnitTrace:
    """The rows of one unit, and those rows of its process that bear on it.

    Attributes:
        kernels, copies, memsets, graph_launches: this device's rows only.
        runtime_calls, nvtx_ranges, overheads: all rows of the process, since any of its threads may launch here.
        sync_waits: rows whose (process, context) belongs to this device.
        shares_process: whether the process used other devices too, so that not all of its threads launch here.
    """

    key: UnitKey
    strings: Strings
    kernels: Kernels
    copies: Copies
    memsets: Memsets
    graph_launches: GraphLaunches
    runtime_calls: RuntimeCalls
    sync_waits: SyncWaits
    nvtx_ranges: NvtxRanges
    overheads: Overheads
    shares_process: bool = False
