"""SQLite exports through the standard library's sqlite3, read-only and immutable."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from critpath.base.errors import InputError
from critpath.base.intervals import I64
from critpath.ingest.label import label
from critpath.ingest.sqlite_layout import TableLayout, quoted, rowid_name, table_layout
from critpath.model.identity import NULL

__all__ = ["MISTYPED", "SqliteReader", "decoded"]

MISTYPED = NULL + 1
"""How `SqliteReader.integers_at` spells a value that is neither integer nor NULL."""

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_CHUNK_ROWS = 200_000


class SqliteReader:
    """One SQLite file, opened so that nothing is created beside it.

    Args:
        path: an existing file.

    Raises:
        InputError: the file can't be opened, is empty, cut short or not SQLite, or has changes in a journal beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            _check_header(path)
            _check_no_journal(path)
        except OSError as fault:
            raise _unopened(path, fault) from fault
        # A name may hold bytes that are no text; SQLite takes them as they are.
        uri = f"file:{quote(os.fsencode(path.resolve()))}?mode=ro&immutable=1"
        with self._reading("the table of contents"):
            self._db = sqlite3.connect(uri, uri=True)
        self._db.text_factory = decoded
        try:
            with self._reading("the table of contents"):
                # Else a damaged cell may reach beyond its page, and reads as whatever memory holds there.
                self._db.execute("PRAGMA cell_size_check = ON")
                found = self._db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        except InputError:
            self._db.close()
            raise
        # A virtual table is never the profiler's, and needs a module that may not be here.
        self._tables = frozenset(name for name, sql in found if not (sql or "").upper().startswith("CREATE VIRTUAL"))
        self._columns: dict[str, frozenset[str]] = {}
        self._sources: dict[str, str] = {}
        self._mistyped: dict[str, int] = {}

    @property
    def mistyped(self) -> Mapping[str, int]:
        """See `TableReader`."""
        return self._mistyped

    def row_counts(self) -> dict[str, int]:
        """See `TableReader`."""
        return {table: self.rows(table) for table in sorted(self._tables)}

    def columns(self, table: str) -> frozenset[str]:
        """See `TableReader`."""
        if table not in self._tables:
            return frozenset()
        if table not in self._columns:
            with self._reading(table):
                rows = self._db.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
            self._columns[table] = frozenset(row[1] for row in rows)
        return self._columns[table]

    def integers(self, table: str, columns: Sequence[str]) -> dict[str, I64]:
        """See `TableReader`."""
        present = [c for c in columns if c in self.columns(table)]
        if not present:
            return {c: np.full(self.rows(table), NULL, np.int64) for c in columns}
        with self._reading(table):
            cells = self._cells(table, present)
        found = {c: np.ascontiguousarray(cells[:, i]) for i, c in enumerate(present)}
        for name, values in found.items():
            wrong = values == MISTYPED
            if wrong.any():
                self._mistyped[f"{table}.{name}"] = int(wrong.sum())
                values[wrong] = NULL
        absent = np.full(cells.shape[0], NULL, np.int64)
        return {c: found.get(c, absent) for c in columns}

    def texts(self, table: str, column: str) -> list[str | None]:
        """See `TableReader`."""
        if table not in self._tables:
            return []
        if column not in self.columns(table):
            return [None] * self.rows(table)
        with self._reading(table):
            rows = self._db.execute(f"SELECT {quoted(column)} FROM {self._source(table)}")  # noqa: S608
            return [_as_text(value) for (value,) in rows]

    def blobs(self, table: str, column: str, beside: Sequence[str]) -> tuple[dict[str, I64], list[bytes]]:
        """See `TableReader`."""
        if column not in self.columns(table):
            return {c: np.empty(0, np.int64) for c in beside}, []
        present = [c for c in beside if c in self.columns(table)]
        # The column is declared as text and holds bytes that are none.
        wanted = ", ".join([f"CAST({quoted(column)} AS BLOB)", *map(_typed, present)])
        with self._reading(table):
            rows = self._db.execute(
                f"SELECT {wanted} FROM {self._source(table)} WHERE {quoted(column)} IS NOT NULL"  # noqa: S608
            ).fetchall()
        cells = np.array([row[1:] for row in rows], np.int64).reshape(len(rows), len(present))
        found = {c: np.where(cells[:, i] == MISTYPED, NULL, cells[:, i]) for i, c in enumerate(present)}
        absent = np.full(len(rows), NULL, np.int64)
        return {c: found.get(c, absent) for c in beside}, [bytes(row[0]) for row in rows]

    def close(self) -> None:
        """See `TableReader`."""
        self._db.close()

    @property
    def tables(self) -> frozenset[str]:
        """Every table that exists."""
        return self._tables

    def rows(self, table: str) -> int:
        """Rows of a table; 0 for one that doesn't exist."""
        if table not in self._tables:
            return 0
        with self._reading(table):
            return int(self._db.execute(f"SELECT count(*) FROM {quoted(table)} NOT INDEXED").fetchone()[0])  # noqa: S608

    def layout(self, table: str) -> TableLayout | None:
        """See `table_layout`; None also for a table that doesn't exist."""
        if table not in self._tables:
            return None
        with self._reading(table):
            return table_layout(self._db, table)

    def rowid_ends(self, table: str) -> tuple[int, int] | None:
        """The first and the last rowid of a table with rowids; None where it has no rows."""
        name = self._rowid(table)
        with self._reading(table):
            ends = [
                self._db.execute(f"SELECT {name} FROM {quoted(table)} ORDER BY {name} {way} LIMIT 1").fetchone()  # noqa: S608
                for way in ("ASC", "DESC")
            ]
        return None if None in ends else (ends[0][0], ends[1][0])

    def integers_at(self, table: str, columns: Sequence[str], rowids: Sequence[int]) -> I64:
        """Integers of single rows, shape (rowids, columns), as NULL and `MISTYPED` say.

        Raises:
            InputError: a row can't be read, or isn't there.
        """
        wanted = ", ".join(_typed(c) for c in columns)
        return np.array(self._rows_at(table, wanted, rowids), np.int64).reshape(-1, len(columns))

    def texts_at(self, table: str, column: str, rowids: Sequence[int]) -> list[str | None]:
        """Texts of single rows.

        Raises:
            InputError: a row can't be read, or isn't there.
        """
        return [_as_text(value) for (value,) in self._rows_at(table, quoted(column), rowids)]

    def _rows_at(self, table: str, wanted: str, rowids: Sequence[int]) -> list[tuple[Any, ...]]:
        statement = f"SELECT {wanted} FROM {quoted(table)} NOT INDEXED WHERE {self._rowid(table)} = ?"  # noqa: S608
        with self._reading(table):
            rows = [self._db.execute(statement, [rowid]).fetchone() for rowid in rowids]
            if None in rows:
                raise sqlite3.DatabaseError("a row is not where the table's tree says")
        return rows

    def _rowid(self, table: str) -> str:
        return rowid_name(self.columns(table)) or "rowid"

    def _source(self, table: str) -> str:
        """A table as SQL for reading it whole, always in one order.

        SQLite may read a column from an index that somebody added, in the index' order, and another one from the table.
        """
        if table not in self._sources:
            name = quoted(table)
            rows = self._db.execute(f"PRAGMA table_info({name})").fetchall()
            keys = sorted((row[5], row[1]) for row in rows if row[5])
            try:
                self._db.execute(f"SELECT {self._rowid(table)} FROM {name} LIMIT 0")  # noqa: S608
            except sqlite3.OperationalError:
                # Without rowids the table is an index itself, and another one may still be read in its place.
                source = f"{name} ORDER BY {', '.join(quoted(key) for _, key in keys)}"
            else:
                source = f"{name} NOT INDEXED"
            self._sources[table] = source
        return self._sources[table]

    def _cells(self, table: str, columns: Sequence[str]) -> I64:
        wanted = ", ".join(_typed(c) for c in columns)
        cursor = self._db.execute(f"SELECT {wanted} FROM {self._source(table)}")  # noqa: S608
        parts = [np.empty(0, np.int64)]
        while True:
            part = np.fromiter(chain.from_iterable(islice(cursor, _CHUNK_ROWS)), np.int64)
            if not part.size:
                return np.concatenate(parts).reshape(-1, len(columns))
            parts.append(part)

    @contextmanager
    def _reading(self, table: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as fault:  # SQLite's message may quote a name that is no text
            raise InputError(
                f"SQLite can't read {table} to its end: {fault}",
                where=label(self._path),
                meaning="The file is damaged or cut short; figures from a part of it would be wrong, so none are made.",
                remedy="Export again with `nsys export --type sqlite`, and check that the copy is complete.",
            ) from fault


def _check_header(path: Path) -> None:
    size = path.stat().st_size
    if size == 0:
        raise _unreadable(path, "the file is empty")
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if header[: len(_MAGIC)] != _MAGIC[: len(header)]:
        raise _unreadable(path, "the file is not a SQLite database")
    if len(header) < _HEADER_BYTES:
        raise _unreadable(path, "the file is cut short inside SQLite's header")
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    # The page count is valid only when the last writer kept it (SQLite file format, offsets 24, 28 and 92).
    if header[24:28] == header[92:96] and size < page * int.from_bytes(header[28:32], "big"):
        raise _unreadable(
            path, f"the file is cut short: {size:,} bytes of {page * int.from_bytes(header[28:32], 'big'):,}"
        )


def _check_no_journal(path: Path) -> None:
    # SQLite keeps a journal beside the file itself, not beside a link to it.
    for file in {path, path.resolve()}:
        for suffix in ("-wal", "-journal"):
            journal = file.with_name(file.name + suffix)
            if journal.exists() and journal.stat().st_size:
                raise InputError(
                    f"{label(Path(journal.name))} holds changes that are not in the database yet",
                    where=label(path),
                    meaning="Reading without them could give half of a transaction, so nothing is read.",
                    remedy="Close the program that has the file open, or export again.",
                )


def _unopened(path: Path, fault: OSError) -> InputError:
    return InputError(
        f"the file can't be opened: {fault.strerror or fault}",
        where=label(path),
        meaning="Nothing of it was read, so nothing can be said of this run.",
        remedy="Check the path and that you may read the file; a folder is searched for exports when it is named.",
    )


def _unreadable(path: Path, what: str) -> InputError:
    return InputError(
        what,
        where=label(path),
        meaning="It holds no complete Nsight Systems export, so nothing can be said of this run.",
        remedy="Make one with `nsys export --type sqlite report.nsys-rep`, and check that the copy is complete.",
    )


def _typed(column: str) -> str:
    """A column as integers: SQLite holds any type anywhere, and a text must not pass for a number."""
    c = quoted(column)
    return f"CASE typeof({c}) WHEN 'integer' THEN {c} WHEN 'null' THEN {NULL} ELSE {MISTYPED} END"


def decoded(raw: bytes) -> str:
    """Bytes of a text; what is no UTF-8 in them is replaced."""
    return raw.decode("utf-8", "replace")


def _as_text(value: object) -> str | None:
    """A value of a text column; third parties put anything there."""
    if value is None or isinstance(value, str):
        return value
    return decoded(value) if isinstance(value, bytes) else str(value)
