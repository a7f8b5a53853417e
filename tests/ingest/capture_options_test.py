from __future__ import annotations

import sqlite3
from pathlib import Path

from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
"""


def export(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(TABLES + ";".join(statements))
    connection.close()
    return path


def test_a_call_stack_counts_only_where_its_frames_were_exported(tmp_path: Path) -> None:
    calls = ", ".join(
        f"({i}, {i + 1}, 281474976710656, {i}, 1, 0, {stack})" for i, stack in enumerate([5, 6, 0, "NULL"])
    )
    with_frames = export(
        tmp_path / "frames.sqlite",
        f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {calls}",
        "CREATE TABLE CUDA_CALLCHAINS (id INTEGER, symbol INTEGER, stackDepth INTEGER)",
        "INSERT INTO CUDA_CALLCHAINS VALUES (5, 1, 0), (5, 2, 1), (0, 1, 0)",
    )
    without = export(tmp_path / "none.sqlite", f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {calls}")
    assert read_trace(with_frames).runtime_calls.callchain.tolist() == [5, NULL, NULL, NULL]
    assert read_trace(without).runtime_calls.callchain.tolist() == [NULL] * 4


def test_a_partial_export_says_what_it_was_limited_to(tmp_path: Path) -> None:
    values = "('EXPORT_PARAM_TABLES_TO_EXPORT', 'NVTX'), ('EXPORT_PARAM_TIMES_TO_EXPORT', '1s/2s')"
    path = export(tmp_path / "a.sqlite", f"INSERT INTO META_DATA_EXPORT VALUES {values}")
    source = read_trace(path).source
    assert (source.tables_exported, source.times_exported, source.blobs_exported) == ("NVTX", "1s/2s", None)


def test_an_export_without_limits_has_none(tmp_path: Path) -> None:
    values = "('EXPORT_PARAM_TABLES_TO_EXPORT', ''), ('EXPORT_PARAM_INCLUDE_BLOBS', 'false')"
    path = export(tmp_path / "a.sqlite", f"INSERT INTO META_DATA_EXPORT VALUES {values}")
    source = read_trace(path).source
    assert (source.tables_exported, source.times_exported, source.blobs_exported) == (None, None, False)


def test_all_event_types_of_a_capture_are_kept(tmp_path: Path) -> None:
    values = ", ".join(f"('CAPTURE_EVENT_TYPE', '{kind}')" for kind in ("CuDNN", "NvtxEvents", "Cuda"))
    path = export(tmp_path / "a.sqlite", f"INSERT INTO META_DATA_CAPTURE VALUES {values}")
    assert read_trace(path).capture_options["CAPTURE_EVENT_TYPE"] == "CuDNN,NvtxEvents,Cuda"
