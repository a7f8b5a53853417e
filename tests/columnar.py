"""SQLite exports rewritten as the folders that the profiler's other export types give, with its native types.

    folder = columnar(path, tmp_path / "a_pqtdir", "parquet")

Ids are unsigned there, and a text column holds whatever bytes there were.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

_UINT64 = frozenset(
    {"globalTid", "globalPid", "endGlobalTid", "rangeId", "category", "domainId", "uint64Value", "bytes", "graphNodeId"}
)
_UINT32 = frozenset(
    {"eventType", "color", "textId", "nameId", "jsonTextId", "demangledName", "shortName", "mangledName", "deviceId",
     "contextId", "streamId", "correlationId", "eventId", "eventSyncId", "overheadType"}
)  # fmt: skip


def columnar(sqlite: Path, folder: Path, form: str, *, only: Callable[[str], bool] = lambda table: True) -> Path:
    """The tables of a SQLite export as files of a new folder; enumerations are left out.

    Args:
        sqlite: the export.
        folder: where; it must not exist.
        form: `parquet`, `arrow` (a file with a table of contents) or `stream`.
        only: which tables to write.
    """
    folder.mkdir()
    with closing(sqlite3.connect(f"file:{sqlite}?mode=ro", uri=True)) as database:
        database.text_factory = bytes
        names = [
            n.decode()
            for (n,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not n.startswith(b"ENUM_")
        ]
        for name in filter(only, names):
            write_table(_table(database, name), folder / name, form)
    return folder


def write_table(table: pa.Table, stem: Path, form: str) -> Path:
    """One table as a file."""
    if form == "parquet":
        path = stem.with_name(f"{stem.name}.parquet")
        pa.parquet.write_table(table, path, row_group_size=1_000, compression="zstd")
        return path
    path = stem.with_name(f"{stem.name}.arrow")
    opened = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=None if form == "stream" else "lz4")
    with opened(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=1_000)
    return path


def texts(values: Sequence[bytes | None]) -> pa.Array:
    """Bytes as a text column that nobody has checked, as the profiler writes it."""
    raw = pa.array(values, pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(raw), raw.buffers(), raw.null_count)


def _table(database: sqlite3.Connection, name: str) -> pa.Table:
    declared = [(row[1].decode(), row[2].decode()) for row in database.execute(f'PRAGMA table_info("{name}")')]
    rows = database.execute(f'SELECT * FROM "{name}"').fetchall()
    columns = list(zip(*rows, strict=True)) or [()] * len(declared)
    return pa.table(
        {column: _array(column, kind, cells) for (column, kind), cells in zip(declared, columns, strict=True)}
    )


def _array(column: str, kind: str, cells: Sequence[Any]) -> pa.Array:
    if kind == "TEXT":
        return texts([c if c is None or isinstance(c, bytes) else str(c).encode() for c in cells])
    if kind == "REAL":
        return pa.array(cells, pa.float32())
    if column in _UINT64:
        return pa.array([None if c is None else c % 2**64 for c in cells], pa.uint64())
    if column in _UINT32 and all(c is None or 0 <= c < 2**32 for c in cells):
        return pa.array(cells, pa.uint32())
    return pa.array(cells, pa.int64())
