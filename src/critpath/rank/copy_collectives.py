"""Collectives done by copy engines: no kernel, only copies between devices that a library issued.

A copy is one where its launching call began inside an NVTX range that NCCL wrote around a communication call of its
own (its name is the function's), on the same thread. A copy between devices alone proves nothing: programs move tensors
too.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, union
from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, NvtxRanges, RuntimeCalls
from critpath.model.trace import Strings

__all__ = ["collective_copies"]

_COMMUNICATION_CALL = re.compile(
    r"nccl(?:All(?:Reduce|Gather|ToAll|toAll)|AlltoAll|ReduceScatter|Reduce|Broadcast|Bcast|Gather|Scatter|Send|Recv|GroupEnd)"
)


def collective_copies(
    copies: Copies, call: I64, calls: RuntimeCalls, ranges: NvtxRanges, strings: Strings
) -> npt.NDArray[np.bool_]:
    """Which copies a communication library issued as part of a collective.

    Args:
        copies: copies of one process.
        call: row of `calls` that issued each of them, -1 where that is not captured.
        calls: API calls of the process.
        ranges: NVTX ranges of the process.
        strings: texts of the export.
    """
    found = np.zeros(len(copies), np.bool_)
    between = np.isin(copies.kind, (CopyKind.D2D, CopyKind.P2P)) & (call >= 0)
    if not between.any():
        return found
    names = [i for i, text in strings.of(ranges.name).items() if _COMMUNICATION_CALL.fullmatch(text)]
    written = ranges.where(np.isin(ranges.name, names) & (ranges.end_ns != NULL))
    rows = np.flatnonzero(between)
    thread, called = calls.thread[call[rows]], calls.start_ns[call[rows]]
    for each in np.unique(written.thread).tolist():
        its = written.where(written.thread == each)
        mine = thread == each
        found[rows[mine]] = union(its.start_ns, its.end_ns).contains(called[mine])
    return found
