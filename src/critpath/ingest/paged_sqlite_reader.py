"""SQLite exports decoded from their pages, with the library as the reference and for whatever the decoder leaves.

What is given here is what `SqliteReader` gives, or comes from it: the library reads a table whose pages are not plain
and sound whole, and a row that reaches beyond its page, or holds another type than asked for, alone. Of every column
that was decoded some rows are compared with the library's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from critpath.base.errors import InputError
from critpath.base.intervals import I64
from critpath.ingest.reader import TableReader
from critpath.ingest.sqlite_columns import ColumnDecoder, RowIds
from critpath.ingest.sqlite_layout import TableLayout
from critpath.ingest.sqlite_pages import Leaves, PageFile, UnsoundPageError
from critpath.ingest.sqlite_reader import MISTYPED, SqliteReader
from critpath.model.identity import NULL

__all__ = ["PagedSqliteReader", "open_sqlite"]

T = TypeVar("T")

_COMPARED_LEAVES = 8
_ROWS_LEFT = 64
_ROWS_A_ROW_LEFT = 16
"""A row alone costs the library several times what it costs in a scan of the table."""


def open_sqlite(path: Path) -> TableReader:
    """The fastest reader that gives exactly what SQLite's library gives.

    Raises:
        InputError: as `SqliteReader`.
    """
    try:
        known = path.stat()
    except OSError:
        return SqliteReader(path)
    library = SqliteReader(path)
    file = PageFile.opened(path, known)
    return library if file is None else PagedSqliteReader(library, file)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose tree is sound."""

    layout: TableLayout
    leaves: Leaves
    decoder: ColumnDecoder


class PagedSqliteReader:
    """One SQLite file, read by pages where that is sure to be right.

    Args:
        library: the reference, which this object then closes.
        file: the same file's pages, which this object then closes.
    """

    def __init__(self, library: SqliteReader, file: PageFile) -> None:
        self._library = library
        self._file = file
        self._known: dict[str, _Table | None] = {}
        self._decoded: set[str] = set()
        self._set_aside: set[str] = set()
        self._mistyped: dict[str, int] = {}

    @property
    def mistyped(self) -> Mapping[str, int]:
        """See `TableReader`."""
        return {**self._library.mistyped, **self._mistyped}

    @property
    def decoded_tables(self) -> frozenset[str]:
        """Tables of which columns were read from pages, and none by the library."""
        return frozenset(self._decoded - self._set_aside)

    def row_counts(self) -> dict[str, int]:
        """See `TableReader`."""
        return {table: self._rows_of(table) for table in sorted(self._library.tables)}

    def columns(self, table: str) -> frozenset[str]:
        """See `TableReader`."""
        return self._library.columns(table)

    def integers(self, table: str, columns: Sequence[str]) -> dict[str, I64]:
        """See `TableReader`."""
        present = [c for c in dict.fromkeys(columns) if c in self.columns(table)]
        if not present:
            return {c: np.full(self._rows_of(table), NULL, np.int64) for c in columns}
        found = self._by_pages(table, lambda known: self._integers(table, known, present))
        if found is None:
            return self._library.integers(table, columns)
        absent = np.full(found[present[0]].size, NULL, np.int64)
        return {c: found.get(c, absent) for c in columns}

    def texts(self, table: str, column: str) -> list[str | None]:
        """See `TableReader`."""
        if column not in self.columns(table):
            return [None] * self._rows_of(table)
        found = self._by_pages(table, lambda known: self._texts(table, known, column))
        return self._library.texts(table, column) if found is None else found

    def blobs(self, table: str, column: str, beside: Sequence[str]) -> tuple[dict[str, I64], list[bytes]]:
        """See `TableReader`; few rows have any, so SQLite's library finds them."""
        return self._library.blobs(table, column, beside)

    def close(self) -> None:
        """See `TableReader`."""
        self._file.close()
        self._library.close()

    def _rows_of(self, table: str) -> int:
        known = self._table(table)
        return known.leaves.rows if known else self._library.rows(table)

    def _table(self, table: str) -> _Table | None:
        """What is known of a table; None where the library must read it."""
        if table not in self._known:
            self._known[table] = None
            with suppress(UnsoundPageError, InputError):
                layout = self._library.layout(table)
                if layout:
                    leaves = self._file.leaves(layout.root)
                    self._known[table] = _Table(layout, leaves, ColumnDecoder(self._file, leaves, layout))
        return self._known[table]

    def _by_pages(self, table: str, decode: Callable[[_Table], T]) -> T | None:
        """What `decode` makes of a table; None where it proves unsound, which the library is then asked about."""
        known = self._table(table)
        if known:
            try:
                result = decode(known)
            except (UnsoundPageError, InputError):
                self._known[table] = None
            else:
                self._decoded.add(table)
                return result
        self._set_aside.add(table)
        return None

    def _integers(self, table: str, known: _Table, columns: Sequence[str]) -> dict[str, I64]:
        if not known.layout.real.isdisjoint(columns):
            raise UnsoundPageError
        found, ids = known.decoder.integers(columns)
        self._check_ids(table, known.leaves, ids)
        cells = self._library.integers_at(table, columns, ids.left[:, 1].tolist())
        wrong = cells == MISTYPED
        cells[wrong] = NULL
        for i, column in enumerate(columns):
            found[column][ids.left[:, 0]] = cells[:, i]
        rows, rowids = _sample(known.leaves, ids)
        cells = self._library.integers_at(table, columns, rowids)
        cells[cells == MISTYPED] = NULL
        if not np.array_equal(cells, np.stack([found[c][rows] for c in columns], axis=1)):
            raise UnsoundPageError
        self._mistyped |= {f"{table}.{c}": int(n) for c, n in zip(columns, wrong.sum(axis=0), strict=True) if n}
        return found

    def _texts(self, table: str, known: _Table, column: str) -> list[str | None]:
        if column == known.layout.alias:
            raise UnsoundPageError
        found, ids = known.decoder.texts(column)
        self._check_ids(table, known.leaves, ids)
        left = self._library.texts_at(table, column, ids.left[:, 1].tolist())
        for row, text in zip(ids.left[:, 0].tolist(), left, strict=True):
            found[row] = text
        rows, rowids = _sample(known.leaves, ids)
        if self._library.texts_at(table, column, rowids) != [found[row] for row in rows]:
            raise UnsoundPageError
        return found

    def _check_ids(self, table: str, leaves: Leaves, ids: RowIds) -> None:
        """Rowids ascend through the whole table, so that each names one row; and what is left is worth its price."""
        firsts, lasts = ids.edges.T
        ends = (int(firsts[0]), int(lasts[-1])) if leaves.rows else None
        if (firsts[1:] <= lasts[:-1]).any() or self._library.rowid_ends(table) != ends:
            raise UnsoundPageError
        if ids.left.shape[0] > _ROWS_LEFT + leaves.rows // _ROWS_A_ROW_LEFT:
            raise UnsoundPageError


def _sample(leaves: Leaves, ids: RowIds) -> tuple[list[int], list[int]]:
    """(rows, their rowids): the first and last row of some leaves, the table's first and last among them."""
    if not leaves.rows:
        return [], []
    picked = np.unique(np.linspace(0, leaves.pages.size - 1, _COMPARED_LEAVES).astype(np.int64))
    rows = np.concatenate([leaves.firsts[picked], leaves.firsts[picked + 1] - 1])
    return rows.tolist(), ids.edges[picked].T.ravel().tolist()
