"""Scenarios made for one misreading each: what they promise holds in what they write."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import Simulation, simulate
from critpath.sim.executed import EdgeKind, Op, OpKind


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def bound_by(simulation: Simulation, kind: EdgeKind) -> list[Op]:
    """Ops of the first process whose start an edge of this kind set."""
    return [op for op in simulation.execution.runs[0].ops if op.binding >= 0 and op.edges[op.binding].kind is kind]


def budgets(simulation: Simulation) -> list[dict[str, int]]:
    return [window["budget"] for window in simulation.truth["units"][0]["windows"]["period"]]


def test_deep_relay_reaches_its_collective_through_every_relay(tmp_path: Path) -> None:
    simulation = simulate("deep_relay", tmp_path, steps=3, depth=5)
    held = [op for op in bound_by(simulation, EdgeKind.EVENT_WAIT) if op.kind is OpKind.COMPUTE]
    assert held
    for op in held:
        edge = op.edges[op.binding]
        assert edge.producer.kind is OpKind.COMMUNICATION
        assert len(edge.via) == 6
    handles = select(simulation.exports[0], "SELECT DISTINCT eventId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    records = select(simulation.exports[0], "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT")[0][0]
    assert len(handles) == 2 < records


def test_a_relay_that_runs_for_long_does_not_collect_its_waits(tmp_path: Path) -> None:
    simulation = simulate("deep_relay", tmp_path, steps=12, ranks=1)
    last = [op for op in bound_by(simulation, EdgeKind.EVENT_WAIT) if op.kind is OpKind.COMPUTE][-1]
    assert sum(edge.kind is EdgeKind.EVENT_WAIT for edge in last.edges) == 1


def test_copy_gap_s_copy_covers_the_gap_and_holds_nobody(tmp_path: Path) -> None:
    simulation = simulate("copy_gap", tmp_path, steps=3)
    run = simulation.execution.runs[0]
    held = [op for op in bound_by(simulation, EdgeKind.EVENT_WAIT) if op.kind is OpKind.COMPUTE]
    assert {op.edges[op.binding].producer.kind for op in held} == {OpKind.COMMUNICATION}
    copies = [op for op in run.ops if op.kind is OpKind.COPY]
    producers = {id(edge.producer) for op in run.ops if op.kind is OpKind.COMPUTE for edge in op.edges}
    assert not producers & {id(op) for op in copies}
    for window in budgets(simulation):
        assert window["exposed_comm_ns"] < 0.15 * window["comm_busy_ns"]
        assert window["compute_absent_ns"] > 0.5 * window["iteration_ns"]


def test_late_launch_collective_is_exposed_and_blocks_nothing(tmp_path: Path) -> None:
    simulation = simulate("late_launch_collective", tmp_path, steps=3)
    held = [op for op in bound_by(simulation, EdgeKind.EVENT_WAIT) if op.kind is OpKind.COMPUTE]
    assert not held
    for window in budgets(simulation):
        assert window["exposed_comm_ns"] > 0.5 * window["iteration_ns"]


def test_only_the_pageable_copy_holds_the_host(tmp_path: Path) -> None:
    simulation = simulate("pageable_default_stream", tmp_path, steps=2)
    rows = select(
        simulation.exports[0],
        """SELECT c.srcKind, c.streamId, r."end" >= c."end", r."end" - r.start > c."end" - c.start
           FROM CUPTI_ACTIVITY_KIND_MEMCPY c JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)""",
    )
    assert Counter(rows) == {(0, 7, 1, 1): 8, (1, 14, 0, 0): 8}
    kinds = {op.edges[op.binding].kind for op in simulation.execution.runs[0].ops if op.binding >= 0}
    assert EdgeKind.LEGACY_STREAM in kinds


@pytest.mark.parametrize("trace", ["node", "graph"])
def test_decoding_is_one_launch_for_hundreds_of_kernels(tmp_path: Path, trace: str) -> None:
    simulation = simulate("inference_graphs", tmp_path, steps=3, graph_trace=trace)
    (launches,) = select(
        simulation.exports[0],
        """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
           WHERE value LIKE 'cudaGraphLaunch%'""",
    )[0]
    (kernels,) = select(simulation.exports[0], "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    assert (launches, kernels) == (3, 3 * 3 + 3 * 200 * (trace == "node"))
    for window in budgets(simulation):
        assert window["device_idle_ns"] > 0.3 * window["iteration_ns"]


def test_a_poll_returns_600_until_the_copy_has_ended(tmp_path: Path) -> None:
    simulation = simulate("polling", tmp_path, steps=2)
    results = select(
        simulation.exports[0],
        """SELECT returnValue, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
           WHERE value LIKE 'cudaEventQuery%' GROUP BY returnValue""",
    )
    found = dict(results)
    assert found[0] == 10
    assert found[600] > 100
    (rows,) = select(
        simulation.exports[0],
        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE streamId = 4294967295 AND eventId = 77",
    )[0]
    assert rows == found[0] + found[600]


def test_a_spin_on_mapped_memory_waits_as_long_without_a_row(tmp_path: Path) -> None:
    polled = simulate("polling", tmp_path / "polled", steps=3)
    spun = simulate("polling", tmp_path / "spun", steps=3, mapped=True)
    pairs = zip(polled.truth["job"]["step_times_ns"], spun.truth["job"]["step_times_ns"], strict=True)
    for first_ns, second_ns in pairs:
        assert abs(first_ns - second_ns) < 0.05 * first_ns
    assert not select(
        spun.exports[0], "SELECT value FROM StringIds WHERE value LIKE 'cudaEventQuery%' OR value LIKE 'cudaEventSync%'"
    )


@pytest.mark.parametrize(("generation", "there"), [("2025.3", False), ("2026.2", True)])
def test_a_full_queue_makes_long_calls_on_a_busy_device(tmp_path: Path, generation: str, there: bool) -> None:
    simulation = simulate("queue_full", tmp_path, generation=generation)
    for window in budgets(simulation)[1:]:
        assert window["device_busy_ns"] > 0.95 * window["iteration_ns"]
    calls = simulation.execution.runs[0].calls
    (launches,) = calls.values()
    assert sum(call.end_ns - call.start_ns > 30_000 for call in launches) > 600
    tables = select(simulation.exports[0], "SELECT name FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_OVERHEAD'")
    assert bool(tables) is there
    if there:
        kinds = select(
            simulation.exports[0], "SELECT DISTINCT overheadType, eventClass FROM CUPTI_ACTIVITY_KIND_OVERHEAD"
        )
        assert kinds == [(8, 103)]


def test_a_slice_leaves_kernels_without_launches_and_no_earlier_rows(tmp_path: Path) -> None:
    simulation = simulate("sliced_capture", tmp_path)
    path = simulation.exports[0]
    (orphans,) = select(
        path,
        """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL
           WHERE correlationId NOT IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME)""",
    )[0]
    assert orphans > 5
    steps = simulation.truth["units"][0]["steps"]
    cut_ns = steps[2]["start_ns"] + 300_000
    assert select(path, "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME")[0][0] >= cut_ns
    assert select(path, 'SELECT min("end") FROM CUPTI_ACTIVITY_KIND_KERNEL')[0][0] >= cut_ns
    assert simulation.truth["spoiled"] == [{"kind": "Slice", "step": 2, "after_ns": 300_000}]
    assert len(steps) == 8
    causes = json.loads(simulation.causes_path.read_text(encoding="utf-8"))
    assert len(causes["ops"]["start_ns"]) > select(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
