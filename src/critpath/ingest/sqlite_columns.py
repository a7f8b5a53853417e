"""Columns of a table decoded from its leaves, several blocks at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np

from critpath.base.intervals import I64
from critpath.ingest.sqlite_layout import TableLayout
from critpath.ingest.sqlite_pages import Leaves, PageFile, UnsoundPageError
from critpath.ingest.sqlite_reader import decoded
from critpath.ingest.sqlite_records import FAULT, Block, integers_of, texts_of

__all__ = ["ColumnDecoder", "RowIds"]

_THREADS = 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowIds:
    """What a decoding tells of a table's rowids.

    Attributes:
        edges: first and last rowid of each leaf, shape (leaves, 2).
        left: row and rowid of each row that the library must read, shape (n, 2).
    """

    edges: I64
    left: I64


class ColumnDecoder:
    """Decodes columns of one table.

    Args:
        file: the file's pages.
        leaves: the table's leaves.
        layout: what the table's records hold.
    """

    def __init__(self, file: PageFile, leaves: Leaves, layout: TableLayout) -> None:
        self._file = file
        self._leaves = leaves
        self._layout = layout

    def integers(self, columns: Sequence[str]) -> tuple[dict[str, I64], RowIds]:
        """Integer columns in row order, and what is left of them.

        Raises:
            UnsoundPageError: a page is not what it should be.
        """
        layout, leaves = self._layout, self._leaves
        slot = {column: i for i, column in enumerate(columns)}
        last = max((i for i, c in enumerate(layout.columns) if c in slot and c != layout.alias), default=-1)
        stored = layout.columns[: last + 1]
        slots = np.array([-1 if c == layout.alias else slot.get(c, -1) for c in stored], np.int64)
        nulls = np.array([c not in layout.with_default for c in stored], np.bool_)
        alias = slot.get(layout.alias, -1) if layout.alias is not None else -1
        result = [np.empty(leaves.rows, np.int64) for _ in columns]
        edges = np.empty((leaves.pages.size, 2), np.int64)

        def decode(part: slice, block: Block, at: I64) -> I64:
            begin, end = int(leaves.firsts[part.start]), int(leaves.firsts[part.stop])
            cells = np.empty((len(columns), end - begin), np.int64)
            left = np.empty((end - begin, 2), np.int64)
            counts = leaves.counts[part]
            n = integers_of(block, at, counts, self._file.usable, slots, nulls, alias, cells, edges[part], left)
            for column, values in zip(result, cells, strict=True):
                column[begin:end] = values
            return _left(left, n, begin)

        left = np.concatenate(list(self._over_blocks(decode)))
        return dict(zip(columns, result, strict=True)), RowIds(edges, left)

    def texts(self, column: str) -> tuple[list[str | None], RowIds]:
        """A text column in row order, and what is left of it; rows left are None.

        Raises:
            UnsoundPageError: a page is not what it should be.
        """
        layout, leaves = self._layout, self._leaves
        position, null = layout.columns.index(column), column not in layout.with_default
        edges = np.empty((leaves.pages.size, 2), np.int64)

        def decode(part: slice, block: Block, at: I64) -> tuple[list[str | None], I64]:
            begin, end = int(leaves.firsts[part.start]), int(leaves.firsts[part.stop])
            found, lengths = np.empty(block.size, np.uint8), np.empty(end - begin, np.int64)
            left = np.empty((end - begin, 2), np.int64)
            counts = leaves.counts[part]
            n = texts_of(block, at, counts, self._file.usable, position, null, found, lengths, edges[part], left)
            left = _left(left, n, begin)
            return _split(found, lengths), left

        parts = list(self._over_blocks(decode))
        left = np.concatenate([left for _, left in parts])
        return list(chain.from_iterable(texts for texts, _ in parts)), RowIds(edges, left)

    def _over_blocks(self, decode: Callable[[slice, Block, I64], T]) -> Iterator[T]:
        """What `decode` gives for every block of leaves, in order."""
        pages, step = self._leaves.pages, self._file.block_pages
        parts = [slice(first, min(first + step, pages.size)) for first in range(0, pages.size, step)]

        def decode_part(part: slice) -> T:
            return decode(part, *self._file.block(pages[part]))

        if len(parts) == 1:
            yield decode_part(parts[0])
            return
        with ThreadPoolExecutor(_THREADS) as threads:
            yield from threads.map(decode_part, parts)


def _left(left: I64, n: int, begin: int) -> I64:
    """Rows left of a block, numbered as in the table."""
    if n == FAULT:
        raise UnsoundPageError
    rows = left[:n].copy()
    rows[:, 0] += begin
    return rows


def _split(found: Block, lengths: I64) -> list[str | None]:
    """Texts one behind the other as a list; None where the length is negative."""
    ends = np.cumsum(np.maximum(lengths, 0))
    raw = found[: int(ends[-1])].tobytes() if ends.size else b""
    starts = np.concatenate([[0], ends[:-1]]).tolist() if ends.size else []
    spans = zip(starts, ends.tolist(), strict=True)
    # One byte a character: the whole is decoded once.
    texts: list[str | None]
    if raw.isascii():
        whole = raw.decode("ascii")
        texts = [whole[start:end] for start, end in spans]
    else:
        texts = [decoded(raw[start:end]) for start, end in spans]
    for row in np.flatnonzero(lengths < 0).tolist():
        texts[row] = None
    return texts
