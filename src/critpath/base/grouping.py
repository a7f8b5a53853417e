"""Rows that share the values of several integer columns, without sorting millions of rows where it can be avoided."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64

__all__ = ["Groups", "group_rows"]

Groups = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""(first, group): `first[g]` is the first row of group g, `group[i]` the group of row i."""

_NARROW = 2**20
_FEW = 64
_PROBE_ROWS = 4096


def group_rows(*columns: I64) -> Groups:
    """Groups of rows whose values in all columns are equal, in no particular order of the groups.

    Args:
        columns: at least one int64 column, each of shape (n,).

    Returns:
        `Groups`: first of shape (g,), group of shape (n,).
    """
    rows = columns[0].size
    if not rows:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    code, size = np.zeros(rows, np.int64), 1
    for column in columns:
        dense, values = _dense(column)
        if size * values >= 2**62:
            size, code = _compressed(code)
        code, size = code * values + dense, size * values
    if size <= 4 * rows + _NARROW:
        first = np.full(size, -1, np.intp)
        first[code[::-1]] = np.arange(rows - 1, -1, -1)
        used = np.flatnonzero(first >= 0)
        number = np.empty(size, np.intp)
        number[used] = np.arange(used.size)
        return first[used], number[code]
    _, at, group = np.unique(code, return_index=True, return_inverse=True)
    return at, group


def _dense(column: I64) -> tuple[I64, int]:
    """(codes, size): codes in [0, size), equal exactly where the values are."""
    low, high = int(column.min()), int(column.max())
    if high - low < _NARROW:
        return column - low, high - low + 1
    few = np.unique(column[:: max(1, column.size // _PROBE_ROWS)])
    if few.size <= _FEW:
        at = np.minimum(np.searchsorted(few, column), few.size - 1)
        if (few[at] == column).all():
            return at.astype(np.int64), int(few.size)
    size, code = _compressed(column)
    return code, size


def _compressed(column: I64) -> tuple[int, I64]:
    values, code = np.unique(column, return_inverse=True)
    return int(values.size), code.astype(np.int64)
