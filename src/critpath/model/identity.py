"""Who is who: the one place where ids of an export become keys.

An export's ids are unique within a process only: correlation ids, streams, contexts, event handles and event sync ids
of two processes collide as a rule. So every key here begins with the process, and the process is the *whole*
`globalPid >> 24`, VM and hardware bits included, since merged exports repeat pid numbers across hosts.

    call = join_index((kernels.process, kernels.correlation), (calls.process, calls.correlation))
    issued_ns = np.where(call >= 0, calls.start_ns[call], NULL)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64

__all__ = ["NO_ID", "NULL", "UnitKey", "is_real_id", "join_index", "pid_of", "process_of", "thread_of"]

NULL = -(2**63)
"""How a canonical int64 column spells a NULL or missing value; no id and no valid time has this value."""

NO_ID = 2**32 - 1
"""CUPTI's "invalid" mark in the id columns of synchronization rows."""

_PROCESS_BITS = 40
_PID_BITS = 24

_FREE_POSITIONS = 2**20
"""A join by address may use this many positions however few its rows are [4 or 8 bytes each] …"""
_POSITIONS_PER_ROW = 8
"""… and this many more for each row of either side; where ids are sparser, sorting takes less memory and time."""


def process_of(global_id: I64) -> I64:
    """The process key of serialized global ids (`globalPid` or `globalTid`), shape of `global_id`; NULL stays NULL.

    Every other key lies in [0, 2**40). The sign of a 64-bit id with its top bit set is no part of the key.
    """
    key = (global_id >> _PID_BITS) & ((1 << _PROCESS_BITS) - 1)
    return np.where(global_id == NULL, NULL, key)


def pid_of(process: int) -> int:
    """The operating system's process number inside a process key, in [0, 2**24): a label, never a key.

    NULL has no process number and reads 0, as a session-wide row does.
    """
    return process & ((1 << _PID_BITS) - 1)


def thread_of(global_tid: I64) -> I64:
    """The thread number inside serialized thread ids, in [0, 2**24), shape of `global_tid`; NULL stays NULL.

    A label, unique only beside its process.
    """
    return np.where(global_tid == NULL, NULL, global_tid & ((1 << _PID_BITS) - 1))


def is_real_id(ids: I64) -> npt.NDArray[np.bool_]:
    """Whether an id column of a synchronization row names something, shape of `ids`.

    Not NULL, not CUPTI's invalid mark, not -1. 0 counts as real, since event handles and streams may have it; an event
    sync id of 0 is none, which `join_index` knows.
    """
    real: npt.NDArray[np.bool_] = (ids != NULL) & (ids != NO_ID) & (ids != -1)
    return real


@dataclass(frozen=True, slots=True, order=True)
class UnitKey:
    """One device as one process used it, in one report: what others call a rank's trace.

    Attributes:
        report: index of the input in the order of the report.
        process: process key (`process_of`).
        device: CUDA ordinal inside the process.
    """

    report: int
    process: int
    device: int


def join_index(keys: tuple[I64, ...], other: tuple[I64, ...]) -> I64:
    """For each row of `keys`, the first row of `other` with equal key columns, or -1.

    Rows whose last key column is NULL or 0 join nothing: 0 is CUPTI's "no correlation". In the columns before it NULL
    equals NULL, so rows without a process join each other and nobody else.

    Linear where the last column is dense, as correlation ids are: each code then has an address. Sparse ids are sorted.

    Args:
        keys: key columns of the left side, each of shape (n,); leading columns with few values, as processes, first.
        other: the same columns of the right side, each of shape (m,). Repeated keys keep their first row.

    Returns:
        int64 indices into `other`, shape (n,).

    Raises:
        ValueError: `keys` and `other` have different numbers of columns, or none.
    """
    if not keys or len(keys) != len(other):
        raise ValueError(f"join of {len(keys)} key columns with {len(other)}")
    result = np.full(keys[0].size, -1, np.int64)
    asking, offered = _joinable(keys[-1]), _joinable(other[-1])
    left = [column[asking] for column in keys]
    right = [column[offered] for column in other]
    if not left[0].size or not right[0].size:
        return result
    mine, theirs, size = _codes(left, right)
    if size <= _FREE_POSITIONS + _POSITIONS_PER_ROW * (mine.size + theirs.size):
        first = _first_by_address(mine, theirs, size)
    else:
        first = _first_by_order(mine, theirs, size)
    result[asking] = first if isinstance(offered, slice) else np.where(first >= 0, offered[first], -1)
    return result


