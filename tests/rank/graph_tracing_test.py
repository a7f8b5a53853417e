from __future__ import annotations

import pytest

from critpath.rank.capture import capture_quality
from critpath.rank.graph_tracing import GraphCoverage, graph_tracing
from rank.traces import OTHER_RANK, RANK, TraceBuilder

GRAPH_LAUNCH = "cudaGraphLaunch_v10000"


def test_753_graph_rows_cover_no_more_than_753_of_4183_launches() -> None:
    trace = TraceBuilder()
    for launch in range(4183):
        correlation = trace.call(GRAPH_LAUNCH)
        if launch < 753:
            trace.graph(correlation)
    tracing = graph_tracing(trace.build())
    (coverage,) = tracing.coverage
    assert tracing.mode == "graph"
    assert (coverage.covered, coverage.uncovered, coverage.launches) == (753, 3430, 4183)
    quality = capture_quality(trace.build())
    (uncovered,) = [g for g in quality.gaps if g.id == "graphs-uncovered"]
    assert uncovered.text.startswith("3,430 of 4,183 graph launches left no device row at all")
    assert "device time" in quality.constrained()


def test_many_nodes_of_one_launch_cover_one_launch() -> None:
    trace = TraceBuilder()
    correlation = trace.call("cuGraphLaunch")
    for node in range(200):
        trace.kernel(correlation, graph_node=node)
    tracing = graph_tracing(trace.build())
    assert tracing.mode == "node"
    assert tracing.coverage == (GraphCoverage(RANK, launches=1, opaque=0, by_node=1, uncovered=0, opaque_rows=0),)


def test_a_launch_with_both_kinds_of_rows_is_one_launch_with_known_inside() -> None:
    trace = TraceBuilder()
    correlation = trace.call(GRAPH_LAUNCH)
    trace.kernel(correlation, graph_node=3)
    trace.graph(correlation)
    tracing = graph_tracing(trace.build())
    assert tracing.mode == "mixed"
    assert tracing.coverage == (GraphCoverage(RANK, launches=1, opaque=0, by_node=1, uncovered=0, opaque_rows=0),)


def test_coverage_is_counted_by_process_since_correlation_ids_collide() -> None:
    trace = TraceBuilder()
    first = trace.call(GRAPH_LAUNCH, RANK)
    trace.graph(first, OTHER_RANK)
    mine, other = graph_tracing(trace.build()).coverage
    assert (mine.process, mine.launches, mine.uncovered) == (RANK, 1, 1)
    assert (other.process, other.launches, other.opaque_rows) == (OTHER_RANK, 0, 1)


def test_no_graph_launch_among_calls_means_none_and_no_calls_mean_unknown() -> None:
    trace = TraceBuilder()
    trace.launch()
    assert graph_tracing(trace.build()).mode == "none"
    silent = TraceBuilder()
    silent.kernel(correlation=4)
    assert graph_tracing(silent.build()).mode == "unknown"


def test_launches_without_rows_leave_the_mode_unknown() -> None:
    trace = TraceBuilder(options={"CUDA_GRAPH_TRACE_OPTIONS:MODE": "Graph"})
    trace.call(GRAPH_LAUNCH)
    tracing = graph_tracing(trace.build())
    assert (tracing.mode, tracing.configured) == ("unknown", "graph")


@pytest.mark.parametrize("name", ["cudaGraphInstantiate_v12000", "cudaGraphExecKernelNodeSetParams_v11000"])
def test_other_graph_functions_launch_nothing(name: str) -> None:
    trace = TraceBuilder()
    trace.call(name)
    assert graph_tracing(trace.build()).coverage == ()
