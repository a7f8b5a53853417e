"""Who is who: the one place where ids of an export become keys.

An export's ids are unique within a process only: correlation ids, streams, contexts, event handles and event sync ids
of two processes collide as a rule. So every key here begins with the process, and the process is the *whole*
`globalPid >> 24`, VM and hardware bits included, since merged exports repeat pid numbers across hosts.
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


def process_of(global_id: I64) -> I64:
    """The process key of serialized global ids (`globalPid` or `globalTid`); NULL stays NULL.

    The sign of a 64-bit id with its top bit set is no part of the key.
    """
    key = (global_id >> _PID_BITS) & ((1 << _PROCESS_BITS) - 1)
    return np.where(global_id == NULL, NULL, key)


def pid_of(process: int) -> int:
    """The operating system's process number inside a process key: a label, never a key."""
    return process & ((1 << _PID_BITS) - 1)


def thread_of(global_tid: I64) -> I64:
    """The thread number inside serialized thread ids: a label, unique only beside its process."""
    return np.where(global_tid == NULL, NULL, global_tid & ((1 << _PID_BITS) - 1))


def is_real_id(ids: I64) -> npt.NDArray[np.bool_]:
    """Whether an id column of a synchronization row names something (not NULL, not CUPTI's invalid mark, not -1)."""
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

    Rows whose last key column is NULL or 0 join nothing: 0 is CUPTI's "no correlation".

    Args:
        keys: key columns of the left side, each of shape (n,).
        other: the same columns of the right side, each of shape (m,). Repeated keys keep their first row.

    Returns:
        int64 indices into `other`, shape (n,).
    """
    n, m = keys[0].size, other[0].size
    result = np.full(n, -1, np.int64)
    if not n or not m:
        return result
    left, right = _dense(keys, other)
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    at = np.searchsorted(ordered, left, side="left")
    found = at < m
    found[found] = ordered[at[found]] == left[found]
    found &= (keys[-1] != NULL) & (keys[-1] != 0)
    result[found] = order[at[found]]
    return result


def _dense(keys: tuple[I64, ...], other: tuple[I64, ...]) -> tuple[I64, I64]:
    """Both sides' key tuples as single codes that are equal exactly where the tuples are."""
    n = keys[0].size
    code = np.zeros(n + other[0].size, np.int64)
    for mine, theirs in zip(keys, other, strict=True):
        column = np.concatenate([mine, theirs])
        values, dense = _factorize(column)
        if code.size and int(code.max()) > (2**62) // max(values, 1):
            _, code = _factorize(code)
        code = code * values + dense
    return code[:n], code[n:]


def _factorize(column: I64) -> tuple[int, I64]:
    """(size, codes): codes in [0, size) that are equal exactly where the values are."""
    if not column.size:
        return 1, column
    low, high = int(column.min()), int(column.max())
    if high - low < 2**31:
        return high - low + 1, column - low
    values, dense = np.unique(column, return_inverse=True)
    return int(values.size), dense.astype(np.int64)
