"""The causal record as columns."""

from __future__ import annotations

from typing import Any

from critpath.sim.causes import causal_record
from critpath.sim.execute import execute
from critpath.sim.instructions import Graph, GraphLaunch, GraphNode, Instruction
from sim.tiny import COMPUTE, A, B, collective, job_of, kernel, process, record, thread, wait


def recorded(*instructions: Instruction, graph_trace: str = "node") -> Any:
    return causal_record(execute(job_of(process(thread(*instructions)), graph_trace=graph_trace)))


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def test_ops_and_edges_name_each_other() -> None:
    found = recorded(kernel(A, 100), record(A, 1), wait(B, 1), kernel(B, 20))
    first, second = rows(found["ops"])
    (edge,) = rows(found["edges"])
    assert (first["correlation_id"], first["bound_by"], first["start_ns"]) == (1_201, -1, 10)
    assert (second["stream"], second["bound_by"], second["ready_ns"], second["start_ns"]) == (16, 0, 13, 110)
    assert edge == {
        "op": 1,
        "kind": "event_wait",
        "producer": 0,
        "producer_end_ns": 110,
        "delay_ns": 0,
        "wait_correlation_id": 1_203,
        "record_correlation_id": 1_202,
        "path": ((1_203, 1_202),),
    }


def test_a_collective_names_the_part_that_came_last() -> None:
    done = execute(
        job_of(process(thread(collective(A, 2, 50))), process(thread(kernel(A, 500), collective(A, 2, 50)), rank=1))
    )
    found: Any = causal_record(done)
    (meeting,) = found["collectives"]
    assert (meeting["ops"], meeting["last"], meeting["transfer_ns"]) == ([0, 2], 2, 50)
    peers = [edge for edge in rows(found["edges"]) if edge["kind"] == "collective_peer"]
    assert [(edge["op"], edge["producer"], edge["producer_end_ns"]) for edge in peers] == [(0, 2, 510)]


def test_only_ops_that_the_capture_shows_have_entries() -> None:
    graph = Graph(3, 5, (GraphNode(COMPUTE, 10), GraphNode(COMPUTE, 10, (0,))))
    by_node = recorded(GraphLaunch(A, graph, 1, 10), kernel(A, 5))
    by_graph = recorded(GraphLaunch(A, graph, 1, 10), kernel(A, 5), graph_trace="graph")
    assert [op["kind"] for op in rows(by_node["ops"])] == ["compute"] * 3
    assert [op["kind"] for op in rows(by_graph["ops"])] == ["graph", "compute"]
    assert [(e["op"], e["producer"]) for e in rows(by_node["edges"])] == [(1, 0), (2, 1)]
    assert [(e["op"], e["producer"]) for e in rows(by_graph["edges"])] == [(1, 0)]


def test_bound_by_points_at_the_edge_that_set_the_start() -> None:
    found = recorded(kernel(A, 100), kernel(B, 50), record(A, 1), wait(B, 1), kernel(B, 5), kernel(B, 5))
    edges = rows(found["edges"])
    bound = [op["bound_by"] for op in rows(found["ops"])]
    assert bound[:2] == [-1, -1]
    assert (edges[bound[2]]["op"], edges[bound[2]]["kind"]) == (2, "event_wait")
    assert (edges[bound[3]]["op"], edges[bound[3]]["kind"]) == (3, "stream_order")
