"""When host threads waited for the device, and for which op.

Synchronizations and blocking copies, by thread. Whether an async copy blocked is tested (its call returned no earlier
than the copy ended), not assumed (P13). A stream wait is no host wait, and a query waits for nothing (P11): a run of
queries that ends with success is a wait on that event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import NULL, join_index
from critpath.model.tables import CopyKind, MemoryKind, RuntimeCalls, SyncShape, SyncWaits
from critpath.model.trace import Trace
from critpath.rank.dependencies import Dependencies, issued_ns
from critpath.rank.process_ops import ProcessOps

__all__ = ["HostWaits", "blocked_host", "host_waits"]

_NOT_READY = 600
_BLOCKED_TOLERANCE_NS = 1_000
"""How much earlier than the copy's end a blocking call may seem to return: host and device clocks differ."""


@dataclass(frozen=True, slots=True)
class HostWaits:
    """Waits of host threads, shape (n,), ordered by (thread, start).

    Attributes:
        thread: whole serialized thread id.
        start_ns, end_ns: span of the call, or of the run of queries [ns].
        awaited: the op waited for, a row of the process' ops; -1 where it can't be told.
        name: string id of the API function.
        poll: whether it is a run of queries.
    """

    thread: I64
    start_ns: I64
    end_ns: I64
    awaited: I64
    name: I64
    poll: npt.NDArray[np.bool_]

    def where(self, rows: npt.NDArray[np.bool_]) -> HostWaits:
        """Some of the waits."""
        return HostWaits(
            self.thread[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.awaited[rows],
            self.name[rows],
            self.poll[rows],
        )


def host_waits(trace: Trace, process: int, ops: ProcessOps, known: Dependencies) -> HostWaits:
    """All waits of one process' threads whose API call is in the capture."""
    syncs = trace.sync_waits
    syncs = syncs.where((syncs.process == process) & (syncs.shape != SyncShape.STREAM_WAIT))
    call = join_index((syncs.correlation,), (ops.calls.correlation,))
    syncs, call = syncs.where(call >= 0), call[call >= 0]
    queries = _is_query(ops, call)
    awaited = _awaited(syncs, ops.calls.start_ns[call] if call.size else call, ops, known)
    waits = [_of_calls(ops.calls, call[~queries], awaited[~queries]), _blocking_copies(ops)]
    waits.append(_polls(ops.calls, call[queries], syncs.event[queries], awaited[queries]))
    joined = HostWaits(
        *(
            np.concatenate([getattr(w, f) for w in waits])
            for f in ("thread", "start_ns", "end_ns", "awaited", "name", "poll")
        )
    )
    order = np.lexsort((joined.start_ns, joined.thread))
    return joined.where(order)  # type: ignore[arg-type]


def _is_query(ops: ProcessOps, call: I64) -> npt.NDArray[np.bool_]:
    names = [i for i, text in ops.strings.of(ops.calls.name).items() if "EventQuery" in text or "StreamQuery" in text]
    return np.isin(ops.calls.name[call], names) if call.size else np.zeros(0, np.bool_)


def _of_calls(calls: RuntimeCalls, call: I64, awaited: I64) -> HostWaits:
    return HostWaits(
        calls.thread[call],
        calls.start_ns[call],
        calls.end_ns[call],
        awaited,
        calls.name[call],
        np.zeros(call.size, np.bool_),
    )


def blocked_host(ops: ProcessOps) -> npt.NDArray[np.bool_]:
    """Which ops are copies that held the host: their call may wait, and returned no earlier than they ended (P13).

    An async copy of pinned memory never waits, nor does one inside a device: such a call that returns late was slow.
    """
    returned = ops.returned_ns() >= ops.end_ns - _BLOCKED_TOLERANCE_NS
    return _may_wait(ops) & (ops.call >= 0) & ~ops.graph_node & returned


def _may_wait(ops: ProcessOps) -> npt.NDArray[np.bool_]:
    """Which ops are copies whose call CUDA allows to wait: synchronous ones, and async ones of pageable memory."""
    names = ops.strings.of(ops.calls.name)
    asynchronous = np.isin(ops.calls.name, [i for i, text in names.items() if "Async" in text])
    by_call = asynchronous[np.maximum(ops.call, 0)] if asynchronous.size else np.zeros(len(ops), np.bool_)
    pageable = np.array([MemoryKind.PAGEABLE in (g.source_kind, g.target_kind) for g in ops.copy_groups], np.bool_)
    untold = np.array([NULL in (g.source_kind, g.target_kind) for g in ops.copy_groups], np.bool_)
    inside_device = np.array([g.kind == CopyKind.D2D for g in ops.copy_groups], np.bool_)
    may = np.zeros(len(ops), np.bool_)
    rows = np.flatnonzero(ops.copy_group >= 0)
    group = ops.copy_group[rows]
    may[rows] = ~inside_device[group] & (~by_call[rows] | pageable[group] | untold[group]) if rows.size else may[rows]
    return may


def _blocking_copies(ops: ProcessOps) -> HostWaits:
    rows = np.flatnonzero(blocked_host(ops))
    return _of_calls(ops.calls, ops.call[rows], rows)


def _polls(calls: RuntimeCalls, call: I64, event: I64, awaited: I64) -> HostWaits:
    """Runs of queries of one thread and event, from the first that was not ready to the one that succeeded."""
    if not call.size:
        return _of_calls(calls, call, awaited)
    order = np.lexsort((calls.start_ns[call], event, calls.thread[call]))
    call, event, awaited = call[order], event[order], awaited[order]
    ready = calls.result[call] != _NOT_READY
    same = np.concatenate([[False], (calls.thread[call][1:] == calls.thread[call][:-1]) & (event[1:] == event[:-1])])
    begins = ~same | np.concatenate([[True], ready[:-1]])
    head = np.maximum.accumulate(np.where(begins, np.arange(call.size), 0))
    ends = np.flatnonzero(ready & (head < np.arange(call.size)))
    runs = _of_calls(calls, call[ends], awaited[ends])
    return HostWaits(
        runs.thread,
        calls.start_ns[call[head[ends]]],
        runs.end_ns,
        runs.awaited,
        runs.name,
        np.ones(ends.size, np.bool_),
    )


def _awaited(syncs: SyncWaits, called_ns: I64, ops: ProcessOps, known: Dependencies) -> I64:
    """The op that each synchronization waited for: the last to end of what had been issued to what it waited on."""
    result = np.full(len(syncs), -1, np.int64)
    if not len(syncs) or not len(ops):
        return result
    issued = issued_ns(ops)
    first = np.searchsorted(ops.queue, np.arange(len(ops.queues) + 1))
    context, stream, until = _waited_on(syncs, called_ns, ops, known)
    best_end = np.full(len(syncs), NULL, np.int64)
    for queue, (its_context, its_stream) in enumerate(ops.queues):
        rows = np.flatnonzero((context == its_context) & ((stream == its_stream) | (stream == NULL)))
        if not rows.size:
            continue
        low, high = int(first[queue]), int(first[queue + 1])
        last = low + np.searchsorted(issued[low:high], until[rows], side="left") - 1
        there = last >= low
        rows, last = rows[there], last[there]
        later = ops.end_ns[last] > best_end[rows]
        best_end[rows[later]] = ops.end_ns[last[later]]
        result[rows[later]] = last[later]
    return result


def _waited_on(syncs: SyncWaits, called_ns: I64, ops: ProcessOps, known: Dependencies) -> tuple[I64, I64, I64]:
    """(context, stream or NULL for all of them, issued before) of what each synchronization waited on."""
    context, stream, until = syncs.context.copy(), syncs.stream.copy(), called_ns.copy()
    event = syncs.shape == SyncShape.EVENT
    record, recorded_ns = known.record_before(syncs, called_ns, ops)
    found = event & (record >= 0)
    context[found] = known.records.context[record[found]]
    stream[found] = known.records.stream[record[found]]
    until[found] = recorded_ns[record[found]]
    context[event & ~found] = NULL
    return context, stream, until
