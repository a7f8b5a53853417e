"""Graph launches, traced by node and by graph."""

from __future__ import annotations

import pytest

from critpath.sim.executed import EdgeKind, Execution, OpKind
from critpath.sim.instructions import Collective, Communicator, Graph, GraphLaunch, GraphNode, Memset
from critpath.sim.program import Costs
from critpath.sim.traced import shown_as, traced_ops
from sim.tiny import COMPUTE, NCCL, A, B, kernel, ops, record, run, wait

# A diamond: 0 → {1, 2} → 3
DIAMOND = Graph(
    3,
    5,
    (
        GraphNode(COMPUTE, 10),
        GraphNode(COMPUTE, 20, (0,)),
        GraphNode(COMPUTE, 50, (0,), stream=B),
        GraphNode(COMPUTE, 5, (1, 2)),
    ),
)


def launch(graph: Graph) -> GraphLaunch:
    return GraphLaunch(A, graph, 1, 10)


def node_spans(done: Execution) -> list[tuple[int, int]]:
    return [(op.start_ns, op.end_ns) for op in traced_ops(done.runs[0], "node")]


def test_nodes_follow_the_graph_and_not_the_stream() -> None:
    # A   [0: 10-20][1: 20-40]      [3: 70-75]
    # B             [2: 20 ..... 70]
    done = run(launch(DIAMOND))
    assert node_spans(done) == [(10, 20), (20, 40), (20, 70), (70, 75)]
    last = traced_ops(done.runs[0], "node")[3]
    assert [edge.kind for edge in last.edges] == [EdgeKind.GRAPH_ORDER] * 2
    assert last.edges[last.binding].producer.node == 2


def test_all_nodes_share_the_launch() -> None:
    done = run(launch(DIAMOND))
    assert {op.correlation for op in traced_ops(done.runs[0], "node")} == {1_201}
    assert len(done.runs[0].calls[100]) == 1


def test_by_graph_a_launch_is_one_op_from_first_to_last_node() -> None:
    done = run(launch(DIAMOND), kernel(A, 5))
    graph, after = traced_ops(done.runs[0], "graph")
    assert (graph.kind, graph.start_ns, graph.end_ns) == (OpKind.GRAPH, 10, 75)
    assert (after.start_ns, shown_as(after.edges[0].producer, "graph")) == (75, graph)


def test_by_node_what_follows_a_graph_follows_its_last_node() -> None:
    done = run(launch(DIAMOND), kernel(A, 5))
    after = ops(done)[-1]
    assert shown_as(after.edges[0].producer, "node").node == 3


def test_a_graph_waits_for_what_its_stream_waits_for() -> None:
    # B [k: 10-110], A waits for it, then the graph: first node at 110
    done = run(kernel(B, 100), record(B, 1), wait(A, 1), launch(DIAMOND))
    assert node_spans(done)[1] == (110, 120)


def test_launches_of_one_graph_follow_each_other_across_streams() -> None:
    chain = Graph(3, 5, (GraphNode(COMPUTE, 100),))
    done = run(GraphLaunch(A, chain, 1, 10), GraphLaunch(B, chain, 1, 10))
    assert node_spans(done) == [(10, 110), (110, 210)]


def test_the_gap_between_nodes_is_the_machine_s_own() -> None:
    chain = Graph(3, 5, (GraphNode(COMPUTE, 10), GraphNode(COMPUTE, 10, (0,))))
    assert node_spans(run(launch(chain), costs=Costs(node_gap_ns=4))) == [(10, 20), (24, 34)]


def test_a_graph_may_hold_collectives_and_memsets() -> None:
    part = Collective(Communicator("dp", 1), "all_reduce", 8, 30)
    graph = Graph(3, 5, (GraphNode(Memset(A, 8, 0), 4), GraphNode(NCCL, 0, (0,), collective=part)))
    done = run(launch(graph))
    assert node_spans(done) == [(10, 14), (14, 44)]
    assert [op.kind for op in traced_ops(done.runs[0], "node")] == [OpKind.MEMSET, OpKind.COMMUNICATION]


@pytest.mark.parametrize("trace", ["node", "graph"])
def test_no_work_is_shown_twice(trace: str) -> None:
    done = run(launch(DIAMOND), launch(DIAMOND))
    shown = traced_ops(done.runs[0], trace)
    assert len(shown) == (8 if trace == "node" else 2)
