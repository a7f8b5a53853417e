"""Where SQLite keeps a table's columns, as far as its pages can be decoded without the library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["TableLayout", "quoted", "rowid_name", "table_layout"]

_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_REAL_WORDS = ("REAL", "FLOA", "DOUB")


@dataclass(frozen=True, slots=True)
class TableLayout:
    """What a table's records hold.

    Attributes:
        root: number of the root page of its tree.
        columns: in the order of a record.
        alias: the column that is the rowid itself, if any; records hold NULL in its place.
        with_default: columns whose value in a record too short to have them is not NULL.
        real: columns whose integers the library turns into floats as it reads them.
    """

    root: int
    columns: tuple[str, ...]
    alias: str | None
    with_default: frozenset[str]
    real: frozenset[str]


def table_layout(database: sqlite3.Connection, table: str) -> TableLayout | None:
    """The layout of a table; None where its rows can't be found by rowid, or records don't hold its columns one by one.

    A table without rowids may still have a layout here; its pages tell.

    Raises:
        sqlite3.Error: the table's description can't be read.
    """
    roots = database.execute("SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ?", [table]).fetchall()
    rows = database.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    # Hidden columns are those of virtual tables, and generated ones, which records may lack.
    if len(roots) != 1 or not rows or any(hidden for *_, hidden in rows) or not rowid_name(row[1] for row in rows):
        return None
    keys = [name for _, name, _, _, _, key, _ in rows if key]
    indices = database.execute(f"PRAGMA index_list({quoted(table)})").fetchall()
    # A primary key without an index of its own is the rowid: how it was declared has exceptions, this has none.
    is_alias = len(keys) == 1 and all(origin != "pk" for _, _, _, origin, _ in indices)
    return TableLayout(
        root=int(roots[0][0]),
        columns=tuple(row[1] for row in rows),
        alias=keys[0] if is_alias else None,
        with_default=frozenset(name for _, name, _, _, default, _, _ in rows if default is not None),
        real=frozenset(row[1] for row in rows if any(word in row[2].upper() for word in _REAL_WORDS)),
    )


def rowid_name(columns: Iterable[str]) -> str | None:
    """A name that means the rowid in a table with these columns; None where columns took all of them."""
    taken = {column.lower() for column in columns}
    return next((name for name in _ROWID_NAMES if name not in taken), None)


def quoted(name: str) -> str:
    """A table's or column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'
