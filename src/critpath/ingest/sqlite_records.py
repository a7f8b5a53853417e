"""Compiled decoding of SQLite's table pages: cells, records and their integers and texts.

Source: the SQLite file format, sections "B-tree Pages" and "Record Format". Every offset and length is checked before
it is used, since nothing else stands between a damaged file and memory that isn't ours. What doesn't hold makes a page
a *fault* (-1): the file isn't what it says, and the library decides. A sound row that asks for more than its page holds
is *left*: the library reads that row alone. So whatever is given here, the library gives too.

A block is the bytes of several pages and `PADDING`; `at` holds the offset of each page. Usable bytes of a page come
first, reserved ones last. All functions are in one module, since a compiled function on disk doesn't notice changes
elsewhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.jit import compiled, inlined

__all__ = ["FAULT", "INTERIOR", "LEAF", "PADDING", "Block", "cell_counts", "children", "integers_of", "texts_of"]

Block = npt.NDArray[np.uint8]

Int = int | np.int64
"""Compiled code holds every number as an int64; a byte must become one before it meets another number."""

FAULT = -1
INTERIOR, LEAF = 5, 13
"""Types of the pages of a table with rowids."""

PADDING = 8
"""Bytes behind the last page of a block, whatever they hold, so that eight may be read wherever one may."""

_LEAF_HEADER, _INTERIOR_HEADER = 8, 12
_SMALLEST_CELL = 4
_LARGEST_PAYLOAD = 2**29
_NULL = -(2**63)
_BYTES_BY_TYPE = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0], np.int64)


@inlined
def _byte(block: Block, at: Int) -> Int:
    # An index without a sign spares the question whether it counts from the end.
    return np.int64(block[np.uint64(at)])


@inlined
def _u16(block: Block, at: Int) -> Int:
    return (_byte(block, at) << 8) | _byte(block, at + 1)


@inlined
def _u32(block: Block, at: Int) -> Int:
    return (_u16(block, at) << 16) | _u16(block, at + 2)


@inlined
def _varint(block: Block, at: Int, end: Int) -> tuple[Int, Int]:
    """(value, offset behind it); the offset is beyond `end` where the number doesn't end before it."""
    value: Int = np.int64(0)
    for i in range(9):
        if at + i >= end:
            return np.int64(0), end + 1
        byte = _byte(block, at + i)
        if i == 8:
            # The ninth byte counts whole.
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + i + 1
    return np.int64(0), end + 1


@inlined
def _signed(block: Block, at: Int, size: Int) -> Int:
    """A big-endian integer of 1 to 8 bytes: as many of eight as are its own, without a question about its size."""
    return ((_u32(block, at) << 32) | _u32(block, at + 4)) >> (64 - 8 * size)


@compiled
def _is_sound(block: Block, page: Int, usable: int, header: int) -> bool:
    """Whether a page's header and its list of free blocks fit each other, as the library's versions check them."""
    cells = _u16(block, page + 3)
    pointers_end = header + 2 * cells
    content = _u16(block, page + 5)
    content = 65536 if content == 0 else content
    if cells > (usable - 8) // 6 or pointers_end > content or content > usable:
        return False
    free = _byte(block, page + 7) + content
    at = _u16(block, page + 1)
    # Free blocks lie in ascending order, so this ends.
    least = content
    while at != 0:
        if at < least or at > usable - 4:
            return False
        size = _u16(block, page + at + 2)
        if size < 4 or at + size > usable:
            return False
        free += size
        # Nearer ones would have been merged.
        least = at + size + 4
        at = _u16(block, page + at)
    return bool(pointers_end <= free <= usable)


@compiled
def children(block: Block, at: I64, usable: int, pages: I64) -> int:
    """Write the children of interior pages in row order, and give their number; `FAULT` where a page isn't sound."""
    found = 0
    for i in range(at.size):
        page = at[i]
        if _byte(block, page) != INTERIOR or not _is_sound(block, page, usable, _INTERIOR_HEADER):
            return FAULT
        cells = _u16(block, page + 3)
        if cells == 0 or found + cells + 1 > pages.size:
            return FAULT
        for k in range(cells):
            cell = _u16(block, page + _INTERIOR_HEADER + 2 * k)
            if cell < _INTERIOR_HEADER + 2 * cells or cell + 5 > usable:
                return FAULT
            _, after = _varint(block, page + cell + 4, page + usable)
            if after > page + usable:
                return FAULT
            pages[found] = _u32(block, page + cell)
            found += 1
        pages[found] = _u32(block, page + 8)
        found += 1
    return found


