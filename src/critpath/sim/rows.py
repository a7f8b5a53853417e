"""The rows of the activity tables: what the profiler would have seen of an execution, on the report's own axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import attrgetter

from critpath.sim.executed import Op, OpKind, Sync, SyncShape
from critpath.sim.hostrows import host_sheets
from critpath.sim.ids import global_pid, global_tid
from critpath.sim.instructions import Copy, CopyDirection, Graph, HostMemory, Kernel, Memset
from critpath.sim.ncclrows import NCCL_DOMAIN, blob, init_ranges, payload_sheets
from critpath.sim.recording import NcclPayload
from critpath.sim.schema import NO_ID
from critpath.sim.sheets import Capture, Row, Sheet, Value
from critpath.sim.traced import traced_ops

__all__ = ["activity_sheets", "end_ns"]

_BLOBS = NcclPayload.BLOBS
_PUSH_POP, _DOMAIN_CREATE = 59, 75
_MEMORY = {HostMemory.PAGEABLE: 0, HostMemory.PINNED: 1}
_DEVICE_MEMORY, _UNKNOWN_MEMORY = 2, 7
_PREFETCH, _PAGE_FAULT = 1, 2
_DOMAIN_NAMES = {1: "NCCL", 2: "CCCL"}
# What versions call a sync whose driver reports no event sync ids; these rows carry no code of their own.
_DEPRECATED_CODES = {
    SyncShape.EVENT: 1,
    SyncShape.QUERY: 1,
    SyncShape.WAIT: 2,
    SyncShape.STREAM: 2,
    SyncShape.CONTEXT: 0,
}


def activity_sheets(capture: Capture) -> list[Sheet]:
    """Every activity table that has rows, in the order in which exports declare them."""
    ops = [op for run in capture.runs for op in traced_ops(run, capture.graph_trace)]
    ops.sort(key=attrgetter("end_ns"))
    kernels = [op for op in ops if op.kind <= OpKind.COMMUNICATION]
    sheets = [
        *host_sheets(capture),
        _records(capture),
        _syncs(capture),
        _calls(capture),
        _kernels(capture, kernels),
        _copies(capture, [op for op in ops if op.kind is OpKind.COPY and op.correlation]),
        _migrations(capture, [op for op in ops if op.kind is OpKind.COPY and not op.correlation]),
        _memsets(capture, [op for op in ops if op.kind is OpKind.MEMSET]),
        _graphs(capture, [op for op in ops if op.kind is OpKind.GRAPH]),
        _ranges(capture),
        *payload_sheets(capture),
    ]
    return [sheet for sheet in sheets if sheet.rows]


def _kernels(capture: Capture, ops: Sequence[Op]) -> Sheet:
    # In the order of first use, so that names get the same ids every time.
    used = dict.fromkeys(op.what for op in ops)
    shapes = {what: _shape(capture, what) for what in used if isinstance(what, Kernel)}
    streams = {op.stream for op in ops}
    places = {stream: (stream.device, stream.context, stream.stream) for stream in streams}
    processes = {run: global_pid(run.process) for run in {op.run for op in ops}}
    grids = {run: count(1) for run in processes}
    clock = capture.clock
    if clock.exact:
        zero_ns = clock.session_start_ns
        spans = [(op.start_ns - zero_ns, op.end_ns - zero_ns) for op in ops]
    else:
        at = clock.on_device
        spans = [(at(op.stream.device, op.start_ns), at(op.stream.device, op.end_ns)) for op in ops]
    rows: list[Row] = [
        (
            *span,
            *places[op.stream],
            op.correlation,
            processes[op.run],
            *(_EAGER if op.graph is None else _graph_ids(op)),
            next(grids[op.run]),
            *shapes[op.what],  # type: ignore[index]
        )
        for span, op in zip(spans, ops, strict=True)
    ]
    columns = (
        *("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphNodeId"),
        *("gridId", "demangledName", "shortName", "mangledName", "registersPerThread", "gridX", "gridY", "gridZ"),
        *("blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory"),
    )
    constants: dict[str, Value] = {
        "greenContextId": 0,
        "launchType": 1,
        "cacheConfig": 1,
        "localMemoryPerThread": 0,
        "localMemoryTotal": 250_871_808,
        "sharedMemoryExecuted": 32_768,
        "sharedMemoryLimitConfig": 0,
        "clusterX": 0,
        "clusterY": 0,
        "clusterZ": 0,
        "clusterSchedulingPolicy": 1,
        "maxPotentialClusterSize": 0,
        "maxActiveClusters": 0,
        "tensorSizeMinusOneElements": "[]",
    }
    return Sheet("CUPTI_ACTIVITY_KIND_KERNEL", columns, rows, constants)


def _shape(capture: Capture, kernel: Kernel) -> Row:
    """What all rows of a kernel have in common: its names, registers, grid, block and shared memory."""
    names = tuple(capture.strings.id(name) for name in (kernel.demangled, kernel.short, kernel.mangled))
    shared = (kernel.static_shared_bytes, kernel.dynamic_shared_bytes)
    return (*names, kernel.registers, *kernel.grid, *kernel.block, *shared)


_EAGER = (None, None)


def _graph_ids(op: Op) -> tuple[int | None, int | None]:
    """Graph id and node id of an op that ran inside a graph; node ids count through all graphs of a process."""
    if op.graph is None:
        return _EAGER
    graph = op.graph.what
    assert isinstance(graph, Graph)  # noqa: S101 - only graph launches have nodes
    return graph.graph_id, (graph.exec_id << 20) + op.node + 1


_OP_COLUMNS = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")


def _op_row(capture: Capture, op: Op) -> Row:
    """What the tables of device ops have in common."""
    stream = op.stream
    return (
        capture.clock.on_device(stream.device, op.start_ns),
        capture.clock.on_device(stream.device, op.end_ns),
        stream.device,
        stream.context,
        stream.stream,
        op.correlation,
        global_pid(op.run.process),
    )


def _copies(capture: Capture, ops: Sequence[Op]) -> Sheet:
    rows: list[Row] = []
    for op in ops:
        copy = op.what
        assert isinstance(copy, Copy)  # noqa: S101 - a copy op runs a copy
        host = _MEMORY[copy.memory]
        source = host if copy.direction is CopyDirection.HOST_TO_DEVICE else _DEVICE_MEMORY
        target = host if copy.direction is CopyDirection.DEVICE_TO_HOST else _DEVICE_MEMORY
        node = _graph_ids(op)[1]
        rows.append((*_op_row(capture, op), node, copy.bytes, int(copy.direction), source, target))
    columns = (*_OP_COLUMNS, "graphNodeId", "bytes", "copyKind", "srcKind", "dstKind")
    copy_count = 1 if capture.generation.since("2025.5") else None
    return Sheet("CUPTI_ACTIVITY_KIND_MEMCPY", columns, rows, {"greenContextId": 0, "copyCount": copy_count})


def _migrations(capture: Capture, ops: Sequence[Op]) -> Sheet:
    """Copies of managed memory: they belong to no stream, context or call."""
    rows: list[Row] = []
    for place, op in enumerate(ops):
        copy = op.what
        assert isinstance(copy, Copy)  # noqa: S101 - only copies migrate
        address = 140_178_572_181_504 + 2_097_152 * place
        cause = _PAGE_FAULT if op.start_ns == op.ready_ns and not op.edges else _PREFETCH
        rows.append((*_op_row(capture, op), copy.bytes, int(copy.direction), cause, address))
    columns = (*_OP_COLUMNS, "bytes", "copyKind", "migrationCause", "virtualAddress")
    return Sheet("CUPTI_ACTIVITY_KIND_MEMCPY", columns, rows, {"srcKind": _UNKNOWN_MEMORY, "dstKind": _UNKNOWN_MEMORY})


def _memsets(capture: Capture, ops: Sequence[Op]) -> Sheet:
    rows: list[Row] = []
    for op in ops:
        memset = op.what
        assert isinstance(memset, Memset)  # noqa: S101 - a memset op runs a memset
        rows.append((*_op_row(capture, op), _graph_ids(op)[1], memset.value, memset.bytes))
    columns = (*_OP_COLUMNS, "graphNodeId", "value", "bytes")
    return Sheet("CUPTI_ACTIVITY_KIND_MEMSET", columns, rows, {"greenContextId": 0, "memKind": _DEVICE_MEMORY})


def _graphs(capture: Capture, ops: Sequence[Op]) -> Sheet:
    rows: list[Row] = []
    for op in ops:
        graph = op.what
        assert isinstance(graph, Graph)  # noqa: S101 - a graph op launches a graph
        rows.append((*_op_row(capture, op), graph.graph_id, graph.exec_id))
    return Sheet(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (*_OP_COLUMNS, "graphId", "graphExecId"), rows, {"greenContextId": 0}
    )


def _calls(capture: Capture) -> Sheet:
    """API calls in one block a thread, each in time order, as exports of several threads have them."""
    names: dict[str, int] = {}
    rows: list[Row] = []
    for run in capture.runs:
        for thread in run.process.threads:
            calls = run.calls[thread.tid]
            whole = global_tid(run.process, thread)
            names |= {name: capture.strings.id(name) for name in dict.fromkeys(call.name for call in calls)}
            starts = capture.clock.all_at([call.start_ns for call in calls])
            ends = capture.clock.all_at([call.end_ns for call in calls])
            rows += [
                (start_ns, end_ns, whole, call.correlation, names[call.name], call.result)
                for start_ns, end_ns, call in zip(starts, ends, calls, strict=True)
            ]
    columns = ("start", "end", "globalTid", "correlationId", "nameId", "returnValue")
    return Sheet("CUPTI_ACTIVITY_KIND_RUNTIME", columns, rows, {"eventClass": 0})


def _syncs(capture: Capture) -> Sheet:
    """Synchronization rows in completion order. The device column says 0 whatever the device, as in real exports."""
    at = capture.clock.at
    rows: list[tuple[int, Row]] = []
    for run in capture.runs:
        process = global_pid(run.process)
        for sync in run.syncs:
            row = (at(sync.start_ns), at(sync.end_ns), sync.anchor.context, sync.correlation, process)
            rows.append((sync.end_ns, (*row, *_sync_ids(capture, sync))))
    rows.sort(key=lambda pair: pair[0])
    columns = (
        *("start", "end", "contextId", "correlationId", "globalPid"),
        *("deprecatedSyncType", "eventSyncId", "streamId", "syncType", "eventId"),
    )
    constants: dict[str, Value] = {"deviceId": 0}
    return Sheet("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, [row for _, row in rows], constants)


def _sync_ids(capture: Capture, sync: Sync) -> Row:
    """Deprecated type, event sync id, stream, type and event of a synchronization row."""
    on_stream = sync.shape in (SyncShape.WAIT, SyncShape.STREAM)
    stream = sync.anchor.stream if on_stream else NO_ID
    event = NO_ID if sync.event is None else sync.event
    if not capture.event_sync_ids:
        # A driver without event sync ids under a version that has the column; older versions have a code either way.
        code = 0 if capture.generation.since("2025.1") else capture.generation.sync_codes[sync.shape]
        return _DEPRECATED_CODES[sync.shape], None, stream, code, event
    none = capture.generation.no_event_sync
    event_sync = none if sync.event_sync is None else sync.event_sync
    return None, event_sync, stream, capture.generation.sync_codes[sync.shape], event


def _records(capture: Capture) -> Sheet:
    """Event records, by handle: real exports have them in no order of time."""
    rows: list[Row] = []
    for run in capture.runs:
        process = global_pid(run.process)
        for stream, correlation, event, event_sync in run.records:
            known = event_sync if capture.event_sync_ids else None
            ids = (stream.device, stream.context, stream.stream)
            rows.append((known, *ids, correlation, process, event))
    rows.sort(key=lambda row: (row[6], row[5], -int(row[4] or 0)))
    columns = ("eventSyncId", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId")
    green = 0 if capture.event_sync_ids else None
    return Sheet("CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, rows, {"timestamp": 0, "greenContextId": green})


def _ranges(capture: Capture) -> Sheet:
    """NVTX ranges by start, behind the domains of each process, which open before the capture does."""
    at = capture.clock.at
    domains: list[Row] = []
    rows: list[tuple[int, int, int, Row]] = []
    begun = capture.strings.id("ncclCommInitRankConfig") if capture.recording.nccl_payload is _BLOBS else 0
    for init in init_ranges(capture):
        main = global_tid(init.run.process, init.run.process.threads[0])
        row: Row = (at(init.start_ns), at(init.end_ns), _PUSH_POP, None, main, begun, NCCL_DOMAIN, init.payload)
        rows.append((init.start_ns, -init.end_ns, -len(rows), row))
    with_blobs = capture.recording.nccl_payload is _BLOBS and capture.generation.since("2026.2")
    for run in capture.runs:
        main = global_tid(run.process, run.process.threads[0])
        for domain in sorted({r.domain for r in run.ranges} - {0}):
            opened_ns = -1_957_198_520 + 1_000 * len(domains)
            name = _DOMAIN_NAMES.get(domain, str(domain))
            domains.append((opened_ns, None, _DOMAIN_CREATE, name, main, None, domain, None))
        for r in run.ranges:
            text, text_id = (None, capture.strings.id(r.text)) if r.registered else (r.text, None)
            whole = global_tid(run.process, r.thread)
            payload = blob(r.payload) if with_blobs and r.payload is not None else None
            row = (at(r.start_ns), at(r.end_ns), _PUSH_POP, text, whole, text_id, r.domain, payload)
            # Ranges close from the inside out, so of equal spans the later one is the outer.
            rows.append((r.start_ns, -r.end_ns, -len(rows), row))
    rows.sort(key=lambda entry: entry[:3])
    columns: tuple[str, ...] = ("start", "end", "eventType", "text", "globalTid", "textId", "domainId", "binaryData")
    found: list[Row] = [*domains, *(row for *_, row in rows)]
    if not with_blobs:
        columns, found = columns[:-1], [row[:-1] for row in found]
    return Sheet("NVTX_EVENTS", columns, found, {})


def end_ns(capture: Capture) -> int:
    """Last end of anything captured, on the report's axis [ns]."""
    calls = [calls[-1].end_ns for run in capture.runs for calls in run.calls.values() if calls]
    ops = [op.end_ns for run in capture.runs for op in run.ops]
    return capture.clock.at(max((*calls, *ops), default=capture.clock.session_start_ns))
