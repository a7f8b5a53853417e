"""P19: the profiler had no permission to read counters; the times are all there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.traps import Trap

DENIED = "Illegal --gpu-metrics-devices argument: all. Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM"


def denied(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 2, 3, ?, ?)", (DENIED, -144115188075855872))


def test_a_denied_permission_is_no_failure_of_the_workload(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2, edit=denied)
    errors = trap.rows("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity = 3")[0][0]
    tables = {row[0] for row in trap.rows("SELECT name FROM sqlite_master")}
    naive_usable = sum(not errors for _ in trap.simulation.exports)

    assert naive_usable == 0
    assert "GPU_METRICS" not in tables
    report = trap.report
    assert report.capture.ranks_captured == len(trap.simulation.exports) == 2
    for index, unit in enumerate(report.units):
        assert unit.budget is not None
        assert unit.budget.compute_busy.mean_ms == pytest.approx(trap.mean_ms("compute_busy_ns", index), abs=1e-6)
    assert report.verdict.dominant.bucket == "compute"


def test_what_was_denied_is_null_and_not_zero(tmp_path: Path) -> None:
    report = Trap("data_parallel", tmp_path, ranks=2, edit=denied).report
    assert report.capture.metrics == "denied"
    assert all(unit.metrics is None for unit in report.units)
    (reason,) = [entry.reason for entry in report.unavailable if entry.path == "units[].metrics"]
    assert "not permitted" in reason
    (warning,) = [w for w in report.capture.warnings if w.input == 0 and "privilege" in w.text]
    assert (warning.severity, warning.constrains) == ("error", ["metrics"])
    row = next(g for g in report.guards if g.id == "P19")
    assert row.outcome == "limited"
    assert "no fault of the workload: times of 2 units are analysed" in row.evidence


def test_without_the_message_metrics_are_absent_and_not_denied(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2)
    assert trap.report.capture.metrics == "absent"
    assert trap.guard("P19").outcome == "not-applicable"
