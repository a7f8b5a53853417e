"""What is known of one process before any of its units is analysed."""

from __future__ import annotations

import numpy as np

from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import Trace
from critpath.rank.attribution import HostRows, ProcessFacts
from critpath.rank.dependencies import dependencies
from critpath.rank.graph_tracing import graph_tracing
from critpath.rank.host_waits import host_waits
from critpath.rank.process_ops import process_ops

__all__ = ["process_facts"]


def process_facts(trace: Trace, process: int, taxonomy: Taxonomy) -> ProcessFacts:
    """Ops, dependencies and host waits of one process.

    Args:
        trace: without damaged records.
        process: process key.
        taxonomy: how kernel names are read.
    """
    ops = process_ops(trace, process, taxonomy)
    known = dependencies(trace, process, ops)
    one_queue = trace.environment.get("CUDA_DEVICE_MAX_CONNECTIONS") == "1"
    waits = host_waits(trace, process, ops, known)
    unseen = [row.uncovered_ns for row in graph_tracing(trace).coverage if row.process == process]
    overheads, calls, switches = trace.overheads, trace.os_calls, trace.thread_switches
    host = HostRows(
        overheads.where(overheads.process == process),
        calls.where(calls.process == process),
        switches.where(switches.process == process),
    )
    return ProcessFacts(
        ops,
        known,
        waits,
        one_queue,
        trace.source.batches_launches,
        host,
        np.concatenate([np.empty(0, np.int64), *unseen]),
    )
