"""Ops and ranges made of plain numbers, as a process would have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.model.tables import NvtxRanges, RuntimeCalls
from critpath.model.trace import Strings
from critpath.rank.process_ops import ProcessOps

Row = tuple[str, int, int, int, int]
"""(text, thread, start, end, domain) of a range."""


def ops_of(
    called: I64, thread: I64, start: I64, length: I64, *, compute: I64 | None = None, linked: I64 | None = None
) -> ProcessOps:
    """Ops of one stream each by number, classes compute and nccl; those not linked have no call."""
    n = called.size
    computes = np.ones(n, np.bool_) if compute is None else compute.astype(np.bool_)
    call = np.arange(n) if linked is None else np.where(linked.astype(np.bool_), np.arange(n), -1)
    calls = RuntimeCalls.of(
        start_ns=called, end_ns=called + 5, process=np.ones(n, np.int64), thread=thread, correlation=np.arange(n) + 1,
        name=np.full(n, NULL),
    )  # fmt: skip
    zero = np.zeros(n, np.int64)
    return ProcessOps(
        start_ns=start, end_ns=start + length, device=zero, context=zero, stream=zero, queue=zero, queues=((0, 0),),
        correlation=np.arange(n) + 1, call=call, class_index=(~computes).astype(np.int64), classes=("compute", "nccl"),
        component=zero, components=("",), compute=computes, communication=~computes, graph_node=np.zeros(n, np.bool_),
        first_node=np.arange(n), name=zero + 1, grid=zero + 1, block=zero + 1,
        copy_group=zero - 1, copy_groups=(), migrations={}, calls=calls,
        strings=Strings({1: "kernel"}),
    )  # fmt: skip


def ranges_of(rows: Sequence[Row], strings: Strings, *, end_thread: Sequence[int] | None = None) -> NvtxRanges:
    """A table of ranges; end -1 = never closed."""
    n = len(rows)
    return NvtxRanges.of(
        start_ns=[r[2] for r in rows],
        end_ns=[r[3] if r[3] >= 0 else NULL for r in rows],
        process=[1] * n,
        thread=[r[1] for r in rows],
        end_thread=end_thread if end_thread is not None else [NULL] * n,
        name=[strings.intern(r[0]) for r in rows],
        domain=[r[4] for r in rows],
        kind=[59] * n,
    )
