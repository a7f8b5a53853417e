"""Which range of a backward pass belongs to which range of the forward pass, by autograd's sequence numbers.

PyTorch numbers the operations of a forward pass and writes the number into the range (`seq = 12`); the range of the
gradient function, which another thread runs, repeats it. The numbers are counted per thread, so that two threads that
both run forward passes may use one twice. A number tells nothing where more than two threads used it, or where the
later thread's numbers mostly rise: a backward pass goes from the last operation to the first.

Source: PyTorch's documentation of `torch.autograd.profiler.emit_nvtx`, "Forward-backward correlation".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.base.nesting import I32

__all__ = ["forward_rows"]


def forward_rows(thread: I64, start_ns: I64, sequence: I64) -> I32:
    """The forward range of each range of a backward pass, -1 for all others, shape (n,).

    That is the latest earlier range with the same number on the thread that used the number first.

    Args:
        thread: rows are ordered by (thread, start).
        start_ns: shape (n,).
        sequence: number in the range's text, -1 without one.
    """
    result = np.full(thread.size, -1, np.int32)
    rows = np.flatnonzero(sequence >= 0)
    rows = rows[np.lexsort((start_ns[rows], sequence[rows]))]
    if rows.size < 2:
        return result
    number, at = sequence[rows], start_ns[rows]
    head = _heads(number[1:] != number[:-1])
    first_thread = thread[rows][head]
    is_first = thread[rows] == first_thread
    is_forward = np.where(is_first, np.arange(rows.size), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(is_forward)[:-1]])
    moment = _heads((number[1:] != number[:-1]) | (at[1:] != at[:-1]))
    found = before[moment]
    sure = ~is_first & (found >= head) & _used_by_two(head, thread[rows], is_first)
    sure &= ~np.isin(thread[rows], _rising(thread, sequence))
    result[rows[sure]] = rows[found[sure]]
    return result


def _heads(differs: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """For each row, the first row of the run it is part of; a run ends where the next row differs."""
    return np.maximum.accumulate(np.where(np.concatenate([[True], differs]), np.arange(differs.size + 1), 0))


def _used_by_two(head: npt.NDArray[np.intp], thread: I64, is_first: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether all rows of the run that aren't on its first thread are on one other thread."""
    places = np.flatnonzero(~is_first)
    other = np.zeros(thread.size, np.int64)
    other[head[places]] = thread[places]
    strange = places[thread[places] != other[head[places]]]
    sure = np.ones(thread.size, np.bool_)
    sure[head[strange]] = False
    return sure[head]


def _rising(thread: I64, sequence: I64) -> I64:
    """Threads whose numbers rise more often than they fall."""
    rows = np.flatnonzero(sequence >= 0)
    change = np.sign(np.diff(sequence[rows]))
    same = thread[rows][1:] == thread[rows][:-1]
    threads, code = np.unique(thread[rows][1:][same], return_inverse=True)
    net = np.bincount(code, weights=change[same].astype(np.float64), minlength=threads.size)
    return threads[net > 0]
