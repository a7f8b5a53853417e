"""Arrow exports: a folder of `<TABLE>.arrow`, as `nsys export --type arrowdir` writes it.

A file may be of either form that Arrow has for files: one with a table of contents at its end, or a stream.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from critpath.ingest.columnar_reader import ColumnarReader, polars_source

__all__ = ["ArrowReader"]

_FILE_MAGIC = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"
_STREAM_END = _CONTINUES + bytes(4)
"""Source: Arrow columnar format, "IPC Streaming Format"."""
_LONGEST_SCHEMA = 2**24


class ArrowReader(ColumnarReader):
    """A folder of Arrow IPC files or streams. See `ColumnarReader`."""

    suffix = ".arrow"
    export_type = "arrowdir"

    def _schema(self, path: Path) -> Mapping[str, pl.DataType]:
        return pl.read_ipc_stream(_schema_message(path)).schema if _is_stream(path) else _scan(path).collect_schema()

    def _height(self, path: Path) -> int:
        if not _is_stream(path):
            return int(_scan(path).select(pl.len()).collect().item())
        schema = self._schema(path)
        # A stream has no table of contents, so a column is read; numbers are the cheapest and always valid.
        name = next((n for n, kind in schema.items() if kind.is_numeric()), next(iter(schema), None))
        return self._read(path, [name]).height if name is not None else 0

    def _read(self, path: Path, columns: list[str]) -> pl.DataFrame:
        if _is_stream(path):
            return pl.read_ipc_stream(polars_source(path), columns=columns).select(columns)
        return _scan(path).select(columns).collect()

    def _read_with(self, pyarrow: Any, path: Path, column: str) -> Any:
        with path.open("rb") as file:
            opened = pyarrow.ipc.open_stream if _is_stream(path) else pyarrow.ipc.open_file
            return opened(file).read_all().column(column)


def _scan(path: Path) -> pl.LazyFrame:
    # Folders are named by people: a [ or * is no pattern, and rank=3 no column.
    return pl.scan_ipc(polars_source(path), glob=False, hive_partitioning=False)


def _is_stream(path: Path) -> bool:
    """Whether a file is a stream.

    Raises:
        OSError: it is neither a stream nor a file of Arrow's, or a stream without its end.
    """
    with path.open("rb") as file:
        head = file.read(len(_FILE_MAGIC))
        if head == _FILE_MAGIC:
            return False
        if head[: len(_CONTINUES)] != _CONTINUES:
            raise OSError("it is no Arrow data")
        file.seek(-len(_STREAM_END), os.SEEK_END)
        if file.read() != _STREAM_END:
            # Cut between two batches, it would read as a shorter table.
            raise OSError("the stream has no end mark")
    return True


def _schema_message(path: Path) -> io.BytesIO:
    """The stream without its rows: its first message says what the columns are."""
    with path.open("rb") as file:
        head = file.read(2 * len(_CONTINUES))
        length = int.from_bytes(head[len(_CONTINUES) :], "little")
        if not 0 < length <= _LONGEST_SCHEMA:
            raise OSError("the stream doesn't begin with its columns")
        return io.BytesIO(head + file.read(length) + _STREAM_END)
