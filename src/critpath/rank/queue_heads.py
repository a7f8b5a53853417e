"""One hardware queue for all streams: what is issued behind a blocked head waits with it.

With `CUDA_DEVICE_MAX_CONNECTIONS=1` kernels of all streams start in the order of their calls. The kernel issued just
before another is thus an inferred producer of its start: what held the head held both. Nothing in the export records
it, so what is told here is an upper bound.
"""

from __future__ import annotations

import numpy as np

from critpath.base.intervals import I64
from critpath.base.walk import RAN, Works, walk_back
from critpath.model.identity import NULL
from critpath.rank.parts import BLOCKING, STALLED, Parts, joined
from critpath.rank.process_ops import ProcessOps

__all__ = ["behind_heads", "heads"]


def heads(ops: ProcessOps) -> I64:
    """The kernel or graph issued just before each one of the same device, -1 for the first and for copies."""
    called = ops.called_ns()
    engine = np.flatnonzero((ops.compute | ops.communication | ops.by_graph) & (called != NULL))
    order = engine[np.lexsort((ops.start_ns[engine], called[engine], ops.device[engine]))]
    head = np.full(len(ops), -1, np.int64)
    same = ops.device[order][1:] == ops.device[order][:-1]
    head[order[1:][same]] = order[:-1][same]
    return head


def behind_heads(
    ops: ProcessOps, works: Works, stalled: Parts, first_queue_label: int, queue_order: int
) -> tuple[Parts, Parts]:
    """(pieces in which the head had not started, the others).

    Args:
        ops: all ops of the process.
        works: the same as pieces of work.
        stalled: stalled pieces whose `op` is the compute op that was late.
        first_queue_label: blocking label of `queue:` and the first class; the other classes follow.
        queue_order: label of stalled time in which the head's own cause is not known.
    """
    head = heads(ops)[stalled.op] if len(stalled) else stalled.op
    begun = ops.start_ns[np.maximum(head, 0)] if len(ops) else head
    until = np.where(head >= 0, begun, stalled.start_ns)
    behind, after = stalled.cut(stalled.start_ns, until), stalled.cut(until, stalled.end_ns)
    if not len(behind):
        return behind, after
    held_by = heads(ops)[behind.op]
    pieces = walk_back(works, works.latest[held_by], behind.start_ns, behind.end_ns)
    ran = pieces.kind == RAN
    row = pieces.interval[ran]
    label = first_queue_label + ops.class_index[pieces.work[ran]]
    told = Parts.of(behind.gap[row], pieces.start_ns[ran], pieces.end_ns[ran], (BLOCKING, label), pieces.work[ran])
    _, rest = behind.split(told.spans(), queue_order)
    rest = Parts.of(rest.gap, rest.start_ns, rest.end_ns, (STALLED, queue_order), rest.op)
    return joined(told, rest), after