@inlined
def _cell(block: Block, page: Int, k: int, cells: Int, usable: int) -> tuple[Int, Int, Int, Int]:
    """(rowid, offset of the payload in the block, its length, how much of it is here); length `FAULT` in damage."""
    cell = _u16(block, page + _LEAF_HEADER + 2 * k)
    end = page + usable
    if cell < _LEAF_HEADER + 2 * cells or cell + _SMALLEST_CELL > usable:
        return np.int64(0), np.int64(0), np.int64(FAULT), np.int64(0)
    length, after = _varint(block, page + cell, end)
    rowid, start = _varint(block, after, end)
    if start > end or length < 1 or length > _LARGEST_PAYLOAD:
        return np.int64(0), np.int64(0), np.int64(FAULT), np.int64(0)
    here, pointer = length, 0
    most = usable - 35
    if length > most:
        least = (usable - 12) * 32 // 255 - 23
        here, pointer = least + (length - least) % (usable - 4), 4
        if here > most:
            here = least
    if start + here + pointer > end:
        return np.int64(0), np.int64(0), np.int64(FAULT), np.int64(0)
    return rowid, start, length, here


@compiled
def cell_counts(block: Block, at: I64, usable: int, counts: I64) -> bool:
    """Write the number of cells of each leaf; False where a page is no sound leaf, or a cell goes beyond its page."""
    for i in range(at.size):
        page = at[i]
        if _byte(block, page) != LEAF or not _is_sound(block, page, usable, _LEAF_HEADER):
            return False
        cells = _u16(block, page + 3)
        for k in range(cells):
            _, _, length, _ = _cell(block, page, k, cells, usable)
            if length == FAULT:
                return False
        counts[i] = cells
    return True


@inlined
def _size(kind: Int) -> Int:
    """Bytes of a value by its serial type; `FAULT` for a type that no file may hold."""
    if kind < 10:
        return _BYTES_BY_TYPE[kind] if kind >= 0 else FAULT
    if kind < 12 or kind > 2 * _LARGEST_PAYLOAD:
        return FAULT
    return (kind - 12) >> 1


@compiled
def integers_of(  # noqa: PLR0912, PLR0913, PLR0917 - one state machine, for the reason below
    block: Block,
    at: I64,
    counts: I64,
    usable: int,
    slots: I64,
    nulls: npt.NDArray[np.bool_],
    alias: int,
    out: I64,
    edges: I64,
    left: I64,
) -> int:
    """Write wanted integers of the rows of leaves, and give the number of rows left; `FAULT` where a page isn't sound.

    One state machine of some length: a call a value, or an array a column, would cost several times the decoding.

    Args:
        block: bytes of the leaves.
        at: offset of each leaf.
        counts: cells each leaf must have.
        usable: usable bytes of a page.
        slots: for each column up to the last wanted one, its row of `out`, or -1.
        nulls: for each of these columns, whether NULL is what a row without it has.
        alias: the row of `out` that takes the rowid, or -1.
        out: receives values, shape (wanted columns, rows); NULL as the least int64.
        edges: receives the first and last rowid of each leaf, shape (leaves, 2).
        left: receives row and rowid of each row left, shape (rows, 2).
    """
    row, remaining = 0, 0
    for i in range(at.size):
        page, cells = at[i], counts[i]
        if _byte(block, page) != LEAF or _u16(block, page + 3) != cells or _LEAF_HEADER + 2 * cells > usable:
            return FAULT
        before: Int = np.int64(0)
        for k in range(cells):
            rowid, start, length, here = _cell(block, page, k, cells, usable)
            if length == FAULT or (k > 0 and rowid <= before):
                return FAULT
            before = rowid
            if k == 0:
                edges[i, 0] = rowid
            if alias >= 0:
                out[alias, row] = rowid
            head, h = _varint(block, start, start + here)
            if h > start + here or head < h - start or head > length:
                return FAULT
            # The one integer that the library's reader spells its mistyped values with is its own to read.
            is_left = head > here or (alias >= 0 and rowid == _NULL + 1)
            head_end = start + head
            offset: Int = head
            column = 0
            while not is_left and h < head_end and column < slots.size:
                kind: Int = _byte(block, h)
                h += 1
                if kind >= 0x80:
                    kind, h = _varint(block, h - 1, head_end)
                size = _size(kind)
                if h > head_end or size < 0 or offset + size > length:
                    return FAULT
                slot = slots[column]
                if slot >= 0:
                    if kind == 0:
                        out[slot, row] = _NULL
                    elif 7 < kind < 10:
                        out[slot, row] = kind - 8
                    elif kind < 7 and offset + size <= here:
                        value = _signed(block, start + offset, size)
                        out[slot, row] = value
                        is_left = value == _NULL + 1
                    else:
                        is_left = True
                offset += size
                column += 1
            if not is_left:
                if h == head_end and offset != length:
                    return FAULT
                for c in range(column, slots.size):
                    if slots[c] >= 0:
                        out[slots[c], row] = _NULL
                        is_left = is_left or not nulls[c]
            if is_left:
                left[remaining, 0] = row
                left[remaining, 1] = rowid
                remaining += 1
            row += 1
        edges[i, 1] = before
    return remaining


