"""The capture section of reports on real exports, and on several inputs together."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from critpath.model.report import Report, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.render.text import text
from critpath.sim import simulate
from real_exports import FOLDER, needs_real_exports


@cache
def of(*names: str) -> Report:
    return analyze([next(FOLDER.glob(f"{name}*.sqlite")) for name in names])


@needs_real_exports
def test_messages_of_a_shell_reach_no_unit_and_stay_out_of_the_page() -> None:
    report = of("lm_train_wsl")
    helpers = [w for w in report.capture.warnings if w.scope == "helper"]
    assert {w.id for w in helpers} >= {"no-cuda-events", "cuda-not-started"}
    assert all(not w.constrains and not w.units for w in helpers)
    assert "No CUDA events collected" not in text(report)
    (process,) = report.capture.processes
    assert (process.completeness, process.units) == ("no adverse evidence", ["u0"])


@needs_real_exports
def test_a_message_at_severity_info_is_told_where_it_constrains() -> None:
    warnings = {w.id: w for w in of("gemm_incomplete").capture.warnings}
    assert warnings["cupti-buffers-missing"].severity == "info"
    assert "absence of device ops" in warnings["cupti-buffers-missing"].constrains
    assert "cupti-loaded" not in warnings


@needs_real_exports
def test_the_verdict_of_a_capture_without_device_rows_is_limited_by_what_is_missing() -> None:
    report = of("gemm_incomplete")
    row = next(g for g in report.guards if g.id == "P27")
    assert row.outcome == "limited"
    assert row.evidence.startswith("records of one process are missing for certain")
    assert report.capture.metrics == "absent"
    assert report.capture.runtime_link_rate is None
    assert unexplained_nulls(report) == []


@needs_real_exports
def test_the_two_rates_of_a_cut_capture() -> None:
    capture = of("h100").capture
    assert capture.runtime_link_rate == 2092 / 4368
    assert capture.source_link_rate == 0.0
    assert capture.event_trace is False
    assert [m.table for m in capture.missing] == ["TARGET_INFO_GPU"]
    assert next(p.id for p in capture.partial if not p.optional) == "waits-without-records"


@needs_real_exports
def test_application_overhead_stands_apart_from_the_profilers() -> None:
    capture = of("torch_tiny").capture
    owners = {row.kind: row.owner for row in capture.overhead}
    assert {"application", "profiler"} >= set(owners.values())
    own = [row.ms for row in capture.overhead if row.owner == "profiler"]
    assert capture.profiler_overhead_recorded_ms is not None
    assert max(own, default=0.0) <= capture.profiler_overhead_recorded_ms <= sum(own) + 1e-9


@needs_real_exports
def test_several_captures_are_told_together() -> None:
    report = of("mfu_2gpu_before", "power_iteration", "no_cuda")
    assert {w.input for w in report.capture.warnings if w.constrains} == {1, 2}
    assert {m.input for m in report.capture.missing} == {0, 1, 2}
    assert report.capture.graph_mode == "unknown"  # one of them has no API call to tell
    assert violations(report) == []
    assert unexplained_nulls(report) == []


def test_equal_messages_of_many_ranks_take_one_line(tmp_path: Path) -> None:
    simulation = simulate("data_parallel", tmp_path, ranks=4)
    for path in simulation.exports:
        with sqlite3.connect(path) as db:
            pid = db.execute("SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1").fetchone()[0]
            told = "Not all CUDA events might have been collected."
            db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 3, 2, ?, ?)", (told, pid))
        db.close()
    report = analyze(simulation.exports)
    assert [w.units for w in report.capture.warnings if w.id == "cuda-events-incomplete"] == [
        [f"u{i}"] for i in range(4)
    ]
    assert text(report).count("Not all CUDA events") == 1
    assert "(4 ×) warning: Not all CUDA events might have been collected." in text(report)
    assert {p.completeness for p in report.capture.processes} == {"possible loss"}


def test_overhead_without_any_row_is_unknown(tmp_path: Path) -> None:
    report = analyze(simulate("data_parallel", tmp_path, ranks=1).exports)
    assert report.capture.profiler_overhead_recorded_ms is None
    assert any(e.path == "capture.profiler_overhead_recorded_ms" for e in report.unavailable)
    flushed = analyze(simulate("boundary_flush", tmp_path / "flush").exports)
    assert flushed.capture.profiler_overhead_recorded_ms is not None
