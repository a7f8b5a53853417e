"""The causal record of every op, as columns: why each ran when it did and who delayed whom.

`ops` has one entry an op that the capture shows; `edges` one an edge, naming ops by their place in `ops`. Times are on
the axis of the op's own report; a producer's end is on the axis of the op that waited.
"""

from __future__ import annotations

from critpath.sim.executed import EdgeKind, Execution, Op
from critpath.sim.traced import shown_as, traced_ops

__all__ = ["causal_record"]

_OP_COLUMNS = (
    *("report", "pid", "device", "context", "stream", "kind", "name", "correlation_id", "thread"),
    *("call_start_ns", "call_end_ns", "ready_ns", "start_ns", "end_ns", "collective", "graph_node", "bound_by"),
)
_EDGE_COLUMNS = (
    *("op", "kind", "producer", "producer_end_ns", "delay_ns", "wait_correlation_id", "record_correlation_id"),
    *("path", "binding"),
)


def causal_record(execution: Execution) -> dict[str, object]:
    """Everything `truth_ops.json` holds."""
    trace = execution.job.graph_trace
    shown = [op for run in execution.runs for op in traced_ops(run, trace)]
    places = {op.index: place for place, op in enumerate(shown)}
    reports = {id(report): place for place, report in enumerate(execution.job.reports)}
    meetings = {id(meeting): place for place, meeting in enumerate(execution.collectives)}
    ops: list[tuple[object, ...]] = []
    edges: list[tuple[object, ...]] = []
    for op in shown:
        at = op.run.report.clock.at
        bound_by = -1
        for place, (kind, producer, delay_ns, via) in enumerate(op.edges):
            if place == op.binding:
                bound_by = len(edges)
            source = shown_as(producer, trace)
            crossed = (via[0][0], via[-1][1]) if via else (-1, -1)
            edges.append(
                (
                    places[op.index],
                    kind.value,
                    places[source.index],
                    at(producer.end_ns),
                    delay_ns,
                    *crossed,
                    [list(pair) for pair in via],
                    int(place == op.binding),
                )
            )
        if op.peer is not None and op.peer is not op:
            peer = shown_as(op.peer, trace)
            edges.append(
                (
                    places[op.index],
                    EdgeKind.COLLECTIVE_PEER.value,
                    places[peer.index],
                    at(op.peer.start_ns),
                    0,
                    -1,
                    -1,
                    [],
                    0,
                )
            )
        ops.append(
            (
                reports[id(op.run.report)],
                op.run.process.pid,
                op.stream.device,
                op.stream.context,
                op.stream.stream,
                op.kind.name.lower(),
                _name(op),
                op.correlation,
                op.thread.tid,
                at(op.call_start_ns),
                at(op.call_end_ns),
                at(op.ready_ns),
                at(op.start_ns),
                at(op.end_ns),
                -1 if op.collective is None else meetings[id(op.collective)],
                -1 if op.graph is None else op.node,
                bound_by,
            )
        )
    return {
        "ops": _columns(_OP_COLUMNS, ops),
        "edges": _columns(_EDGE_COLUMNS, edges),
        "collectives": _collectives(execution, places, trace),
    }


def _name(op: Op) -> str:
    short: str = getattr(op.what, "short", "")
    return short


def _columns(names: tuple[str, ...], rows: list[tuple[object, ...]]) -> dict[str, list[object]]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


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
            "last": places[shown_as(meeting.last, trace).index] if meeting.last is not None else -1,
        }
        for meeting in execution.collectives
    ]
