"""P21: many kernels behind one launch, graphs without kernel rows, and launches without any row."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.traps import Trap, materially, union_ms

KERNEL, GRAPH = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
CALLS = "SELECT r.start FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds ON id = r.nameId WHERE value LIKE ?"


def inside(trap: Trap, starts: list[tuple[int]]) -> int:
    return sum(w["start_ns"] <= start < w["end_ns"] for (start,) in starts for w in trap.windows())


def traced(folder: Path, **options: object) -> Trap:
    return Trap("launch_bound", folder, ranks=1, graphs=True, **options)


def test_one_launch_call_issues_many_kernels(tmp_path: Path) -> None:
    trap = traced(tmp_path)
    naive = inside(trap, trap.rows(f"SELECT start FROM {KERNEL} WHERE graphNodeId IS NOT NULL"))
    steps = len(trap.simulation.truth["units"][0]["steps"])
    launches = 40 * len(trap.windows())

    assert naive / len(trap.windows()) == 200  # a launch for each kernel that ran in a graph
    assert len(trap.rows(CALLS, "cudaGraphLaunch%")) == 40 * steps
    graphs, coverage = trap.unit().graphs, trap.report.capture.graph_coverage
    assert graphs is not None and coverage is not None
    assert (graphs.launches, graphs.uncovered, graphs.opaque) == (launches, 0, 0)
    assert graphs.node_ops == naive
    assert trap.report.capture.graph_mode == "node"
    assert coverage.launches == coverage.covered == coverage.by_node
    row = trap.guard("P21")
    assert row.outcome == "limited"  # in node mode too
    assert f"{naive} ops share their launch calls" in row.evidence


def test_a_graph_without_kernel_rows_is_busy(tmp_path: Path) -> None:
    trap = traced(tmp_path, graph_trace="graph")
    true_ms = trap.mean_ms("device_idle_ns")
    kernels = trap.rows(f'SELECT start, "end" FROM {KERNEL}')
    naive_ms = trap.mean_ms("iteration_ns") - union_ms(kernels, trap.windows())

    assert materially(naive_ms, true_ms)
    unit = trap.unit()
    assert unit.budget is not None and unit.graphs is not None
    assert unit.budget.device_idle.mean_ms == pytest.approx(true_ms, abs=1e-6)
    assert unit.budget.compute_busy.mean_ms == pytest.approx(trap.mean_ms("compute_busy_ns"), abs=1e-6)
    opaque = trap.rows(f'SELECT start, "end" FROM {GRAPH}')
    assert unit.graphs.opaque_ms == pytest.approx(union_ms(opaque, trap.windows()), abs=1e-6)
    assert trap.report.capture.graph_mode == "graph"
    row = trap.guard("P21")
    assert row.outcome == "limited"
    assert f"{unit.graphs.opaque_ms:.2f} ms an iteration busy and unknown inside" in row.evidence


def no_kernels(db: sqlite3.Connection) -> None:
    db.execute(f"DROP TABLE {KERNEL}")


def test_without_any_kernel_row_nothing_is_idle_while_a_graph_runs(tmp_path: Path) -> None:
    trap = traced(tmp_path, graph_trace="graph", edit=no_kernels)
    unit = trap.unit()
    assert unit.budget is not None and unit.window is not None and unit.graphs is not None
    windows = [{"start_ns": start, "end_ns": end} for start, end in unit.window.edges_ns]
    busy_ms = union_ms(trap.rows(f'SELECT start, "end" FROM {GRAPH}'), windows)

    assert unit.budget.compute_busy.mean_ms == 0.0  # what a tool that knows kernels only calls an idle device
    assert busy_ms > 0
    assert unit.budget.device_busy.mean_ms >= busy_ms
    assert unit.graphs.opaque_ms == pytest.approx(busy_ms, abs=1e-6)
    assert trap.report.verdict.dominant.bucket != "compute"
    assert trap.report.capture.missing[0].table == KERNEL
    assert trap.guard("P21").outcome == "limited"


def mostly_uncovered(db: sqlite3.Connection) -> None:
    """753 of 4,183 launches, in proportion: 18 of 100 keep their row."""
    db.execute(f"DELETE FROM {GRAPH} WHERE rowid % 50 >= 9")


def test_graph_rows_do_not_prove_that_every_launch_left_one(tmp_path: Path) -> None:
    trap = traced(tmp_path, graph_trace="graph", edit=mostly_uncovered)
    true_ms = trap.mean_ms("device_idle_ns")
    rows = trap.rows(f'SELECT start, "end" FROM {KERNEL} UNION ALL SELECT start, "end" FROM {GRAPH}')
    naive_ms = trap.mean_ms("iteration_ns") - union_ms(rows, trap.windows())
    launches, kept = len(trap.rows(CALLS, "cudaGraphLaunch%")), len(trap.rows(f"SELECT 1 FROM {GRAPH}"))

    assert materially(naive_ms, true_ms)
    assert kept < 0.2 * launches
    report, graphs, coverage = trap.report, trap.unit().graphs, trap.report.capture.graph_coverage
    assert graphs is not None and coverage is not None
    assert (coverage.launches, coverage.covered) == (launches, kept)
    assert graphs.launches == 40 * len(trap.windows())
    assert graphs.uncovered > 0.75 * graphs.launches
    assert report.verdict.dominant.bucket == "inconclusive"
    assert "left no device row, so when the device worked is unknown" in report.verdict.headline
    row = trap.guard("P21")
    assert row.outcome == "limited"
    assert f"{graphs.uncovered} left no row, so idle time and compute absent are upper bounds" in row.evidence
    assert f"{kept} of {launches} launches of the capture left rows" in row.evidence
    (partial,) = [p for p in report.capture.partial if p.id == "graphs-uncovered"]
    assert "device time" in partial.constrains


def test_graphs_without_any_device_row_are_no_idle_device(tmp_path: Path) -> None:
    def nothing_left(db: sqlite3.Connection) -> None:
        for table in (KERNEL, GRAPH, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
            db.execute(f"DROP TABLE IF EXISTS {table}")

    trap = traced(tmp_path, graph_trace="graph", edit=nothing_left)
    assert trap.report.units == []
    assert trap.report.verdict.dominant.bucket == "inconclusive"
    row = trap.guard("P21")
    assert row.outcome == "limited"
    assert "no device was thereby idle" in row.evidence


def test_without_graphs_the_guard_has_nothing_to_say(tmp_path: Path) -> None:
    trap = Trap("launch_bound", tmp_path, ranks=1)
    assert trap.report.capture.graph_mode == "none"
    assert trap.guard("P21").outcome == "not-applicable"
