"""How CUDA graphs were traced, and how many of their launches left any row (P21).

Graph rows prove that graph tracing was on, not that it saw every launch: a capture may hold 753 rows for
4,183 launches. What isn't covered is unknown, never idle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import NULL, join_index
from critpath.model.tables import RuntimeCalls
from critpath.model.trace import Trace
from critpath.rank.api_calls import GRAPH_LAUNCH, calls_of, succeeded

__all__ = ["GraphCoverage", "GraphMode", "GraphTracing", "graph_tracing"]

GraphMode = Literal["none", "node", "graph", "mixed", "unknown"]


@dataclass(frozen=True, slots=True)
class GraphCoverage:
    """Graph launches of one process and the device rows they left.

    Attributes:
        launches: graph launch calls that returned no error.
        opaque: those with a graph row and no node row: busy, unknown inside.
        by_node: those with rows of their nodes.
        uncovered: those without any row: their time is unknown.
        opaque_rows: graph rows without node rows beside them, whether or not their call was recorded.
        uncovered_ns: when the calls of the uncovered launches began.
    """

    process: int
    launches: int
    opaque: int
    by_node: int
    uncovered: int
    opaque_rows: int
    uncovered_ns: I64 = field(default_factory=lambda: np.empty(0, np.int64), compare=False, repr=False)

    @property
    def covered(self) -> int:
        """Launches with a device row of either kind."""
        return self.opaque + self.by_node


@dataclass(frozen=True, slots=True)
class GraphTracing:
    """How graphs were traced.

    Attributes:
        mode: from the rows: `none` where calls were recorded and none of them launched a graph, `unknown` where the
            rows can't tell.
        configured: what the capture was asked for, `graph` or `node`; None where the export doesn't say.
        coverage: processes with graph launches or graph rows, by key.
    """

    mode: GraphMode
    configured: str | None
    coverage: tuple[GraphCoverage, ...]


def graph_tracing(trace: Trace) -> GraphTracing:
    """How the graphs of a capture were traced; from the trace as read, since damaged graph rows are rows too."""
    calls = trace.runtime_calls
    launches = calls.where(calls_of(calls, trace.strings, GRAPH_LAUNCH) & succeeded(calls))
    nodes = _node_keys(trace)
    coverage = _coverage(trace, launches, nodes)
    configured = trace.capture_options.get("CUDA_GRAPH_TRACE_OPTIONS:MODE")
    return GraphTracing(
        mode=_mode(trace, launches, has_nodes=nodes[0].size > 0),
        configured=configured.lower() if configured else None,
        coverage=coverage,
    )


def _mode(trace: Trace, launches: RuntimeCalls, *, has_nodes: bool) -> GraphMode:
    has_graphs = len(trace.graph_launches) > 0
    if has_graphs and has_nodes:
        return "mixed"
    if has_graphs:
        return "graph"
    if has_nodes:
        return "node"
    return "unknown" if len(launches) or not len(trace.runtime_calls) else "none"


def _node_keys(trace: Trace) -> tuple[I64, I64]:
    """(process, correlation id) of every row that ran inside a graph traced by node."""
    tables = (trace.kernels, trace.copies, trace.memsets)
    inside = [table.graph_node != NULL for table in tables]
    processes = np.concatenate([t.process[rows] for t, rows in zip(tables, inside, strict=True)])
    return processes, np.concatenate([t.correlation[rows] for t, rows in zip(tables, inside, strict=True)])


def _coverage(trace: Trace, launches: RuntimeCalls, nodes: tuple[I64, I64]) -> tuple[GraphCoverage, ...]:
    graphs, keys = trace.graph_launches, (launches.process, launches.correlation)
    by_node = join_index(keys, nodes) >= 0
    opaque = (join_index(keys, (graphs.process, graphs.correlation)) >= 0) & ~by_node
    alone = join_index((graphs.process, graphs.correlation), nodes) < 0
    processes = np.concatenate([launches.process, graphs.process])
    first, _ = group_rows(processes)
    found = []
    for process in sorted(processes[first].tolist()):
        mine = launches.process == process
        count = int(mine.sum())
        with_nodes, without = int((mine & by_node).sum()), int((mine & opaque).sum())
        found.append(
            GraphCoverage(
                process=process,
                launches=count,
                opaque=without,
                by_node=with_nodes,
                uncovered=count - with_nodes - without,
                opaque_rows=int((alone & (graphs.process == process)).sum()),
                uncovered_ns=launches.start_ns[mine & ~by_node & ~opaque],
            )
        )
    return tuple(found)
