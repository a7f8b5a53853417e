"""The causal record of every op, as columns: why each ran when it did and who delayed whom.

`ops` has one entry an op that the capture shows, `edges` one an edge; both name ops by their place in `ops`. Times are
on the axis of the op's own report; a producer's end is on the axis of the op that waited.
"""

from __future__ import annotations

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
    ats = [op.run.report.clock.at for op in ops]
    first_edges: list[int] = []
    count = 0
    for op in ops:
        first_edges.append(count)
        count += len(op.edges) + _has_peer(op)
    return {
        "report": [reports[id(op.run.report)] for op in ops],
        "pid": [op.run.process.pid for op in ops],
        "device": [op.stream.device for op in ops],
        "context": [op.stream.context for op in ops],
        "stream": [op.stream.stream for op in ops],
        "kind": [_KINDS[op.kind] for op in ops],
        "name": [getattr(op.what, "short", "") for op in ops],
        "correlation_id": [op.correlation for op in ops],
        "thread": [op.thread.tid for op in ops],
        "call_start_ns": [at(op.call_start_ns) for at, op in zip(ats, ops, strict=True)],
        "call_end_ns": [at(op.call_end_ns) for at, op in zip(ats, ops, strict=True)],
        "ready_ns": [at(op.ready_ns) for at, op in zip(ats, ops, strict=True)],
        "start_ns": [at(op.start_ns) for at, op in zip(ats, ops, strict=True)],
        "end_ns": [at(op.end_ns) for at, op in zip(ats, ops, strict=True)],
        "collective": [-1 if op.collective is None else meetings[id(op.collective)] for op in ops],
        "graph_node": [-1 if op.graph is None else op.node for op in ops],
        "bound_by": [-1 if op.binding < 0 else first + op.binding for first, op in zip(first_edges, ops, strict=True)],
    }


_KINDS = ("compute", "communication", "copy", "memset", "graph")


def _has_peer(op: Op) -> bool:
    """Whether another rank's part decided when this collective kernel ended."""
    return op.peer is not None and op.peer is not op


def _edges(ops: list[Op], places: dict[int, int], trace: str) -> dict[str, list[object]]:
    """The edges of each op in turn: what its start waited for, then the peer whose start its end waited for.

    `path` lists the (wait, record) correlation ids from the op back to the producer; the two id columns are its ends,
    -1 without. A peer's `producer_end_ns` is the time at which it started.
    """
    found: list[tuple[Op, Edge]] = []
    for op in ops:
        found += [(op, edge) for edge in op.edges]
        if op.peer is not None and op.peer is not op:
            found.append((op, Edge(EdgeKind.COLLECTIVE_PEER, op.peer, 0)))
    columns: dict[str, list[object]] = {
        "op": [places[op.index] for op, _ in found],
        "kind": [edge.kind.value for _, edge in found],
        "producer": [places[shown_as(edge.producer, trace).index] for _, edge in found],
        "producer_end_ns": [op.run.report.clock.at(_end_ns(edge)) for op, edge in found],
        "delay_ns": [edge.delay_ns for _, edge in found],
        "wait_correlation_id": [edge.via[0][0] if edge.via else -1 for _, edge in found],
        "record_correlation_id": [edge.via[-1][1] if edge.via else -1 for _, edge in found],
        "path": [edge.via for _, edge in found],
    }
    return columns


def _end_ns(edge: Edge) -> int:
    """The time on which the edge holds an op up."""
    return edge.producer.start_ns if edge.kind is EdgeKind.COLLECTIVE_PEER else edge.producer.end_ns


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