def _joinable(last: I64) -> slice | npt.NDArray[np.intp]:
    """The rows whose last key column names something; all of them is a slice, which costs no copy."""
    real = (last != NULL) & (last != 0)
    return slice(None) if real.all() else np.flatnonzero(real)


def _codes(left: list[I64], right: list[I64]) -> tuple[I64, I64, int]:
    """(mine, theirs, size): one code in [0, size) a key, equal where the key columns are; -1 = not among the right's.

    Leading columns become ranks of their values; the last keeps its distances, which makes its codes cheap and, where
    ids are dense, dense. `size` stays below 2**62.
    """
    mine, theirs, groups = np.zeros(left[0].size, np.int64), np.zeros(right[0].size, np.int64), 1
    for asked, given in zip(left[:-1], right[:-1], strict=True):
        mine, theirs, groups = _paired((mine, theirs, groups), _ranks(asked, given))
        if groups > theirs.size:
            mine, theirs, groups = _ranks(mine, theirs)
    low, high = int(right[-1].min()), int(right[-1].max())
    span = high - low + 1
    if groups * span >= 2**62:
        return _paired((mine, theirs, groups), _ranks(left[-1], right[-1]))
    inside = (left[-1] >= low) & (left[-1] <= high)
    # An id outside [low, high] may wrap around here; it is masked at once.
    return _paired((mine, theirs, groups), (np.where(inside, left[-1] - low, -1), right[-1] - low, span))


def _paired(outer: tuple[I64, I64, int], inner: tuple[I64, I64, int]) -> tuple[I64, I64, int]:
    """The codes of two columns as codes of their pairs, ordered by the outer column."""
    if outer[2] == 1 and not (outer[0] < 0).any():
        return inner
    size = inner[2]
    known = (outer[0] >= 0) & (inner[0] >= 0)
    return np.where(known, outer[0] * size + inner[0], -1), outer[1] * size + inner[1], outer[2] * size


def _ranks(asked: I64, given: I64) -> tuple[I64, I64, int]:
    """(ranks of `asked`, ranks of `given`, number of values): ranks among the values of `given`, -1 = not among them.

    Rows of a process come in blocks, so the values are looked for where the column changes.
    """
    heads = np.concatenate([[0], np.flatnonzero(given[1:] != given[:-1]) + 1])
    ordered = np.sort(given[heads])
    values = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    at = np.minimum(np.searchsorted(values, asked), values.size - 1)
    mine = np.where(values[at] == asked, at, -1)
    if values.size == 1:
        return mine, np.zeros(given.size, np.int64), 1
    lengths = np.diff(heads, append=given.size)
    theirs = np.repeat(np.searchsorted(values, given[heads]), lengths)
    return mine, theirs, int(values.size)


def _first_by_address(mine: I64, theirs: I64, size: int) -> I64:
    """The first row of `theirs` with each code of `mine`, or -1, through one position a code."""
    rows = theirs.size
    kind = np.int32 if rows < 2**31 else np.int64
    # The extra position is what code -1 reads. Of assignments to one position the last stays: written backwards, the
    # first row.
    position = np.full(size + 1, -1, kind)
    position[theirs[::-1]] = np.arange(rows - 1, -1, -1, dtype=kind)
    return position[mine].astype(np.int64)


def _first_by_order(mine: I64, theirs: I64, size: int) -> I64:
    """The first row of `theirs` with each code of `mine`, or -1, by sorting both sides."""
    row_bits = theirs.size.bit_length()
    # Searching in order keeps to one place of the searched array at a time.
    asking = np.argsort(mine)
    wanted = mine[asking]
    if size < 2 ** (62 - row_bits):
        # A code and its row fit one integer: that sorts without an index beside it, equal codes in row order.
        packed = np.sort((theirs << row_bits) | np.arange(theirs.size))
        at = np.minimum(np.searchsorted(packed, wanted << row_bits), theirs.size - 1)
        found, rows = packed[at] >> row_bits, packed[at] & ((1 << row_bits) - 1)
    else:
        order = np.argsort(theirs, kind="stable")
        at = order[np.minimum(np.searchsorted(theirs, wanted, sorter=order), theirs.size - 1)]
        found, rows = theirs[at], at
    result = np.empty(mine.size, np.int64)
    result[asking] = np.where(found == wanted, rows, -1)
    return result
