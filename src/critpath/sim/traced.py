"""Which ops a capture shows: graph launches or their nodes, never both."""

from __future__ import annotations

from critpath.sim.executed import Op, OpKind, ProcessRun

__all__ = ["shown_as", "traced_ops"]


def traced_ops(run: ProcessRun, graph_trace: str) -> list[Op]:
    """The device ops of `run` that have a row of their own, in issue order."""
    if graph_trace == "node":
        return [op for op in run.ops if op.kind is not OpKind.GRAPH]
    return [op for op in run.ops if op.graph is None]


def shown_as(op: Op, graph_trace: str) -> Op:
    """The traced op that stands for `op`: by node, a launch is its last node to end; by graph, a node is its launch."""
    if graph_trace == "node":
        while op.members:
            op = max(op.members, key=lambda member: (member.end_ns, member.index))
        return op
    return op.graph or op