@compiled
def texts_of(  # noqa: PLR0911, PLR0912, PLR0913, PLR0917 - one state machine, as above
    block: Block,
    at: I64,
    counts: I64,
    usable: int,
    column: int,
    null: bool,
    out: Block,
    lengths: I64,
    edges: I64,
    left: I64,
) -> int:
    """Gather one column's texts of the rows of leaves, one behind the other, and give the number of rows left.

    Args:
        block: bytes of the leaves.
        at: offset of each leaf.
        counts: cells each leaf must have.
        usable: usable bytes of a page.
        column: position of the column in a record.
        null: whether NULL is what a row without the column has.
        out: receives the bytes of texts and blobs.
        lengths: receives the length of each row's text [bytes]; -1 for NULL and rows left.
        edges: receives the first and last rowid of each leaf, shape (leaves, 2).
        left: receives row and rowid of each row left, shape (rows, 2).
    """
    row, remaining = 0, 0
    used: Int = 0
    for i in range(at.size):
        page, cells = at[i], counts[i]
        if _byte(block, page) != LEAF or _u16(block, page + 3) != cells or _LEAF_HEADER + 2 * cells > usable:
            return FAULT
        before: Int = np.int64(0)
        for k in range(cells):
            rowid, start, length, here = _cell(block, page, k, cells, usable)
            if length == FAULT or (k > 0 and rowid <= before):
                return FAULT
            before = rowid
            if k == 0:
                edges[i, 0] = rowid
            head, h = _varint(block, start, start + here)
            if h > start + here or head < h - start or head > length:
                return FAULT
            is_left = head > here
            head_end = start + head
            passed = -1
            offset: Int = head
            kind: Int = np.int64(0)
            size: Int = np.int64(0)
            while not is_left and h < head_end and passed < column:
                offset += size
                kind, h = _varint(block, h, head_end)
                size = _size(kind)
                if h > head_end or size < 0 or offset + size > length:
                    return FAULT
                passed += 1
            if not is_left and h == head_end and offset + size != length:
                return FAULT
            lengths[row] = -1
            if is_left or passed < column:
                is_left = is_left or not null
            elif kind >= 12 and offset + size <= here:
                # Cells of a damaged page may overlap, so that their texts are longer than the page.
                if used + size > out.size:
                    return FAULT
                for j in range(size):
                    out[used + j] = block[start + offset + j]
                used += size
                lengths[row] = size
            elif kind != 0:
                is_left = True
            if is_left:
                left[remaining, 0] = row
                left[remaining, 1] = rowid
                remaining += 1
            row += 1
        edges[i, 1] = before
    return remaining
