"""A SQLite file's pages, and the leaves of its tables.

The file is read block by block with positioned reads, not mapped: memory stays small, a file that shrinks while it is
read gives a short read where a mapping would end the process, and a cold file is read in its order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from critpath.base.intervals import I64
from critpath.ingest.sqlite_records import FAULT, LEAF, PADDING, Block, cell_counts, children

__all__ = ["Leaves", "PageFile", "UnsoundPageError"]

_HEADER_BYTES = 100
_BLOCK_BYTES = 2**20
_UTF8 = 1
_SMALLEST_USABLE = 480
_DEEPEST = 20
_LOCK_OFFSET = 2**30
_WIDEST_STEP = 8
"""Pages that lie no further apart are read together: bytes between them cost less than a read of their own."""


class UnsoundPageError(Exception):
    """A page is not what the page that names it says, or isn't there; the library decides what that means."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of one table, in the order of its rows.

    Attributes:
        pages: number of each leaf.
        counts: rows of each leaf.
        firsts: position of each leaf's first row, and behind the last one the number of rows; shape (leaves + 1,).
    """

    pages: I64
    counts: I64
    firsts: I64

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return int(self.firsts[-1])


class PageFile:
    """A SQLite file as numbered pages. Build one with `PageFile.opened`.

    Args:
        descriptor: an open file, which this object then closes.
        page_bytes: bytes of a page.
        usable: bytes of a page that SQLite uses.
        pages: number of whole pages.
    """

    def __init__(self, descriptor: int, *, page_bytes: int, usable: int, pages: int) -> None:
        self._descriptor = descriptor
        self._pages = pages
        self._page_bytes = page_bytes
        self.usable = usable

    @classmethod
    def opened(cls, path: Path, known: os.stat_result) -> Self | None:
        """The pages of a database file; None where only the library knows how to read it.

        That is a text encoding other than UTF-8, any header that isn't plain, and a file other than the known one.

        Args:
            path: an existing file.
            known: what the path named before the library opened it: another file may have taken its place.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        file = None
        try:
            if os.path.samestat(os.fstat(descriptor), known):
                file = cls._of(descriptor)
        except OSError:
            file = None
        if file is None:
            os.close(descriptor)
        return file

    @classmethod
    def _of(cls, descriptor: int) -> Self | None:
        header = os.pread(descriptor, _HEADER_BYTES, 0)
        if len(header) < _HEADER_BYTES:
            return None
        size = int.from_bytes(header[16:18], "big")
        size = 65536 if size == 1 else size
        usable = size - header[20]
        encoding = int.from_bytes(header[56:60], "big")
        if size < 512 or size & (size - 1) or usable < _SMALLEST_USABLE or encoding != _UTF8:
            return None
        pages = os.fstat(descriptor).st_size // size
        # The page count is valid only when the last writer kept it.
        if header[24:28] == header[92:96]:
            pages = min(pages, int.from_bytes(header[28:32], "big") or pages)
        return cls(descriptor, page_bytes=size, usable=usable, pages=pages)

    def close(self) -> None:
        """Release the file."""
        os.close(self._descriptor)

    @property
    def block_pages(self) -> int:
        """How many pages make a block of handy size."""
        return max(1, _BLOCK_BYTES // self._page_bytes)

    def block(self, pages: I64) -> tuple[Block, I64]:
        """The bytes of some pages, and the offset of each page in them.

        Args:
            pages: page numbers that exist, not empty.

        Raises:
            UnsoundPageError: the file has become shorter, or can't be read.
        """
        steps = np.diff(pages)
        splits = np.flatnonzero((steps < 1) | (steps > _WIDEST_STEP)) + 1
        firsts = np.concatenate([[0], splits])
        lasts = np.concatenate([splits - 1, [pages.size - 1]])
        lengths = (pages[lasts] - pages[firsts] + 1) * self._page_bytes
        offsets = np.cumsum(lengths) - lengths
        block = np.empty(int(lengths.sum()) + PADDING, np.uint8)
        view = block.data
        for page, at, length in zip(pages[firsts].tolist(), offsets.tolist(), lengths.tolist(), strict=True):
            self._read(view[at : at + length], (page - 1) * self._page_bytes)
        runs = np.repeat(np.arange(firsts.size), lasts - firsts + 1)
        return block, offsets[runs] + (pages - pages[firsts][runs]) * self._page_bytes

    def leaves(self, root: int) -> Leaves:
        """The leaves of the table whose tree has this root.

        Raises:
            UnsoundPageError: the tree is no sound table with rowids.
        """
        level = np.array([root], np.int64)
        seen = level[:0]
        for depth in range(_DEEPEST):
            seen = np.concatenate([seen, level])
            self._check(level, seen)
            block, at = self.block(level[:1])
            if block[at[0]] == LEAF:
                counts = self._counts(level)
                # Only a table without rows has a leaf without any.
                if depth and not counts.all():
                    raise UnsoundPageError
                return Leaves(level, counts, np.concatenate([[0], np.cumsum(counts)]))
            level = self._children(level)
        raise UnsoundPageError

    def _check(self, level: I64, seen: I64) -> None:
        # The first page holds the schema, which is no table that anybody names, and one page is never used.
        sound = (level > 1) & (level <= self._pages) & (level != _LOCK_OFFSET // self._page_bytes + 1)
        # A page that two pages name would be read twice, or for ever.
        if seen.size > self._pages or not sound.all() or np.unique(seen).size != seen.size:
            raise UnsoundPageError

    def _counts(self, level: I64) -> I64:
        counts = np.empty(level.size, np.int64)
        for first in range(0, level.size, self.block_pages):
            part = slice(first, first + self.block_pages)
            if not cell_counts(*self.block(level[part]), self.usable, counts[part]):
                raise UnsoundPageError
        return counts

    def _children(self, level: I64) -> I64:
        parts = []
        for first in range(0, level.size, self.block_pages):
            pages = level[first : first + self.block_pages]
            found = np.empty(pages.size * (self.usable // 6), np.int64)
            n = children(*self.block(pages), self.usable, found)
            if n == FAULT:
                raise UnsoundPageError
            parts.append(found[:n])
        return np.concatenate(parts)

    def _read(self, into: memoryview, offset: int) -> None:
        done = 0
        try:
            while done < len(into):
                n = os.preadv(self._descriptor, [into[done:]], offset + done)
                if n == 0:
                    raise UnsoundPageError
                done += n
        except OSError as fault:
            raise UnsoundPageError from fault
