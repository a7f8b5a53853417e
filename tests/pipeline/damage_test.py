"""Damaged records: set aside, counted, named in the report, and never part of a span or a sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.report import Report, Unit, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.rank.set_aside import capture_envelope
from critpath.render.text import text
from exports import PID, Export, tid

MS, S = 1_000_000, 1_000_000_000
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
CAPTURE = 155 * S


def healthy(*, calls: bool = True, kernels: int = 10, duration: int | None = None) -> Export:
    """Kernels of 1 ms, one every 2 ms from 155 s on."""
    export = Export(loose=True)
    for i in range(kernels):
        start = CAPTURE + 2 * i * MS
        if calls:
            export.launched(start, start + MS, corr=i + 1)
        else:
            export.kernel(start, start + MS)
    if duration is not None:
        export.add("ANALYSIS_DETAILS", duration=duration, startTime=0, stopTime=duration)
    return export


def analysed(export: Export, folder: Path) -> Report:
    report = analyze([export.write(folder / "a.sqlite")])
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    return report


def unit_of(export: Export, folder: Path) -> Unit:
    (unit,) = analysed(export, folder).units
    return unit


SPAN = [(CAPTURE, CAPTURE + 19 * MS)]
EXPORTS = {"calls": {}, "no calls": {"calls": False}, "session": {"calls": False, "duration": 200 * S}}
DAMAGED = [
    # (start, end, which counter)
    (0, 0, "zero"),
    (INT64_MIN, INT64_MIN, "outside"),
    (INT64_MIN + 1, INT64_MIN + 2, "outside"),
    (INT64_MAX - 1, INT64_MAX, "outside"),
    (INT64_MIN, CAPTURE, "outside"),
    (CAPTURE, INT64_MIN, "outside"),
    (CAPTURE, INT64_MAX, "outside"),
    (None, None, "outside"),
    (CAPTURE, None, "outside"),
    (None, CAPTURE, "outside"),
    (CAPTURE + MS, CAPTURE, "negative"),
    (CAPTURE + MS, 0, "negative"),
    (CAPTURE + 100_000 * S, CAPTURE + 100_000 * S + MS, "outside"),
    (CAPTURE - 100_000 * S, CAPTURE - 100_000 * S + MS, "outside"),
    (CAPTURE, CAPTURE + 100_000 * S, "outside"),
]


@pytest.mark.parametrize("kind", EXPORTS)
@pytest.mark.parametrize(("start", "end", "counter"), DAMAGED)
def test_a_damaged_kernel_is_counted_and_changes_no_figure(
    kind: str, start: int | None, end: int | None, counter: str, tmp_path: Path
) -> None:
    export = healthy(**EXPORTS[kind])  # type: ignore[arg-type]
    export.kernel(start, end, corr=999)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert {c: getattr(unit.set_aside, c) for c in ("zero", "negative", "outside")} == {
        "zero": 0, "negative": 0, "outside": 0, counter: 1,
    }  # fmt: skip
    assert unit.set_aside.by_table == {"kernels": 1}
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN
    assert unit.work_volume is not None
    assert unit.work_volume.kernels == 10


@pytest.mark.parametrize("table", ["MEMCPY", "MEMSET", "GRAPH_TRACE"])
def test_every_table_of_device_records_is_checked(table: str, tmp_path: Path) -> None:
    export = healthy()
    export._op(table, 0, 0, PID, {"copyKind": 1})
    export._op(table, INT64_MIN, INT64_MIN, PID, {"copyKind": 1})
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert list(unit.set_aside.by_table.values()) == [2]
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN


def test_kernels_of_another_time_at_the_sessions_start_are_rejected(tmp_path: Path) -> None:
    export = healthy()
    for i in range(3):
        export.call(CAPTURE - 9 * MS + i, CAPTURE - 9 * MS + i + 1, corr=100 + i)
        export.kernel(CAPTURE + 10**14 + i, CAPTURE + 10**14 + i + MS, corr=100 + i)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.outside == 3
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN


def test_a_kernel_seconds_before_its_own_launch_is_damaged(tmp_path: Path) -> None:
    export = healthy()
    export.call(CAPTURE, CAPTURE + 1, corr=100)
    export.kernel(CAPTURE - 20 * S, CAPTURE - 19 * S, corr=100)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.outside == 1
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN


@pytest.mark.parametrize("early", [300, 10_000, 999_000_000])
def test_a_kernel_just_before_its_own_launch_shows_the_clocks_error_only(early: int, tmp_path: Path) -> None:
    export = healthy()
    export.call(CAPTURE + MS, CAPTURE + MS + 2_000, corr=100)
    export.kernel(CAPTURE + MS - early, CAPTURE + 2 * MS - early, corr=100)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.outside == 0
    assert unit.work_volume is not None
    assert unit.work_volume.linked_kernels == 11


def test_clocks_that_differ_throughout_damage_no_record(tmp_path: Path) -> None:
    export = Export()
    for i in range(10):
        export.launched(CAPTURE + 2 * i * MS, CAPTURE + (2 * i + 1) * MS, corr=i + 1, lag=-5 * S)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.outside == 0


def test_kernels_of_no_length_are_legal(tmp_path: Path) -> None:
    export = healthy()
    export.launched(CAPTURE + MS, CAPTURE + MS, corr=100)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.by_table == {}
    assert unit.work_volume is not None
    assert unit.work_volume.kernels == 11
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN


def test_a_unit_of_ops_without_length_is_told_as_such(tmp_path: Path) -> None:
    export = Export()
    export.launched(MS, MS, corr=1)
    unit = unit_of(export, tmp_path)
    assert (unit.status, unit.budget) == ("failed", None)
    assert "have no length" in (unit.error or "")


def test_a_unit_whose_records_are_all_damaged_stays_in_the_report(tmp_path: Path) -> None:
    export = healthy()
    for i in range(4):
        export.kernel(0, 0, corr=i + 1, pid=4343)
    report = analysed(export, tmp_path)
    lost = report.units[1]
    assert (lost.pid, lost.status, lost.budget) == (4343, "failed", None)
    assert lost.set_aside is not None
    assert lost.set_aside.zero == 4
    assert "every device record of this unit is damaged (4 kernels)" in (lost.error or "")
    assert "every device record" in text(report)


def test_a_report_of_damaged_records_only_says_so(tmp_path: Path) -> None:
    export = Export()
    export.call(MS, 2 * MS, corr=1)
    export.kernel(0, 0, corr=1)
    report = analysed(export, tmp_path)
    assert "every device record of this unit is damaged" in report.verdict.headline
    assert report.verdict.dominant.bucket == "inconclusive"


def test_the_text_names_what_was_set_aside(tmp_path: Path) -> None:
    export = healthy()
    export.kernel(0, 0)
    export.kernel(CAPTURE + MS, CAPTURE)
    assert "damaged records: 1 zero, 1 negative, 0 far outside" in text(analysed(export, tmp_path))


def test_a_graph_row_beside_its_traced_nodes_is_not_counted_twice(tmp_path: Path) -> None:
    export = healthy()
    export.call(CAPTURE, CAPTURE + 1, corr=100, name="cudaGraphLaunch_v10000")
    export.kernel(CAPTURE + MS, CAPTURE + 2 * MS, corr=100, graphNodeId=5)
    export._op("GRAPH_TRACE", CAPTURE, CAPTURE + 19 * MS, PID, {"correlationId": 100, "graphId": 1, "graphExecId": 1})
    unit = unit_of(export, tmp_path)
    assert unit.budget is not None
    assert unit.budget.device_busy.mean_ms == 11.0


HOST = {
    "sync_waits": lambda e, s, n: e.sync(s, n, stream=7, contextId=1),
    "overheads": lambda e, s, n: e.add(
        "PROFILER_OVERHEAD", start=s, end=n, globalTid=tid(PID), nameId=e.string("flush"), overheadType=3
    ),
    "nvtx_ranges": lambda e, s, n: e.nvtx(s, n, "step"),
    "runtime_calls": lambda e, s, n: e.call(s, n, corr=500),
}


@pytest.mark.parametrize("table", HOST)
@pytest.mark.parametrize(
    ("start", "end"),
    [(None, CAPTURE), (INT64_MIN, CAPTURE), (INT64_MIN + 5, INT64_MAX), (CAPTURE, INT64_MAX), (None, None)],
)
def test_a_host_record_of_another_time_is_left_out_and_told(
    table: str, start: int | None, end: int | None, tmp_path: Path
) -> None:
    export = healthy()
    HOST[table](export, start, end)
    report = analysed(export, tmp_path)
    (unit,) = report.units
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN
    # without a table of synchronization nothing is known of waits, which is not 0
    waited = unit.host_sync.host_ms if unit.host_sync is not None else None
    assert waited == (0.0 if table == "sync_waits" else None)
    assert report.capture.profiler_overhead_recorded_ms in (None, 0.0)  # None: no overhead row was recorded at all
    told = [w.text for w in report.capture.warnings]
    assert told == [f"{table}: 1 host records have no time inside the capture; left out"]


def test_a_call_still_open_at_the_end_is_no_damage(tmp_path: Path) -> None:
    export = healthy()
    export.call(CAPTURE + MS, None, corr=100)
    export.kernel(CAPTURE + 2 * MS, CAPTURE + 3 * MS, corr=100)
    report = analysed(export, tmp_path)
    assert report.capture.warnings == []
    assert report.units[0].work_volume is not None
    assert report.units[0].work_volume.linked_kernels == 11


def test_events_before_the_sessions_start_and_after_its_end_are_its_own(tmp_path: Path) -> None:
    export = healthy(duration=155 * S)
    export.nvtx(-1_957_198_520, CAPTURE + S, "whole run")
    export.kernel(CAPTURE + S, CAPTURE + S + MS)
    report = analysed(export, tmp_path)
    assert report.capture.warnings == []
    assert report.units[0].set_aside is not None
    assert report.units[0].set_aside.by_table == {}


def test_two_phases_with_a_long_pause_are_both_the_captures_own(tmp_path: Path) -> None:
    export = Export()
    for phase in (0, 2 * 3600 * S):
        for i in range(20):
            export.kernel(phase + CAPTURE + 2 * i * MS, phase + CAPTURE + (2 * i + 1) * MS)
    unit = unit_of(export, tmp_path)
    assert unit.set_aside is not None
    assert unit.set_aside.by_table == {}


@pytest.mark.parametrize("starts", [[], [None], [INT64_MIN], [0]])
def test_records_without_a_time_give_no_envelope(starts: list[int | None], tmp_path: Path) -> None:
    export = Export(loose=True)
    export.string("x")
    for start in starts:
        export.kernel(start, start)
    assert capture_envelope(read_trace(export.write(tmp_path / "a.sqlite"))) is None


def test_calls_without_a_time_do_not_move_the_envelope_to_zero(tmp_path: Path) -> None:
    export = healthy(calls=False)
    export.call(None, None, corr=1)
    unit = unit_of(export, tmp_path)
    assert unit.window is not None
    assert unit.window.edges_ns == SPAN
