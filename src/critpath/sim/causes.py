"""The causal record of every op, as columns: why each ran when it did and who delayed whom.

`ops` has one entry an op that the capture shows, `edges` one an edge; both name ops by their place in `ops`. Times are
on the axis of the op's own report; a producer's end is on the axis of the op that waited.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Any

from critpath.sim.executed import Edge, EdgeKind, Execution, Op
from critpath.sim.traced import shown_as, traced_ops

__all__ = ["causal_record"]


def causal_record(execution: Execution) -> dict[str, object]:
    """Everything `truth_ops.json` holds."""
    trace = execution.job.graph_trace
    shown = [op for run in execution.runs for op in traced_ops(run, trace)]
    places = {op.index: place for place, op in enumerate(shown)}
    meetings = {id(meeting): place for place, meeting in enumerate(execution.collectives)}
    return {
        "ops": _ops(execution, shown, meetings),
        "edges": _edges(shown, places, trace),
        "collectives": _collectives(execution, places, trace),
    }


def _ops(execution: Execution, ops: list[Op], meetings: dict[int, int]) -> dict[str, list[object]]:
    """The ops; `collective` and `graph_node` are -1 where there is none, `bound_by` where the op's own launch was."""
    reports = {id(report): place for place, report in enumerate(execution.job.reports)}
    columns: dict[str, list[object]] = {}
    for run, group in groupby(ops, key=attrgetter("run")):
        own = list(group)
        count, clock = len(own), run.report.clock
        streams = [op.stream for op in own]
        found: dict[str, list[Any]] = {
            "report": [reports[id(run.report)]] * count,
            "pid": [run.process.pid] * count,
            "device": [stream.device for stream in streams],
            "context": [stream.context for stream in streams],
            "stream": [stream.stream for stream in streams],
            "kind": [_KINDS[op.kind] for op in own],
            "name": [getattr(op.what, "short", "") for op in own],
            "correlation_id": [op.correlation for op in own],
            "thread": [op.thread.tid for op in own],
            "call_start_ns": clock.all_at([op.call_start_ns for op in own]),
            "call_end_ns": clock.all_at([op.call_end_ns for op in own]),
            "submitted_ns": clock.all_at([op.submitted_ns for op in own]),
            "ready_ns": clock.all_on_devices((op.stream.device, op.ready_ns) for op in own),
            "alone_ns": [op.duration_ns for op in own],
            "start_ns": clock.all_on_devices((op.stream.device, op.start_ns) for op in own),
            "end_ns": clock.all_on_devices((op.stream.device, op.end_ns) for op in own),
            "collective": [-1 if op.collective is None else meetings[id(op.collective)] for op in own],
            "graph_node": [-1 if op.graph is None else op.node for op in own],
        }
        for name, values in found.items():
            columns.setdefault(name, []).extend(values)
    return {**columns, "bound_by": _bounds(ops)}


def _bounds(ops: list[Op]) -> list[object]:
    """For each op the edge that set its start, by its place among all edges."""
    bounds: list[object] = []
    count = 0
    for op in ops:
        bounds.append(-1 if op.binding < 0 else count + op.binding)
        count += len(op.edges) + _has_peer(op)
    return bounds


_KINDS = ("compute", "communication", "copy", "memset", "graph")


def _has_peer(op: Op) -> bool:
    """Whether another rank's part decided when this collective kernel ended."""
    return op.peer is not None and op.peer is not op


def _edges(ops: list[Op], places: dict[int, int], trace: str) -> dict[str, list[object]]:
    """The edges of each op in turn: what its start waited for, then the peer whose start its end waited for.

    `path` lists the (wait, record) correlation ids from the op back to the producer; the two id columns are its ends,
    -1 without. Of kinds that wait for a start, `producer_end_ns` is the time at which the producer started.
    """
    waiting: list[Op] = []
    found: list[Edge] = []
    for op in ops:
        found += op.edges
        waiting += [op] * len(op.edges)
        if op.peer is not None and op.peer is not op:
            found.append(Edge(EdgeKind.COLLECTIVE_PEER, op.peer, 0))
            waiting.append(op)
    return {
        "op": [places[op.index] for op in waiting],
        "kind": [edge.kind.value for edge in found],
        "producer": [places[_source(edge.producer, trace)] for edge in found],
        "producer_end_ns": [
            op.run.report.clock.on_device(op.stream.device, edge.freed_ns)
            for op, edge in zip(waiting, found, strict=True)
        ],
        "delay_ns": [edge.delay_ns for edge in found],
        "wait_correlation_id": [edge.via[0][0] if edge.via else -1 for edge in found],
        "record_correlation_id": [edge.via[-1][1] if edge.via else -1 for edge in found],
        "path": [edge.via for edge in found],
    }


def _source(producer: Op, trace: str) -> int:
    """Index of the op that the capture shows in a producer's place."""
    if producer.members is None and producer.graph is None:
        return producer.index
    return shown_as(producer, trace).index


def _collectives(execution: Execution, places: dict[int, int], trace: str) -> list[dict[str, object]]:
    """Each collective with its parts in order of arrival; `last` is the part that all others waited for."""
    return [
        {
            "communicator": meeting.collective.communicator.name,
            "backend": meeting.collective.communicator.backend,
            "sequence": meeting.sequence,
            "operation": meeting.collective.operation,
            "bytes": meeting.collective.bytes,
            "transfer_ns": meeting.transfer_ns,
            "ops": [places[shown_as(op, trace).index] for op in meeting.ops],
            "last": -1 if meeting.last is None else places[shown_as(meeting.last, trace).index],
        }
        for meeting in execution.collectives
    ]
