"""What each device op provably had to wait for.

Sources of the rules: CUDA's stream, event and legacy default stream semantics. Event handles are reused, so a wait is
joined to its record by (process, event sync id), else to the latest record of its handle before the wait's own call,
else to none (P09). What a record stands for is the work on its stream by then; the device's own completion times are 0
in real exports and neither read nor filtered by (P10). All waits before an op are kept, not the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.queues import AWAIT, BARRIER, FREE, MEMBER, SIGNAL, WORK, Order, Queues, order_of
from critpath.base.walk import latest_producers
from critpath.model.identity import NULL, join_index
from critpath.model.tables import EventRecords, RuntimeCalls, SyncShape, SyncWaits
from critpath.model.trace import Trace
from critpath.rank.process_ops import ProcessOps

__all__ = ["Dependencies", "dependencies", "issued_ns"]

STREAM_ORDER, LEGACY_STREAM = -1, -2
"""`Order.via` of an edge that no wait brought."""

_DEFAULT_FLAG, _NULL_FLAG = 1, 3


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Edges between the ops of a process, and the waits they came through.

    Attributes:
        order: edges, by op; `via` is a row of `waits`, -1 for stream order, -2 for the legacy default stream.
        latest: the producer of each op with the latest end, -1 without one.
        waits: stream waits of the process, in the order of their calls.
        records: event records of the process.
        record_of: row of `records` that each wait is joined to, -1 where none is.
        by_handle: whether the wait was joined through its reused handle, for want of a sync id.
    """

    order: Order
    latest: I64
    waits: SyncWaits
    records: EventRecords
    record_of: I64
    by_handle: npt.NDArray[np.bool_]

    def record_before(self, syncs: SyncWaits, called_ns: I64, ops: ProcessOps) -> tuple[I64, I64]:
        """(row of `records` that each synchronization on an event waits for or -1, time of each record's call [ns])."""
        recorded_ns = _call_times(self.records.correlation, ops.calls, np.full(len(self.records), NULL, np.int64))
        return _record_of(syncs, called_ns, self.records, recorded_ns)[0], recorded_ns

    @property
    def unresolved_share(self) -> float:
        """Stream waits that could not be joined to a record, over all; 0 without any wait."""
        return float((self.record_of < 0).mean()) if self.record_of.size else 0.0


def dependencies(trace: Trace, process: int, ops: ProcessOps) -> Dependencies:
    """All edges of one process.

    Args:
        trace: the whole export.
        process: process key.
        ops: its device ops.
    """
    waits, records = trace.sync_waits, trace.event_records
    waits = waits.where((waits.process == process) & (waits.shape == SyncShape.STREAM_WAIT))
    records = records.where(records.process == process)
    waited_ns = _call_times(waits.correlation, ops.calls, waits.start_ns)
    order = np.lexsort((waits.correlation, waited_ns))
    waits, waited_ns = waits.where(order), waited_ns[order]
    recorded_ns = _call_times(records.correlation, ops.calls, np.full(len(records), NULL, np.int64))
    record_of, by_handle = _record_of(waits, waited_ns, records, recorded_ns)
    queues = _queues(trace, process, ops, _Host(waits, waited_ns, records, recorded_ns, record_of))
    edges = order_of(queues, len(ops), len(records))
    return Dependencies(
        order=edges,
        latest=latest_producers(edges.first, edges.producer, ops.end_ns),
        waits=waits,
        records=records,
        record_of=record_of,
        by_handle=by_handle,
    )


@dataclass(frozen=True, slots=True)
class _Host:
    """Waits and records with the times of their calls [ns]."""

    waits: SyncWaits
    waited_ns: I64
    records: EventRecords
    recorded_ns: I64
    record_of: I64


def _call_times(correlation: I64, calls: RuntimeCalls, fallback_ns: I64) -> I64:
    """When each call was made.

    Correlation ids of a process count its calls: where a call is missing, the one before it in that count was made
    earlier, which keeps the order.
    """
    call = join_index((correlation,), (calls.correlation,))
    if not len(calls):
        return fallback_ns
    known = np.where(call >= 0, calls.start_ns[np.maximum(call, 0)], fallback_ns)
    missing = np.flatnonzero(known == NULL)
    if missing.size:
        counted = np.argsort(calls.correlation, kind="stable")
        before = np.searchsorted(calls.correlation[counted], correlation[missing]) - 1
        known[missing] = np.where(before >= 0, calls.start_ns[counted[np.maximum(before, 0)]], NULL)
    return known


