"""Why compute was absent, against what the execution knows, and every dependency against the edges it had."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from critpath.ingest.trace import read_trace
from critpath.model.taxonomy import Taxonomy
from critpath.rank.edges import EDGE_KINDS, edges
from critpath.rank.process_facts import process_facts
from critpath.sim import GENERATIONS, scenario_names, simulate
from critpath.sim.scenarios import scenario_named
from truth.absences import Compared, compared, same_windows

SEEDS = range(1, 21) if os.environ.get("CRITPATH_EXAM") else range(1, 4)
MODELLED = [name for name in scenario_names() if scenario_named(name).has_steps and scenario_named(name).faithful]


def _assert_true(case: Compared) -> None:
    absence = case.unit.absence
    assert absence is not None
    found, true = case.found_buckets(), case.true_buckets()
    assert sum(found.values()) == case.absent_ns
    assert case.worst(found, true) <= 0.01, (found, true)
    classes = case.true_inside("blocking", "by_class")
    assert case.worst(absence.by_class, classes) <= 0.02, (absence.by_class, classes)
    assert sum(absence.starved.values()) == found["launch_starved"]
    assert sum(absence.by_class.values()) == found["blocking"]
    assert sum(absence.by_reason.values()) == found["dependency_stalled"]
    assert sum(ns for _, ns, _ in absence.causes) == found["launch_starved"]


def _causes(case: Compared) -> tuple[dict[str, int], dict[str, int]]:
    """Host causes found and true; a thread that computes and an unknown one can't be told apart without OS rows."""
    absence = case.unit.absence
    assert absence is not None
    found: Counter[str] = Counter()
    for cause, ns, _ in absence.causes:
        name = "cpu" if cause.cause == "unknown" else cause.cause
        found[f"{name}:{cause.waits_on}" if cause.waits_on else name] += ns
    return dict(found), case.true_inside("launch_starved", "by_host_cause")


@pytest.mark.parametrize(
    "scenario",
    ["data_parallel", "fsdp_offload", "launch_bound", "host_sync", "polling", "host_locks", "tensor_parallel"],
)
def test_host_causes_are_true(scenario: str, tmp_path: Path) -> None:
    for case in compared(simulate(scenario, tmp_path)):
        found, true = _causes(case)
        assert case.worst(found, true) <= 0.02, (found, true)


def _other(case: Compared) -> bool:
    """Whether a mechanism that the analysis doesn't model took part."""
    inside = [*case.true_inside("blocking", "by_class"), *case.true_inside("dependency_stalled", "by_reason")]
    starved = [key for w in case.windows for key, ns in w["absent"]["launch_starved"].items() if ns]
    return any(label.startswith("other:") for label in (*inside, *starved))


def _assert_nothing_confident(case: Compared) -> None:
    """What the analysis doesn't model ends as an unknown stall: no proven bucket takes more than is truly its own."""
    absence = case.unit.absence
    assert absence is not None
    found, true = case.found_buckets(), case.true_buckets()
    assert sum(found.values()) == case.absent_ns
    allowed = 0.02 * case.absent_ns
    classes = case.true_inside("blocking", "by_class")
    behind_heads = sum(ns for label, ns in absence.by_class.items() if label.startswith("queue:"))
    held_in_queue = case.true_inside("dependency_stalled", "by_reason").get("other:queue_order", 0)
    assert found["launch_starved"] <= true["launch_starved"] + allowed
    assert found["blocking"] - behind_heads <= true["blocking"] + allowed
    assert behind_heads <= held_in_queue + classes.get("other:queue_order", 0) + allowed
    for label, ns in absence.by_class.items():
        assert label.startswith("queue:") or ns <= classes.get(label, 0) + allowed, label


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", MODELLED)
def test_buckets_and_classes_are_true(scenario: str, seed: int, tmp_path: Path) -> None:
    for case in compared(simulate(scenario, tmp_path, seed=seed)):
        if not same_windows(case):
            continue
        if _other(case):
            _assert_nothing_confident(case)
        else:
            _assert_true(case)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("scenario", ["data_parallel", "fsdp_offload", "deep_relay", "launch_bound"])
