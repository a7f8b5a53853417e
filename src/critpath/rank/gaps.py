"""Intervals without compute, each with the op that ended it and the three instants that divide it.

The definition is docs/method/absent.md. Everything here is found on the whole timeline; windows clip it afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, union
from critpath.model.identity import NULL
from critpath.rank.dependencies import Dependencies
from critpath.rank.latencies import Latencies
from critpath.rank.process_ops import GRAPH, ProcessOps

__all__ = [
    "INSIDE_GRAPH",
    "NO_KERNEL",
    "OPAQUE",
    "ORDINARY",
    "UNKNOWN_ISSUE",
    "Gaps",
    "Launch",
    "Timeline",
    "gaps",
    "instants",
    "launch_of",
]

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


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where intervals are looked for.

    Attributes:
        start_ns, end_ns: first and last instant that any window may ask for.
        unseen_graphs_ns: when calls began that launched a graph which left no device row.
    """

    start_ns: int
    end_ns: int
    unseen_graphs_ns: I64


def gaps(
    ops: ProcessOps,
    mine: npt.NDArray[np.bool_],
    known: Dependencies,
    measured: Latencies,
    around: Timeline,
) -> Gaps:
    """The intervals of one unit.

    Args:
        ops: all ops of the process.
        mine: which of them are this unit's.
        known: their dependencies.
        measured: the unit's latencies.
        around: the timeline, and what ran on it without leaving rows.
    """
    graph_class = ops.class_of(GRAPH)
    is_graph = mine & (ops.class_index == graph_class) if graph_class >= 0 else np.zeros(len(ops), np.bool_)
    solid = ops.end_ns > ops.start_ns
    ends_gaps = np.flatnonzero(((mine & ops.compute) | is_graph) & solid)
    compute = mine & ops.compute
    computing = union(ops.start_ns[compute], ops.end_ns[compute])
    graphs = union(ops.start_ns[is_graph], ops.end_ns[is_graph]).subtract(computing)
    idle = union(ops.start_ns[ends_gaps], ops.end_ns[ends_gaps]).gaps(around.start_ns, around.end_ns)
    idle, kernel = _split_at_first_nodes(ops, idle, _kernel_at(ops, ends_gaps, idle.ends_ns))
    kind = _kinds(ops, kernel, is_graph)
    at = np.maximum(kernel, 0)
    producer = np.where(kernel >= 0, known.latest[at] if len(ops) else -1, -1)
    called = np.where(kernel >= 0, ops.called_ns()[at] if len(ops) else NULL, NULL)
    kind[_behind_unseen_graphs(called, around.unseen_graphs_ns)] = OPAQUE
    done = np.where(producer >= 0, ops.end_ns[np.maximum(producer, 0)] if len(ops) else NULL, NULL)
    unlinked = (kind == ORDINARY) & (called == NULL)
    usual = measured.usual_gap_ns(ops, kernel, producer) if len(ops) else done
    bound = unlinked & (producer >= 0) & (idle.ends_ns - done <= usual)
    kind = np.where(unlinked & ~bound, UNKNOWN_ISSUE, kind)
    launch = launch_of(ops, kernel, measured)
    latency, ready = instants(idle, launch, done)
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


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch of one op an interval [ns], shape (n,): its call, and the latency such launches have."""

    called_ns: I64
    returned_ns: I64
    low_ns: I64
    high_ns: I64
    long_call_ns: I64

    def moved(self, by_ns: int) -> Launch:
        """The same launches on a host clock moved by some time."""
        return replace(self, called_ns=self.called_ns + by_ns, returned_ns=self.returned_ns + by_ns)


def launch_of(ops: ProcessOps, kernel: I64, measured: Latencies) -> Launch:
    """The launches of the given ops; NULL times for -1 and for ops without a call."""
    if not len(ops):
        nothing = np.full(kernel.size, NULL, np.int64)
        return Launch(nothing, nothing, nothing, nothing, nothing)
    at = np.maximum(kernel, 0)
    by_graph = ops.by_graph[at]
    return Launch(
        called_ns=np.where(kernel >= 0, ops.called_ns()[at], NULL),
        returned_ns=np.where(kernel >= 0, ops.returned_ns()[at], NULL),
        low_ns=measured.of(by_graph, "low_ns"),
        high_ns=measured.of(by_graph, "high_ns"),
        long_call_ns=measured.of(by_graph, "long_call_ns"),
    )


def instants(idle: Intervals, launch: Launch, done_ns: I64) -> tuple[I64, I64]:
    """(launch latency granted, issue-ready time) of the op that ends each interval; meaningless without a call.

    Where all producers had ended before the call, nothing but the launch lay between, and the op's own latency counts
    up to the 95th percentile; elsewhere the 5th. An op that starts inside its own long call, or right after it, was
    issued when it started.
    """
    a, b = idle.starts_ns, idle.ends_ns
    linked = launch.called_ns != NULL
    called = np.where(linked, launch.called_ns, a)
    latency = np.where(done_ns < called, np.minimum(b - called, launch.high_ns), launch.low_ns)
    latency = np.maximum(latency, 0)
    ready = np.minimum(b, np.maximum(a, called + latency))
    returned = np.where(linked, launch.returned_ns, a)
    held_up = linked & (returned - called > launch.long_call_ns) & (b <= returned + launch.high_ns)
    return latency, np.where(held_up, b, ready)


def _split_at_first_nodes(ops: ProcessOps, idle: Intervals, kernel: I64) -> tuple[Intervals, I64]:
    """Intervals that end inside a graph launch, cut where its first node began: until then the launch is the cause."""
    if not len(ops) or not kernel.size:
        return idle, kernel
    first = ops.first_node[np.maximum(kernel, 0)]
    at = ops.start_ns[first]
    cut = (kernel >= 0) & ops.later_node[np.maximum(kernel, 0)] & (at > idle.starts_ns) & (at < idle.ends_ns)
    starts = np.concatenate([idle.starts_ns, at[cut]])
    ends = np.concatenate([np.where(cut, at, idle.ends_ns), idle.ends_ns[cut]])
    ended_by = np.concatenate([np.where(cut, first, kernel), kernel[cut]])
    order = np.argsort(starts, kind="stable")
    return Intervals(starts[order], ends[order]), ended_by[order]


def _kernel_at(ops: ProcessOps, candidates: npt.NDArray[np.intp], ends_ns: I64) -> I64:
    """The candidate that starts at each end; ties: the one issued first; -1 without one."""
    called = ops.called_ns()[candidates]
    order = candidates[np.lexsort((ops.correlation[candidates], called, ops.start_ns[candidates]))]
    if not order.size:
        return np.full(ends_ns.size, -1, np.int64)
    starts = ops.start_ns[order]
    place = np.minimum(np.searchsorted(starts, ends_ns, side="left"), order.size - 1)
    return np.where(starts[place] == ends_ns, order[place], -1)


def _behind_unseen_graphs(called_ns: I64, unseen_ns: I64) -> npt.NDArray[np.bool_]:
    """Intervals in which a graph that left no row may have run: it was issued between the op before and the one after.

    An op without a call is taken to have been issued right after the one before it; after the last, anything may.
    """
    issued = np.maximum.accumulate(called_ns) if called_ns.size else called_ns
    issued = np.append(issued[:-1], 2**62) if called_ns.size and called_ns[-1] == NULL else issued
    before = np.concatenate([[NULL], issued[:-1]]) if issued.size else issued
    unseen = np.sort(unseen_ns)
    seen_by = np.searchsorted(unseen, issued, side="right") - np.searchsorted(unseen, before, side="right")
    behind: npt.NDArray[np.bool_] = seen_by > 0
    return behind


def _kinds(ops: ProcessOps, kernel: I64, is_graph: npt.NDArray[np.bool_]) -> I64:
    kind = np.full(kernel.size, ORDINARY, np.int64)
    if not len(ops):
        return np.full(kernel.size, NO_KERNEL, np.int64)
    at = np.maximum(kernel, 0)
    kind[ops.later_node[at]] = INSIDE_GRAPH
    kind[is_graph[at]] = OPAQUE
    kind[kernel < 0] = NO_KERNEL
    return kind
