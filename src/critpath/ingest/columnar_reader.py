"""Exports as folders of one columnar file a table: what Parquet and Arrow folders have in common.

Their types are the profiler's own, where SQLite holds signed integers only: ids are unsigned 64-bit numbers and never
pass through floats, which can't hold them. An id with its top bit set reads as the same negative number as in SQLite,
so all formats of one capture give the same keys.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from critpath.base.errors import InputError
from critpath.base.intervals import I64
from critpath.ingest.label import label
from critpath.model.identity import NULL

__all__ = ["ColumnarReader", "polars_source", "pyarrow_module"]

_INTEGERS = frozenset(
    {pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Null}
)
_LONGEST_FAULT = 200


class ColumnarReader(ABC):
    """A folder of `<TABLE><suffix>` files. Tables without rows have no file, and read as absent ones do.

    Args:
        folder: an existing folder.

    Raises:
        InputError: the folder can't be listed.
    """

    suffix: ClassVar[str]
    """Suffix of a table's file."""
    export_type: ClassVar[str]
    """What `nsys export --type` calls the format."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            inside = sorted(folder.iterdir())
        except OSError as fault:
            raise InputError(
                f"the folder can't be listed: {fault.strerror or fault}",
                where=label(folder),
                meaning="Nothing of it was read, so nothing can be said of this run.",
                remedy="Check the path and that you may read the folder.",
            ) from fault
        # File managers and network shares leave hidden files of the same suffix beside the real ones.
        self._files = {p.stem: p for p in inside if p.suffix == self.suffix and not p.name.startswith(".")}
        self._schemas: dict[str, dict[str, pl.DataType]] = {}
        self._row_counts: dict[str, int] = {}
        self._mistyped: dict[str, int] = {}

    @property
    def mistyped(self) -> Mapping[str, int]:
        """See `TableReader`."""
        return self._mistyped

    def row_counts(self) -> dict[str, int]:
        """See `TableReader`."""
        return {table: self._rows_of(table) for table in self._files}

    def columns(self, table: str) -> frozenset[str]:
        """See `TableReader`."""
        return frozenset(self._schema_of(table))

    def integers(self, table: str, columns: Sequence[str]) -> dict[str, I64]:
        """See `TableReader`."""
        present = [c for c in dict.fromkeys(columns) if c in self.columns(table)]
        absent = np.full(self._rows_of(table), NULL, np.int64)
        typed = [c for c in present if self._schema_of(table)[c] in _INTEGERS]
        found: dict[str, I64] = {}
        if typed:
            with self._reading(table):
                frame = self._read(self._files[table], typed)
            found = {c: _int64(frame[c]) for c in typed}
        for name in present:
            wrong = 0 if name in typed else sum(text is not None for text in self.texts(table, name))
            if wrong:
                self._mistyped[f"{table}.{name}"] = wrong
        return {c: found.get(c, absent) for c in columns}

    def texts(self, table: str, column: str) -> list[str | None]:
        """See `TableReader`."""
        if column not in self.columns(table):
            return [None] * self._rows_of(table)
        path = self._files[table]
        try:
            values = self._read(path, [column])[column]
            if values.dtype == pl.Binary:
                return _decoded(values.to_list())
            texts: list[str | None] = values.cast(pl.String).to_list()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as fault:
            if self._schema_of(table)[column] != pl.String or "utf" not in str(fault).lower():
                raise self._damaged(table, fault) from fault
            return self._replaced_texts(table, column)
        return texts

    def blobs(self, table: str, column: str, beside: Sequence[str]) -> tuple[dict[str, I64], list[bytes]]:
        """See `TableReader`."""
        if column not in self.columns(table):
            return {c: np.empty(0, np.int64) for c in beside}, []
        if self._schema_of(table)[column] == pl.Binary:
            with self._reading(table):
                values: list[bytes | None] = self._read(self._files[table], [column])[column].to_list()
        else:
            values = self._raw(table, column)
        rows = np.array([i for i, value in enumerate(values) if value is not None], np.intp)
        cells = self.integers(table, beside)
        return {c: cells[c][rows] for c in beside}, [value for value in values if value is not None]

    def close(self) -> None:  # noqa: B027  (a file is closed again once it is read, so nothing is left to do)
        """See `TableReader`."""

    @abstractmethod
    def _schema(self, path: Path) -> Mapping[str, pl.DataType]:
        """Columns of a file and their types, without reading its rows."""

    @abstractmethod
    def _height(self, path: Path) -> int:
        """Rows of a file."""

    @abstractmethod
    def _read(self, path: Path, columns: list[str]) -> pl.DataFrame:
        """Columns of a file in row order."""

    @abstractmethod
    def _read_with(self, pyarrow: Any, path: Path, column: str) -> Any:
        """A column as a chunked array of pyarrow, whatever bytes its texts hold."""

    def _schema_of(self, table: str) -> dict[str, pl.DataType]:
        if table not in self._files:
            return {}
        if table not in self._schemas:
            with self._reading(table):
                self._schemas[table] = dict(self._schema(self._files[table]))
        return self._schemas[table]

    def _rows_of(self, table: str) -> int:
        if table not in self._files:
            return 0
        if table not in self._row_counts:
            with self._reading(table):
                self._row_counts[table] = self._height(self._files[table])
        return self._row_counts[table]

    def _replaced_texts(self, table: str, column: str) -> list[str | None]:
        return _decoded(self._raw(table, column))

    def _raw(self, table: str, column: str) -> list[bytes | None]:
        """A text column that holds bytes that are no UTF-8, which polars refuses as a whole."""
        pyarrow = pyarrow_module()
        if pyarrow is None:
            raise InputError(
                f"column {column} of {table} holds bytes that are no UTF-8; pyarrow, which can read them, is missing",
                where=label(self._folder),
                meaning="A table can't be left out unseen, so nothing of this input was analysed.",
                remedy="Install it with `pip install 'critpath[arrow]'`, or use `nsys export --type sqlite`.",
            )
        try:
            raw = self._read_with(pyarrow, self._files[table], column).cast(pyarrow.large_binary())
        except (pyarrow.ArrowException, OSError) as fault:
            raise self._damaged(table, fault) from fault
        found: list[bytes | None] = raw.to_pylist()
        return found

    @contextmanager
    def _reading(self, table: str) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as fault:
            raise self._damaged(table, fault) from fault

    def _damaged(self, table: str, fault: BaseException) -> InputError:
        first_line = (str(fault).strip() or type(fault).__name__).splitlines()[0][:_LONGEST_FAULT]
        return InputError(
            f"{table} can't be read to its end: {first_line}",
            where=label(self._files[table]),
            meaning="The file is damaged or cut short; figures from a part of it would be wrong, so none are made.",
            remedy=f"Export again with `nsys export --type {self.export_type}`, and check that the copy is complete.",
        )


def polars_source(path: Path) -> str | io.BytesIO:
    """What polars opens a file by: its name, or its content where the name is no text."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        return io.BytesIO(path.read_bytes())


def pyarrow_module() -> Any:
    """The optional pyarrow, or None where it isn't installed."""
    try:
        return import_module("pyarrow")
    except ImportError:
        return None


def _decoded(values: list[bytes | None]) -> list[str | None]:
    return [None if value is None else value.decode("utf-8", "replace") for value in values]


def _int64(values: pl.Series) -> I64:
    """An integer column as int64, NULL as `identity.NULL`."""
    if values.dtype == pl.UInt64:
        # NULL is the number whose only bit is the top one, in both readings of 64 bits.
        return values.fill_null(pl.lit(NULL + 2**64, pl.UInt64)).to_numpy(writable=True).view(np.int64)
    return values.cast(pl.Int64).fill_null(NULL).to_numpy(writable=True)
