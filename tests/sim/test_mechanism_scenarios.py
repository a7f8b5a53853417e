"""Scenarios made for one mechanism each: the mechanism is what holds things up, and nothing does without it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from critpath.sim import simulate
from critpath.sim.executed import EdgeKind, Op, OpKind, ProcessRun


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def bound_by(run: ProcessRun, kind: EdgeKind) -> list[Op]:
    return [op for op in run.ops if op.binding >= 0 and op.edges[op.binding].kind is kind]


def test_the_small_copy_waits_for_its_engine_and_compute_for_the_copy(tmp_path: Path) -> None:
    simulation = simulate("copy_engine_queue", tmp_path / "shared", steps=3)
    run = simulation.execution.runs[0]
    held = bound_by(run, EdgeKind.COPY_ENGINE)
    assert len(held) == 12
    assert all(op.edges[op.binding].producer.what.bytes == 33_554_432 for op in held)  # type: ignore[union-attr]
    assert {id(op.edges[op.binding].producer) for op in bound_by(run, EdgeKind.EVENT_WAIT)} >= {id(op) for op in held}
    free = simulate("copy_engine_queue", tmp_path / "free", steps=3, engines=False)
    assert not bound_by(free.execution.runs[0], EdgeKind.COPY_ENGINE)
    assert free.truth["job"]["step_times_ns"][1] < 0.7 * simulation.truth["job"]["step_times_ns"][1]


@pytest.mark.parametrize(("connections", "declared"), [(1, True), (0, False)])
def test_compute_waits_behind_the_head_of_its_queue(tmp_path: Path, connections: int, declared: bool) -> None:
    simulation = simulate("one_connection", tmp_path, steps=3, connections=connections)
    held = [op for op in bound_by(simulation.execution.runs[0], EdgeKind.QUEUE_ORDER) if op.kind is OpKind.COMPUTE]
    assert bool(held) is (connections == 1)
    assert {op.edges[op.binding].producer.kind for op in held} <= {OpKind.COMMUNICATION}
    variables = select(
        simulation.exports[0], "SELECT value FROM META_DATA_CAPTURE WHERE value LIKE 'CUDA_DEVICE_MAX_CONNECTIONS=%'"
    )
    assert variables == [("CUDA_DEVICE_MAX_CONNECTIONS=1",)] * declared


def test_a_launching_thread_waits_for_lock_batch_and_system(tmp_path: Path) -> None:
    simulation = simulate("host_locks", tmp_path, steps=3, scheduling=True)
    rows = select(
        simulation.exports[0],
        """SELECT value, min("end" - start) FROM OSRT_API JOIN StringIds ON StringIds.id = nameId
           WHERE globalTid & 16777215 = 91186 GROUP BY value ORDER BY value""",
    )
    assert [name for name, _ in rows] == ["mmap64", "pthread_cond_wait", "pthread_mutex_lock"]
    assert all(length_ns > 1_000_000 for _, length_ns in rows)
    blocks = {block for (block,) in select(simulation.exports[0], "SELECT threadBlock FROM SCHED_EVENTS")}
    assert blocks >= {6, 7}


def test_the_same_kernel_runs_longer_beside_communication(tmp_path: Path) -> None:
    simulation = simulate("contention", tmp_path, steps=3, factor=1.5)
    run = simulation.execution.runs[0]
    collectives = [(op.start_ns, op.end_ns) for op in run.ops if op.kind is OpKind.COMMUNICATION]
    beside, alone = [], []
    for op in run.ops:
        if op.kind is OpKind.COMPUTE:
            ratio = (op.end_ns - op.start_ns) / op.duration_ns
            if any(start <= op.start_ns and op.end_ns <= end for start, end in collectives):
                beside.append(ratio)
            elif all(op.end_ns <= start or end <= op.start_ns for start, end in collectives):
                alone.append(ratio)
    assert median(beside) == pytest.approx(1.5, rel=0.001)
    assert median(alone) == 1.0


def test_host_functions_and_early_kernels_have_no_rows_of_their_own(tmp_path: Path) -> None:
    simulation = simulate("unrecorded_waits", tmp_path, steps=3)
    run = simulation.execution.runs[0]
    assert len(bound_by(run, EdgeKind.HOST_CALLBACK)) == 12
    assert bound_by(run, EdgeKind.PROGRAMMATIC)
    path = simulation.exports[0]
    (overlaps,) = select(
        path,
        """SELECT count(*) FROM (SELECT start, lag("end") OVER (ORDER BY start) AS before
           FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE streamId = 7) WHERE start < before""",
    )[0]
    assert overlaps > 20
    (calls,) = select(
        path,
        """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON StringIds.id = nameId
           WHERE value LIKE 'cudaLaunchHostFunc%'""",
    )[0]
    assert calls == 12
    assert len(run.ops) == len(select(path, "SELECT 1 FROM CUPTI_ACTIVITY_KIND_KERNEL"))
