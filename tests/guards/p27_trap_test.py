"""P27: lost events at severity info, processes without device rows, an unreadable section, a missing table."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from critpath.model.report import unexplained_nulls, violations
from guards.traps import Trap, materially, union_ms

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
SPANS = f'SELECT start, "end" FROM {KERNEL}'
INFO, WARNING = 1, 2


def says(db: sqlite3.Connection, text: str, global_pid: int, severity: int) -> None:
    db.execute("INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 3, ?, ?, ?)", (severity, text, global_pid))


def trainer(db: sqlite3.Connection) -> int:
    return int(db.execute(f"SELECT globalPid FROM {KERNEL} LIMIT 1").fetchone()[0])


def lossy(db: sqlite3.Connection) -> None:
    """A third of the kernels never got their times, and the profiler says so at severity info."""
    pid = trainer(db)
    lost = db.execute(f"DELETE FROM {KERNEL} WHERE rowid % 3 = 0").rowcount
    says(db, f"Number of incomplete CUPTI events dropped: {lost}", pid, INFO)


def test_lost_events_at_severity_info_take_claims_away(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=lossy)
    loud = trap.rows("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity IN (2, 3)")[0][0]
    naive_ms = trap.mean_ms("iteration_ns") - union_ms(trap.rows(SPANS), trap.windows())

    assert loud == 0
    assert materially(naive_ms, trap.mean_ms("device_idle_ns"))
    report = trap.report
    (warning,) = [w for w in report.capture.warnings if w.id == "cupti-records-dropped"]
    assert warning.severity == "info"
    assert warning.units == ["u0"]
    assert {"device time", "absence of device ops", "totals (lower bounds only)"} <= set(warning.constrains)
    (process,) = report.capture.processes
    assert process.completeness == "contradicted"
    assert process.dropped == warning.count
    row = trap.guard("P27")
    assert row.outcome == "limited"
    assert "are missing for certain" in row.evidence
    assert "totals (lower bounds only)" in row.evidence
    assert any(limit.guard == "P27" for limit in report.verdict.limits)


def test_a_counter_of_no_lost_records_limits_nothing(tmp_path: Path) -> None:
    trap = Trap(
        "data_parallel", tmp_path, ranks=1,
        edit=lambda db: says(db, "Number of incomplete CUPTI events dropped: 0", trainer(db), INFO),
    )  # fmt: skip
    assert trap.guard("P27").outcome == "held"


def seven_silent(db: sqlite3.Connection) -> None:
    """Seven more processes that made the same calls and left no device row."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({RUNTIME})")]
    for k in range(1, 8):
        told = ", ".join(f"globalTid + {k << 24}" if c == "globalTid" else f"[{c}]" for c in columns)
        where = f"WHERE globalTid >> 24 = {trainer(db) >> 24}"
        db.execute(f"INSERT INTO {RUNTIME} SELECT {told} FROM {RUNTIME} {where}")


def test_seven_of_eight_processes_are_not_captured(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=seven_silent)
    naive = trap.rows(f"SELECT count(DISTINCT globalTid >> 24) FROM {RUNTIME}")[0][0]

    assert naive == 8
    report = trap.report
    assert report.capture.ranks_captured == 1
    assert [p.scope for p in report.capture.processes] == ["unit", *["api-only"] * 7]
    assert all(p.device_rows == 0 and p.completeness == "contradicted" for p in report.capture.processes[1:])
    row = trap.guard("P27")
    assert row.outcome == "limited"
    assert "7 of 8 processes without device rows: not captured" in row.evidence


def unreadable(db: sqlite3.Connection) -> None:
    db.execute(f"UPDATE {KERNEL} SET start = 'section lost' WHERE rowid % 4 = 0")


def test_an_unreadable_section_is_not_zero(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=unreadable)
    naive_ms = trap.rows(f'SELECT sum("end" - start) FROM {KERNEL}')[0][0] / 1e6  # SQL reads the text as 0
    bad = trap.rows(f"SELECT count(*) FROM {KERNEL} WHERE typeof(start) = 'text'")[0][0]

    steps = trap.simulation.truth["units"][0]["windows"]["period"]
    true_ms = sum(w["budget"]["iteration_ns"] for w in steps) / 1e6
    assert naive_ms > 10 * true_ms
    (partial,) = [p for p in trap.report.capture.partial if p.id == "values-unreadable"]
    assert partial.count == bad
    assert f"{bad:,} values of {KERNEL}" in partial.what
    assert "totals (lower bounds only)" in partial.constrains
    row = trap.guard("P27")
    assert row.outcome == "limited"
    assert partial.what.rstrip(".") in row.evidence


def without_waits(db: sqlite3.Connection) -> None:
    db.execute("DROP TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")


def test_a_missing_table_makes_its_figures_null(tmp_path: Path) -> None:
    trap = Trap("host_sync", tmp_path, edit=without_waits)
    tables = {name for (name,) in trap.rows("SELECT name FROM sqlite_master")}
    naive_ms = 0.0 if "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" not in tables else 1.0

    assert materially(naive_ms, trap.mean_ms("host_sync_while_idle_ns"))
    report = trap.report
    assert all(unit.host_sync is None for unit in report.units)
    (missing,) = [m for m in report.capture.missing if m.input == 0]
    assert missing.table == "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
    assert set(missing.constrains) == {"producers of event waits", "host synchronization"}
    assert trap.guard("P27").outcome == "limited"
    assert violations(report) == []
    assert unexplained_nulls(report) == []


def test_a_warning_of_a_helper_constrains_no_unit(tmp_path: Path) -> None:
    helper = 77 << 24 | 1 << 48

    def warned(db: sqlite3.Connection) -> None:
        for text in ("No CUDA events collected. Does the process use CUDA?", "Something that nobody knows"):
            says(db, text, helper, WARNING)

    trap = Trap("data_parallel", tmp_path, ranks=1, edit=warned)
    naive = trap.rows("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE severity >= 2 AND severity <= 3")[0][0]
    assert naive == 2
    told = [w for w in trap.report.capture.warnings if w.scope == "helper"]
    assert len(told) == 2
    assert all(w.constrains == [] and w.units == [] for w in told)
    assert trap.guard("P27").outcome == "held"


@pytest.mark.parametrize(("severity", "outcome"), [(WARNING, "limited"), (INFO, "held")])
def test_an_unknown_warning_is_kept_without_what_it_betrays(severity: int, outcome: str, tmp_path: Path) -> None:
    text = "Cannot open /home/zaphod/secret/run.bin, API_TOKEN=abc123"
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=lambda db: says(db, text, trainer(db), severity))
    row = trap.guard("P27")
    assert row.outcome == outcome
    found = [w for w in trap.report.capture.warnings if w.id == "unclassified"]
    assert len(found) == (outcome == "limited")
    assert "zaphod" not in trap.report.to_json()
    assert "abc123" not in trap.report.to_json()
