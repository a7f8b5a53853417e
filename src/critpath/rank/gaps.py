"""Intervals without compute, each with the op that ended it and the three instants that divide it.

The definition is docs/method/absent.md. Everything here is found on the whole timeline; windows clip it afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, union
from critpath.model.identity import NULL
from critpath.rank.dependencies import Dependencies
from critpath.rank.latencies import Latencies
from critpath.rank.process_ops import GRAPH, ProcessOps

__all__ = ["INSIDE_GRAPH", "NO_KERNEL", "OPAQUE", "ORDINARY", "UNKNOWN_ISSUE", "Gaps", "gaps", "instants"]

ORDINARY, UNKNOWN_ISSUE, INSIDE_GRAPH, OPAQUE, NO_KERNEL = range(5)
"""What is known of an interval: all; not when its op was issued; a graph's inside; an opaque graph; no op at all."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Maximal intervals without compute and without opaque graph on one unit, in time order; shape (n,).

    Attributes:
        start_ns, end_ns: the interval [a, b).
        kernel: the op K that starts at b, a row of the process' ops; -1 without one.
        kind: `ORDINARY`, `UNKNOWN_ISSUE`, `INSIDE_GRAPH`, `OPAQUE` or `NO_KERNEL`.
        producer: K's producer P with the latest end, -1 without one.
        called_ns: start of K's API call c, NULL where it is not captured.
        latency_ns: launch latency L granted to K.
        ready_ns: issue-ready time I.
        done_ns: end of the part that P's end explains: min(b, max(I, P.end)).
        graphs: when an opaque graph ran without compute.
    """

    start_ns: I64
    end_ns: I64
    kernel: I64
    kind: I64
    producer: I64
    called_ns: I64
    latency_ns: I64
    ready_ns: I64
    done_ns: I64
    graphs: Intervals

    def __len__(self) -> int:
        return int(self.start_ns.size)


def gaps(
    ops: ProcessOps,
    mine: npt.NDArray[np.bool_],
    known: Dependencies,
    measured: Latencies,
    span_ns: tuple[int, int],
) -> Gaps:
    """The intervals of one unit.

    Args:
        ops: all ops of the process.
        mine: which of them are this unit's.
        known: their dependencies.
        measured: the unit's latencies.
        span_ns: the timeline: first and last instant that any window may ask for.
    """
    graph_class = ops.class_of(GRAPH)
    is_graph = mine & (ops.class_index == graph_class) if graph_class >= 0 else np.zeros(len(ops), np.bool_)
    solid = ops.end_ns > ops.start_ns
    ends_gaps = np.flatnonzero(((mine & ops.compute) | is_graph) & solid)
    compute = mine & ops.compute
    computing = union(ops.start_ns[compute], ops.end_ns[compute])
    graphs = union(ops.start_ns[is_graph], ops.end_ns[is_graph]).subtract(computing)
    idle = union(ops.start_ns[ends_gaps], ops.end_ns[ends_gaps]).gaps(*span_ns)
    kernel = _kernel_at(ops, ends_gaps, idle.ends_ns)
    kind = _kinds(ops, kernel, is_graph)
    at = np.maximum(kernel, 0)
    producer = np.where(kernel >= 0, known.latest[at] if len(ops) else -1, -1)
    called = np.where(kernel >= 0, ops.called_ns()[at] if len(ops) else NULL, NULL)
    done = np.where(producer >= 0, ops.end_ns[np.maximum(producer, 0)] if len(ops) else NULL, NULL)
    unlinked = (kind == ORDINARY) & (called == NULL)
    bound = unlinked & (producer >= 0) & (idle.ends_ns - done <= measured.back_to_back_ns)
    kind = np.where(unlinked & ~bound, UNKNOWN_ISSUE, kind)
    returned = np.where(kernel >= 0, ops.returned_ns()[at] if len(ops) else NULL, NULL)
    latency, ready = instants(idle, called, returned, done, measured)
    ready = np.where(bound, idle.starts_ns, ready)
    return Gaps(
        start_ns=idle.starts_ns,
        end_ns=idle.ends_ns,
        kernel=kernel,
        kind=kind,
        producer=producer,
        called_ns=called,
        latency_ns=latency,
        ready_ns=ready,
        done_ns=np.clip(done, ready, idle.ends_ns),
        graphs=graphs,
    )


def instants(idle: Intervals, called_ns: I64, returned_ns: I64, done_ns: I64, measured: Latencies) -> tuple[I64, I64]:
    """(launch latency granted, issue-ready time) of the op that ends each interval; meaningless without a call.

    Where all producers had ended before the call, nothing but the launch lay between, and the op's own latency counts
    up to the 95th percentile; elsewhere the 5th. An op that starts inside its own long call, or right after it, was
    issued when it started.
    """
    a, b = idle.starts_ns, idle.ends_ns
    linked = called_ns != NULL
    called = np.where(linked, called_ns, a)
    alone = done_ns < called
    latency = np.where(alone, np.minimum(b - called, measured.high_ns), measured.low_ns)
    latency = np.maximum(latency, 0)
    ready = np.minimum(b, np.maximum(a, called + latency))
    returned = np.where(linked, returned_ns, a)
    held_up = linked & (returned - called > measured.long_call_ns) & (b <= returned + measured.high_ns)
    return latency, np.where(held_up, b, ready)


def _kernel_at(ops: ProcessOps, candidates: npt.NDArray[np.intp], ends_ns: I64) -> I64:
    """The candidate that starts at each end; ties: the one issued first; -1 without one."""
    called = ops.called_ns()[candidates]
    order = candidates[np.lexsort((ops.correlation[candidates], called, ops.start_ns[candidates]))]
    if not order.size:
        return np.full(ends_ns.size, -1, np.int64)
    starts = ops.start_ns[order]
    place = np.minimum(np.searchsorted(starts, ends_ns, side="left"), order.size - 1)
    return np.where(starts[place] == ends_ns, order[place], -1)


def _kinds(ops: ProcessOps, kernel: I64, is_graph: npt.NDArray[np.bool_]) -> I64:
    kind = np.full(kernel.size, ORDINARY, np.int64)
    if not len(ops):
        return np.full(kernel.size, NO_KERNEL, np.int64)
    at = np.maximum(kernel, 0)
    kind[_launch_already_began(ops)[at]] = INSIDE_GRAPH
    kind[is_graph[at]] = OPAQUE
    kind[kernel < 0] = NO_KERNEL
    return kind


def _launch_already_began(ops: ProcessOps) -> npt.NDArray[np.bool_]:
    """Whether each op is a graph node of a launch whose first node started earlier."""
    nodes = np.flatnonzero(ops.graph_node & (ops.correlation != NULL) & (ops.correlation != 0))
    later = np.zeros(len(ops), np.bool_)
    if nodes.size:
        order = nodes[np.lexsort((ops.start_ns[nodes], ops.correlation[nodes]))]
        head = np.concatenate([[True], ops.correlation[order][1:] != ops.correlation[order][:-1]])
        first_start = ops.start_ns[order][np.maximum.accumulate(np.where(head, np.arange(order.size), 0))]
        later[order] = ops.start_ns[order] > first_start
    return later