def _record_of(
    waits: SyncWaits, waited_ns: I64, records: EventRecords, recorded_ns: I64
) -> tuple[I64, npt.NDArray[np.bool_]]:
    """(row of `records` for each wait or -1, whether it was found by its handle)."""
    if not len(records) or not len(waits):
        return np.full(len(waits), -1, np.int64), np.zeros(len(waits), np.bool_)
    tied = join_index((waits.event_sync,), (records.event_sync,))
    handle = np.flatnonzero((waits.event_sync == NULL) & (tied < 0))
    if not handle.size:
        return tied, np.zeros(len(waits), np.bool_)
    event = np.concatenate([records.event, waits.event[handle]])
    time = np.concatenate([recorded_ns, waited_ns[handle]])
    asks = np.arange(event.size) >= len(records)
    order = np.lexsort((asks, time, event))
    row = np.where(asks[order], -1, np.arange(event.size)[order])
    # Positions of records carried forward: each wait sees the last record that stands before it in (event, time).
    position = np.maximum.accumulate(np.where(row >= 0, np.arange(row.size), -1))
    found = np.where(position >= 0, row[np.maximum(position, 0)], -1)
    same = (found >= 0) & (event[np.maximum(found, 0)] == event[order])
    answer = np.full(event.size, -1, np.int64)
    answer[order] = np.where(same, found, -1)
    tied[handle] = answer[len(records) :]
    by_handle = np.zeros(len(waits), np.bool_)
    by_handle[handle] = tied[handle] >= 0
    return tied, by_handle


def issued_ns(ops: ProcessOps) -> I64:
    """When each op was issued, for ordering only.

    A stream runs in the order of issue, so an op without a call (cut off before the capture) was issued no later than
    the one after it, and stands with the one before it.
    """
    called = ops.called_ns()
    if (called != NULL).all():
        return called
    # One running maximum a stream: ops are ordered by (queue, start), and a queue's offset keeps the queues apart.
    rank = np.argsort(np.argsort(called, kind="stable"), kind="stable")
    rank = np.where(called == NULL, -1, rank) + ops.queue * (len(ops) + 1)
    carried = np.maximum.accumulate(rank) - ops.queue * (len(ops) + 1)
    by_rank = np.sort(called, kind="stable")
    return np.where(carried >= 0, by_rank[np.maximum(carried, 0)], NULL)


def _queues(trace: Trace, process: int, ops: ProcessOps, host: _Host) -> Queues:
    """Ops, records and waits of a process in the order of their calls, on dense queues."""
    known = {place: i for i, place in enumerate(ops.queues)}
    for table in (host.records, host.waits):
        for place in set(zip(table.context.tolist(), table.stream.tolist(), strict=True)):
            known.setdefault(place, len(known))

    def dense(table: EventRecords | SyncWaits) -> I64:
        places = zip(table.context.tolist(), table.stream.tolist(), strict=True)
        return np.fromiter((known[p] for p in places), np.int64, len(table))

    joined = host.record_of >= 0
    # A wait stands after its record even where clock and call order leave that open.
    waited = host.waited_ns.copy()
    waited[joined] = np.maximum(waited[joined], host.recorded_ns[host.record_of[joined]])
    time = np.concatenate([issued_ns(ops), host.recorded_ns, waited])
    kind = np.repeat([WORK, SIGNAL, AWAIT], [len(ops), len(host.records), len(host.waits)]).astype(np.int8)
    number = np.concatenate([np.arange(len(ops)), np.arange(len(host.records)), np.arange(len(host.waits))])
    queue = np.concatenate([ops.queue, dense(host.records), dense(host.waits)])
    # `number` orders the ops of one call by their place on the stream, which is their start.
    order = np.lexsort((number, kind, time))
    role, group = _roles(trace, process, known)
    return Queues(kind[order], queue[order], number[order], host.record_of, role, group)


def _roles(trace: Trace, process: int, known: dict[tuple[int, int], int]) -> tuple[I64, I64]:
    """What each queue is to the legacy default stream of its context; unlisted streams take no part."""
    null = {(c.context, c.null_stream) for c in trace.contexts if c.process == process and c.null_stream is not None}
    flags = {(s.context, s.stream): s.flag for s in trace.streams if s.process == process}
    role = np.full(len(known), FREE, np.int64)
    group = np.zeros(len(known), np.int64)
    for place, queue in known.items():
        group[queue] = place[0]
        if place in null or flags.get(place) == _NULL_FLAG:
            role[queue] = BARRIER
        elif flags.get(place) == _DEFAULT_FLAG:
            role[queue] = MEMBER
    return role, group
