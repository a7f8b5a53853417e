"""What is known of one process before any of its units is analysed."""

from __future__ import annotations

import numpy as np

from critpath.model.identity import NULL
from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import Trace
from critpath.rank.attribution import HostRows, ProcessFacts
from critpath.rank.dependencies import dependencies
from critpath.rank.graph_tracing import graph_tracing
from critpath.rank.host_waits import host_waits
from critpath.rank.nvtx.places import op_places
from critpath.rank.nvtx.projection import Projection, project
from critpath.rank.process_ops import ProcessOps, process_ops

__all__ = ["process_facts"]


def process_facts(trace: Trace, process: int, taxonomy: Taxonomy) -> ProcessFacts:
    """Ops, dependencies, host waits and ranges of one process.

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
    ranges = _ranges(trace, process, ops)
    return ProcessFacts(
        ops=ops,
        known=known,
        waits=waits,
        one_queue=one_queue,
        batched=trace.source.batches_launches,
        host=host,
        unseen_graphs_ns=np.concatenate([np.empty(0, np.int64), *unseen]),
        ranges=ranges,
        places=op_places(ranges, ops) if (ranges.hi > ranges.lo).any() else None,
    )


def _ranges(trace: Trace, process: int, ops: ProcessOps) -> Projection:
    ranges = trace.nvtx_ranges.where(trace.nvtx_ranges.process == process)
    closed = ranges.end_ns[ranges.end_ns != NULL]
    last = [int(t.max()) for t in (ops.calls.end_ns, ops.end_ns, ranges.start_ns, closed) if t.size]
    return project(ops, ranges, trace.strings, max(last, default=0))
