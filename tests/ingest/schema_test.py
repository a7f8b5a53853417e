"""Columns by existence: every generation, whatever it lacks, and what third parties do to exports."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL, pid_of
from critpath.model.tables import SyncShape
from critpath.model.trace import Trace
from exports import GENERATIONS, NO_ID, Export, gpid, tid

KERNEL, RUNTIME = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"


def full(generation: str) -> Export:
    """One row of everything that a generation may have."""
    export = Export(generation)
    export.launched(20_000, 30_000, corr=1)
    export.copy(31_000, 32_000, corr=2)
    export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=33_000, end=34_000, streamId=7, contextId=1, globalPid=gpid(4242))
    export.sync(40_000, 50_000, stream=7, correlationId=3)
    export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", contextId=1, streamId=7, eventId=5, globalPid=gpid(4242))
    export.nvtx(0, 60_000, "step 1")
    export.add("PROFILER_OVERHEAD", start=1_000, end=2_000, globalTid=tid(4242), nameId=export.string("TLS"))
    return export


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_fills_the_same_tables(generation: str, tmp_path: Path) -> None:
    trace = read_trace(full(generation).write(tmp_path / "a.sqlite"))
    assert (trace.kernels.start_ns.tolist(), trace.kernels.end_ns.tolist()) == ([20_000], [30_000])
    assert trace.strings[int(trace.kernels.name[0])] == "gemm"
    assert trace.runtime_calls.correlation.tolist() == [1]
    assert trace.copies.bytes.tolist() == [1_000]
    assert len(trace.memsets) == 1
    assert trace.sync_waits.shape.tolist() == [SyncShape.STREAM]
    assert trace.event_records.event.tolist() == [5]
    assert trace.event_records.event_sync.tolist() == [NULL]
    assert [trace.strings[i] for i in trace.nvtx_ranges.name.tolist()] == ["step 1"]
    assert len(trace.overheads) == 1
    assert trace.mistyped == {}


@pytest.mark.parametrize(
    ("generation", "version"), [("2020", None), ("2021", None), ("2022.1", "2022.1.1.1"), ("2026.2", "2026.2.1.1")]
)
def test_the_version_is_told_where_the_export_tells_it(generation: str, version: str | None, tmp_path: Path) -> None:
    assert read_trace(full(generation).write(tmp_path / "a.sqlite")).source.nsys_version == version


@pytest.mark.parametrize("table", [t for t in full("2026.2").rows if t != KERNEL])
def test_a_table_may_be_absent_or_empty(table: str, tmp_path: Path) -> None:
    absent, empty = full("2026.2"), full("2026.2")
    del absent.rows[table]
    empty.rows[table] = []
    without = read_trace(absent.write(tmp_path / "absent.sqlite"))
    lazy = read_trace(empty.write(tmp_path / "empty.sqlite"))
    assert table not in without.rows
    assert lazy.rows[table] == 0
    assert without.kernels.start_ns.tolist() == lazy.kernels.start_ns.tolist() == [20_000]


@pytest.mark.parametrize("table", full("2026.2").rows)
def test_any_column_may_be_absent(table: str, tmp_path: Path) -> None:
    names = full("2026.2")._columns(table)
    for column in names:
        export = full("2026.2")
        path = export.write(tmp_path / f"{column}.sqlite")
        with closing(sqlite3.connect(path)) as database:
            kept = ", ".join(f'"{c}"' for c in names if c != column)
            database.execute(f'CREATE TABLE kept AS SELECT {kept} FROM "{table}"')
            database.execute(f'DROP TABLE "{table}"')
            database.execute(f'ALTER TABLE kept RENAME TO "{table}"')
            database.commit()
        read_trace(path)


def nvtx_names(export: Export, path: Path) -> list[str]:
    trace = read_trace(export.write(path))
    return [trace.strings[i] for i in trace.nvtx_ranges.name.tolist()]


def test_a_range_has_its_text_inline_or_by_id(tmp_path: Path) -> None:
    export = Export()
    export.nvtx(0, 10, "inline", textId=None)
    export.nvtx(10, 20, None, textId=export.string("by id"))
    export.nvtx(20, 30, "inline wins", textId=export.string("by id"))
    export.nvtx(30, 40, None)
    assert nvtx_names(export, tmp_path / "a.sqlite") == ["inline", "by id", "inline wins", "[no name]"]


def test_ranges_without_a_text_id_column_keep_their_inline_text(tmp_path: Path) -> None:
    export = Export()
    export.declared["NVTX_EVENTS"] = "start I! end I eventType I! text T globalTid I"
    export.nvtx(0, 10, "inline")
    assert nvtx_names(export, tmp_path / "a.sqlite") == ["inline"]


def test_without_event_types_what_has_an_end_is_a_range(tmp_path: Path) -> None:
    export = Export()
    export.declared["NVTX_EVENTS"] = "start I! end I text T globalTid I"
    export.nvtx(0, 10, "range")
    export.nvtx(5, None, "mark")
    assert nvtx_names(export, tmp_path / "a.sqlite") == ["range"]


@pytest.mark.parametrize("kind", [33, 34, 39, 75, 76])
def test_marks_and_domain_rows_are_no_ranges(kind: int, tmp_path: Path) -> None:
    export = Export()
    export.nvtx(-1_957_198_520, None, "NCCL", kind=kind)
    assert nvtx_names(export, tmp_path / "a.sqlite") == []


SYNC_ROWS = [
    # (what, stream, event, shape)
    ("wait", 24, 6813, SyncShape.STREAM_WAIT),
    ("event", NO_ID, 285, SyncShape.EVENT),
    ("stream", 15, NO_ID, SyncShape.STREAM),
    ("context", NO_ID, NO_ID, SyncShape.CONTEXT),
]
SYNC_CODES = {
    "2022.1": {"event": 2, "wait": 3, "stream": 3, "context": 1},
    "2024.5": {"event": 1, "wait": 2, "stream": 2, "context": 0},
    "2024.6": {"event": 1, "wait": 2, "stream": 2, "context": 0},
    "2025.1": {"event": 0, "wait": 0, "stream": 0, "context": 0},
    "2025.3": {"event": 1, "wait": 2, "stream": 2, "context": 4},
    "2025.5": {"event": 1, "wait": 2, "stream": 2, "context": 4},
    "2025.6": {"event": 1, "wait": 2, "stream": 2, "context": 4},
    "2026.2": {"event": 1, "wait": 2, "stream": 3, "context": 4},
}


@pytest.mark.parametrize("generation", SYNC_CODES)
@pytest.mark.parametrize("no_event_sync", [None, NO_ID, 0])
def test_a_synchronization_is_told_by_shape_whatever_its_code(
    generation: str, no_event_sync: int | None, tmp_path: Path
) -> None:
    export = Export(generation)
    for i, (what, stream, event, _) in enumerate(SYNC_ROWS):
        code = SYNC_CODES[generation][what]
        export.sync(i * 10, i * 10 + 5, stream=stream, event=event, syncType=code, eventSyncId=no_event_sync)
    waits = read_trace(export.write(tmp_path / "a.sqlite")).sync_waits
    assert waits.shape.tolist() == [shape for *_, shape in SYNC_ROWS]
    assert waits.event.tolist() == [6813, 285, NULL, NULL]
    assert waits.stream.tolist() == [24, NULL, 15, NULL]
    assert waits.event_sync.tolist() == [NULL] * 4


def test_ids_that_are_null_are_no_ids(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.sync(0, 5, stream=None, event=None)
    export.sync(5, 9, stream=None, event=3)
    assert read_trace(export.write(tmp_path / "a.sqlite")).sync_waits.shape.tolist() == [
        SyncShape.CONTEXT,
        SyncShape.EVENT,
    ]


@pytest.mark.parametrize("event_sync", [1, 16863])
def test_a_real_event_sync_id_is_kept(event_sync: int, tmp_path: Path) -> None:
    export = Export()
    export.sync(0, 5, event=3, eventSyncId=event_sync)
    assert read_trace(export.write(tmp_path / "a.sqlite")).sync_waits.event_sync.tolist() == [event_sync]


@pytest.mark.parametrize(
    ("global_pid", "pid"),
    [
        (gpid(111), 111),
        (gpid(9_823_730), 9_823_730),  # above 65535
        (gpid(16_777_215), 16_777_215),
        (-144_115_188_075_855_872, 0),  # "no process"
        (gpid(7, hardware=0xFE), 7),  # negative once signed
    ],
)
def test_a_process_number_has_24_bits(global_pid: int, pid: int, tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9, globalPid=global_pid)
    (process,) = read_trace(export.write(tmp_path / "a.sqlite")).kernels.process.tolist()
    assert pid_of(process) == pid


def test_equal_pids_of_two_machines_are_two_processes(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9, globalPid=gpid(7, hardware=1))
    export.kernel(0, 9, globalPid=gpid(7, hardware=2))
    assert len(set(read_trace(export.write(tmp_path / "a.sqlite")).kernels.process.tolist())) == 2


def test_a_kernel_without_process_keeps_none(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9, globalPid=None)
    assert read_trace(export.write(tmp_path / "a.sqlite")).kernels.process.tolist() == [NULL]


def test_a_missing_string_stays_visible(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9, demangledName=999)
    trace = read_trace(export.write(tmp_path / "a.sqlite"))
    assert trace.strings[int(trace.kernels.name[0])] == "[string 999 missing]"


def test_columns_and_tables_of_third_parties_are_passed_over(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9)
    export.statements += [
        f"ALTER TABLE {KERNEL} ADD COLUMN long_kernel_name TEXT DEFAULT 'x'",
        "CREATE TABLE SystemInfo (a, b)",
        'CREATE TABLE "odd ""name" ("select" TEXT)',
        "CREATE VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE found USING fts5(text)",
        "PRAGMA writable_schema = on",
        "UPDATE sqlite_master SET sql = replace(sql, 'fts5', 'no_such_module') WHERE name = 'found'",
    ]
    assert read_trace(export.write(tmp_path / "a.sqlite")).kernels.start_ns.tolist() == [0]


@pytest.mark.parametrize("value", [1.5, 3.0, 1e300, "12", "soon", b"\x00\x01"])
def test_what_is_no_integer_is_counted_and_reads_as_missing(value: float | str | bytes, tmp_path: Path) -> None:
    export = Export(loose=True)
    export.kernel(value, 9)
    export.kernel(3, 9)
    trace = read_trace(export.write(tmp_path / "a.sqlite"))
    assert trace.kernels.start_ns.tolist() == [NULL, 3]
    assert trace.mistyped == {f"{KERNEL}.start": 1}


def test_null_times_read_as_null_and_are_not_mistyped(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.kernel(None, None)
    trace = read_trace(export.write(tmp_path / "a.sqlite"))
    assert (trace.kernels.start_ns.tolist(), trace.kernels.end_ns.tolist()) == ([NULL], [NULL])
    assert trace.mistyped == {}


@pytest.mark.parametrize("grid", [(2, 3, 4), (2**31, 1, 1)])
def test_a_grid_is_its_blocks(grid: tuple[int, int, int], tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9, gridX=grid[0], gridY=grid[1], gridZ=grid[2])
    assert read_trace(export.write(tmp_path / "a.sqlite")).kernels.grid.tolist() == [grid[0] * grid[1] * grid[2]]


@pytest.mark.parametrize("extent", [None, -1, 2**40])
def test_an_impossible_extent_makes_no_grid(extent: int | None, tmp_path: Path) -> None:
    export = Export(loose=True)
    export.kernel(0, 9, gridX=extent, gridY=2, blockX=2**31, blockY=2**31, blockZ=2**31)
    kernels = read_trace(export.write(tmp_path / "a.sqlite")).kernels
    assert (kernels.grid.tolist(), kernels.block.tolist()) == ([NULL], [NULL])


@pytest.mark.parametrize("size", [-1, 2**46, 2**62, None])
def test_an_impossible_size_is_none(size: int | None, tmp_path: Path) -> None:
    export = Export(loose=True)
    export.copy(0, 9, bytes=size)
    assert read_trace(export.write(tmp_path / "a.sqlite")).copies.bytes.tolist() == [NULL]


def ways_to_hold_bad_bytes(export: Export) -> None:
    bad = "CAST(x'C1F2E0FF' AS TEXT)"
    export.statements += [
        f"UPDATE StringIds SET value = {bad} WHERE value = 'gemm'",
        f"UPDATE NVTX_EVENTS SET text = {bad}",
        f"UPDATE META_DATA_EXPORT SET value = {bad} WHERE name = 'EXPORT_SCHEMA_VERSION'",
        f"UPDATE TARGET_INFO_SYSTEM_ENV SET value = {bad}",
        f"UPDATE DIAGNOSTIC_EVENT SET text = {bad}",
        f"UPDATE PROCESSES SET name = {bad}",
        f"UPDATE TARGET_INFO_GPU SET name = {bad}",
    ]


def test_text_that_is_no_utf8_is_read_with_replacements(tmp_path: Path) -> None:
    export = Export()
    export.kernel(0, 9)
    export.nvtx(0, 9, "a")
    export.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3")
    export.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="h")
    export.add("DIAGNOSTIC_EVENT", severity=2, text="t")
    export.add("PROCESSES", globalPid=gpid(4242), pid=4242, name="p")
    export.add("TARGET_INFO_GPU", name="g", smCount=1, uuid="a")
    ways_to_hold_bad_bytes(export)
    trace: Trace = read_trace(export.write(tmp_path / "a.sqlite"))
    told = [
        trace.strings[int(trace.kernels.name[0])],
        trace.strings[int(trace.nvtx_ranges.name[0])],
        trace.source.schema_version,
        trace.source.hostname,
        trace.strings[int(trace.diagnostics.text[0])],
        trace.processes[0].name,
        trace.gpus[0].name,
    ]
    assert told == ["�" * 4] * 7
