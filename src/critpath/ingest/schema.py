"""The export's schema across nsys versions: which table and column fills which canonical column.

Columns are found by existence, never by version: minor versions rename and retype, third parties add columns, and
exports before 2022 carry no version at all. Source: nsys 2020 to 2026 exports (schema generations 2.x and 3.x).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from critpath.base.intervals import I64
from critpath.ingest.reader import TableReader
from critpath.model.identity import NULL, is_real_id, process_of
from critpath.model.tables import (
    Copies,
    Diagnostics,
    EventRecords,
    GraphLaunches,
    Kernels,
    Memsets,
    NvtxRanges,
    OsCalls,
    Overheads,
    RuntimeCalls,
    SyncShape,
    SyncWaits,
    Table,
    ThreadSwitches,
)
from critpath.model.trace import Strings

__all__ = ["EXPECTED_TABLES", "EXPORT_TABLES", "read_table"]

T = TypeVar("T", bound=Table)

_CUPTI = "CUPTI_ACTIVITY_KIND_"

EXPECTED_TABLES = (
    f"{_CUPTI}KERNEL",
    f"{_CUPTI}RUNTIME",
    f"{_CUPTI}SYNCHRONIZATION",
    f"{_CUPTI}CUDA_EVENT",
    "NVTX_EVENTS",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU",
)
"""Tables whose absence a report names, used or not."""

EXPORT_TABLES: Mapping[type[Table], tuple[str, ...]] = {
    Kernels: (f"{_CUPTI}KERNEL",),
    Copies: (f"{_CUPTI}MEMCPY",),
    Memsets: (f"{_CUPTI}MEMSET",),
    GraphLaunches: (f"{_CUPTI}GRAPH_TRACE",),
    RuntimeCalls: (f"{_CUPTI}RUNTIME",),
    SyncWaits: (f"{_CUPTI}SYNCHRONIZATION",),
    EventRecords: (f"{_CUPTI}CUDA_EVENT",),
    NvtxRanges: ("NVTX_EVENTS",),
    Overheads: ("PROFILER_OVERHEAD", f"{_CUPTI}OVERHEAD"),
    OsCalls: ("OSRT_API",),
    ThreadSwitches: ("SCHED_EVENTS",),
    Diagnostics: ("DIAGNOSTIC_EVENT",),
}
"""Export tables that fill each canonical table."""

_OP = {
    "start_ns": "start",
    "end_ns": "end",
    "device": "deviceId",
    "context": "contextId",
    "stream": "streamId",
    "correlation": "correlationId",
    "graph_node": "graphNodeId",
}

_COLUMNS: Mapping[type[Table], Mapping[str, str]] = {
    Kernels: _OP | {"name": "demangledName", "short_name": "shortName", "mangled_name": "mangledName"},
    Copies: _OP
    | {
        "bytes": "bytes",
        "kind": "copyKind",
        "source_kind": "srcKind",
        "target_kind": "dstKind",
        "source_device": "srcDeviceId",
        "target_device": "dstDeviceId",
    },
    Memsets: _OP | {"bytes": "bytes", "memory_kind": "memKind"},
    GraphLaunches: _OP | {"graph": "graphId", "graph_exec": "graphExecId"},
    RuntimeCalls: {
        "start_ns": "start",
        "end_ns": "end",
        "thread": "globalTid",
        "correlation": "correlationId",
        "name": "nameId",
        "result": "returnValue",
        "callchain": "callchainId",
    },
    SyncWaits: {
        "start_ns": "start",
        "end_ns": "end",
        "context": "contextId",
        "stream": "streamId",
        "event": "eventId",
        "event_sync": "eventSyncId",
        "correlation": "correlationId",
    },
    EventRecords: {
        "context": "contextId",
        "stream": "streamId",
        "event": "eventId",
        "event_sync": "eventSyncId",
        "correlation": "correlationId",
    },
    NvtxRanges: {
        "start_ns": "start",
        "end_ns": "end",
        "thread": "globalTid",
        "end_thread": "endGlobalTid",
        "name": "textId",
        "domain": "domainId",
        "kind": "eventType",
    },
    Overheads: {
        "start_ns": "start",
        "end_ns": "end",
        "thread": "globalTid",
        "correlation": "correlationId",
        "name": "nameId",
        "kind": "overheadType",
    },
    OsCalls: {"start_ns": "start", "end_ns": "end", "thread": "globalTid", "name": "nameId"},
    ThreadSwitches: {"time_ns": "start", "thread": "globalTid", "scheduled": "isSchedIn"},
    Diagnostics: {
        "time_ns": "timestamp",
        "clock": "timestampType",
        "source": "source",
        "severity": "severity",
    },
}

_PROCESS_COLUMN = dict.fromkeys((RuntimeCalls, NvtxRanges, Overheads, OsCalls, ThreadSwitches), "globalTid")
"""Tables whose process is that of a thread; the others name it."""

_MOST_BYTES = 2**45
"""No copy is larger [bytes]: a size beyond is damage, and would overflow when added up."""

_MOST_EXTENT = 2**31

NVTX_RANGE_KINDS = (59, 60, 70, 71)
"""Event types that are ranges: push/pop, start/end, and both imported from text."""


def read_table(kind: type[T], reader: TableReader, strings: Strings) -> T:
    """A canonical table from whatever export tables fill it; empty where none exists.

    Raises:
        InputError: an export table can't be read to its end.
    """
    parts = [_part(kind, table, reader, strings) for table in EXPORT_TABLES[kind] if reader.columns(table)]
    if not parts:
        return kind.empty()
    joined = {c: np.concatenate([part[c] for part in parts]) for c in kind.columns()}
    result = kind(**joined)
    if isinstance(result, NvtxRanges):
        return result.where(np.isin(result.kind, NVTX_RANGE_KINDS))
    return result


def _part(kind: type[Table], table: str, reader: TableReader, strings: Strings) -> dict[str, I64]:
    names = _COLUMNS[kind]
    process_column = _PROCESS_COLUMN.get(kind, "globalPid")
    extra = _EXTRA.get(kind, ())
    cells = reader.integers(table, [*dict.fromkeys([*names.values(), process_column, *extra])])
    columns = {canonical: cells[export] for canonical, export in names.items()}
    columns["process"] = process_of(cells[process_column])
    if kind is Kernels:
        columns["grid"] = _product(cells["gridX"], cells["gridY"], cells["gridZ"])
        columns["block"] = _product(cells["blockX"], cells["blockY"], cells["blockZ"])
    elif kind is Copies or kind is Memsets:
        size = columns["bytes"]
        columns["bytes"] = np.where((size >= 0) & (size <= _MOST_BYTES), size, NULL)
    elif kind is RuntimeCalls:
        columns["callchain"] = _existing(columns["callchain"], reader.integers("CUDA_CALLCHAINS", ["id"])["id"])
    elif kind is SyncWaits:
        _read_shape(columns)
    elif kind is EventRecords:
        columns["event_sync"] = _real(columns["event_sync"], zero_is_none=True)
    elif kind is NvtxRanges:
        columns["name"] = _with_inline(columns["name"], reader.texts(table, "text"), strings)
        columns["domain"] = np.where(columns["domain"] == NULL, 0, columns["domain"])
        if "eventType" not in reader.columns(table):
            # Marks and domain rows have no end, so that what has one is a range.
            columns["kind"] = np.where(columns["end_ns"] == NULL, NULL, NVTX_RANGE_KINDS[0])
    elif kind is Diagnostics:
        nothing = np.full(columns["time_ns"].size, NULL, np.int64)
        columns["text"] = _with_inline(nothing, reader.texts(table, "text"), strings)
    return columns


_EXTRA: Mapping[type[Table], tuple[str, ...]] = {
    Kernels: ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
}


def _read_shape(columns: dict[str, I64]) -> None:
    """Spell "no id" one way, and tell a row's kind from which of its ids are real.

    `syncType` changed its meaning between versions, and its labels are wrong for most; the shape holds for all.
    """
    event, stream = is_real_id(columns["event"]), is_real_id(columns["stream"])
    shape = np.full(event.size, SyncShape.CONTEXT, np.int64)
    shape[event & stream] = SyncShape.STREAM_WAIT
    shape[event & ~stream] = SyncShape.EVENT
    shape[~event & stream] = SyncShape.STREAM
    columns["shape"] = shape
    columns["event"] = _real(columns["event"])
    columns["stream"] = _real(columns["stream"])
    columns["event_sync"] = _real(columns["event_sync"], zero_is_none=True)


def _product(*extents: I64) -> I64:
    """Extents multiplied; NULL where one is missing or none that a launch can have."""
    usable = np.logical_and.reduce([(e >= 0) & (e <= _MOST_EXTENT) for e in extents])
    # An extent is below 2**31, but not even two of them fit an int64 with a third: a launch never has that many.
    whole = np.prod([np.where(usable, e, 0).astype(np.float64) for e in extents], axis=0)
    usable &= whole < 2**62
    return np.where(usable, np.prod([np.where(usable, e, 0) for e in extents], axis=0), NULL)


def _real(ids: I64, *, zero_is_none: bool = False) -> I64:
    real = is_real_id(ids)
    if zero_is_none:
        real &= ids != 0
    return np.where(real, ids, NULL)


def _existing(ids: I64, known: I64) -> I64:
    """Ids that the table they point into holds; 0 is none, and an id without rows there says nothing."""
    return np.where((ids != 0) & np.isin(ids, known), ids, NULL)


def _with_inline(ids: I64, texts: list[str | None], strings: Strings) -> I64:
    """Name ids, with inline texts interned; where a row has both, the inline text wins."""
    inline = np.fromiter((NULL if t is None else strings.intern(t) for t in texts), np.int64, len(texts))
    return np.where(inline == NULL, ids, inline)