def test_every_generation_tells_the_same(scenario: str, generation: str, tmp_path: Path) -> None:
    for case in compared(simulate(scenario, tmp_path, generation=generation)):
        _assert_true(case)


@pytest.mark.parametrize("scenario", ["data_parallel", "fsdp_offload", "deep_relay"])
def test_reused_handles_without_sync_ids_are_told_apart(scenario: str, tmp_path: Path) -> None:
    for case in compared(simulate(scenario, tmp_path, event_sync_ids=False)):
        _assert_true(case)


@pytest.mark.parametrize("graph_trace", ["node", "graph"])
def test_graphs_are_true_in_both_trace_modes(graph_trace: str, tmp_path: Path) -> None:
    for case in compared(simulate("launch_bound", tmp_path, graphs=True, steps=30, graph_trace=graph_trace)):
        _assert_true(case)


def _true_edges(simulation_ops: dict[str, Any], report: int, pid: int) -> set[tuple[int, ...]]:
    """(op, producer, wait on the op's own stream, its record) of every event edge of a process, by correlation ids."""
    ops, rows = simulation_ops["ops"], simulation_ops["edges"]
    found = set()
    for i, op in enumerate(rows["op"]):
        producer = rows["producer"][i]
        if rows["kind"][i] == "event_wait" and ops["report"][op] == report and ops["pid"][op] == pid:
            wait, record = rows["path"][i][0]
            found.add((ops["correlation_id"][op], ops["correlation_id"][producer], wait, record))
    return found


@pytest.mark.parametrize("sync_ids", [True, False])
@pytest.mark.parametrize("scenario", ["data_parallel", "fsdp_offload", "deep_relay", "two_processes_one_gpu_ids"])
def test_event_edges_are_those_of_the_execution(scenario: str, sync_ids: bool, tmp_path: Path) -> None:
    simulation = simulate(scenario, tmp_path, event_sync_ids=sync_ids)
    true_ops = json.loads(simulation.causes_path.read_text(encoding="utf-8"))
    right = wrong = missed = 0
    for report, path in enumerate(simulation.exports):
        trace = read_trace(path)
        for process in sorted(set(trace.kernels.process.tolist())):
            facts = process_facts(trace, process, Taxonomy.bundled())
            table = edges(facts)
            rows = np.flatnonzero(table.kind == EDGE_KINDS.index("event_wait"))
            correlation = facts.ops.correlation
            found = set(
                zip(
                    correlation[table.op[rows]].tolist(),
                    correlation[table.producer[rows]].tolist(),
                    table.wait[rows].tolist(),
                    table.record[rows].tolist(),
                    strict=True,
                )
            )
            true = _true_edges(true_ops, report, process & 0xFFFFFF)
            right += len(found & true)
            wrong += len(found - true)
            missed += len(true - found)
    assert right > 0
    assert right / (right + wrong) >= 0.999, (right, wrong)
    assert right / (right + missed) >= 0.99, (right, missed)


def test_one_hardware_queue_is_told_as_an_inferred_upper_bound(tmp_path: Path) -> None:
    for case in compared(simulate("one_connection", tmp_path)):
        absence = case.unit.absence
        assert absence is not None
        held = case.true_inside("dependency_stalled", "by_reason")["other:queue_order"]
        behind = absence.by_class["queue:copy_h2d"] + absence.by_reason.get("queue_order", 0)
        assert abs(behind - held) <= 0.02 * case.absent_ns
        assert absence.inferred_blocking


def test_without_event_records_nothing_is_blocked_without_an_edge(tmp_path: Path) -> None:
    import sqlite3  # noqa: PLC0415

    simulation = simulate("data_parallel", tmp_path, ranks=2)
    for path in simulation.exports:
        db = sqlite3.connect(path)
        db.execute("DELETE FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT")
        db.commit()
        db.close()
    for case in compared(simulation):
        absence = case.unit.absence
        assert absence is not None
        assert absence.unresolved_share == 1.0
        assert absence.by_class.get("nccl", 0) == 0, "NCCL runs on a side stream: only an event could tie it"
        assert case.true_inside("blocking", "by_class").get("nccl", 0) > 0
        assert sum(case.found_buckets().values()) == case.absent_ns
