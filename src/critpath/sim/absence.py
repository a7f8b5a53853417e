"""Why compute was absent, from what really happened: the truth of docs/method/absent.md.

The definition is the analysis's; the means are not. Where an analysis has measured percentiles and joined rows, this
has each op's true ready time, its true edges, and what truly held each thread. Of the definition's rules for doubtful
evidence (calls without rows, long calls, unresolved waits) none is needed.

    compute  ▓▓▓▓▓┐a                              b┌▓▓▓▓ K
                  │launch-starved │blocking │stalled│
                  └───────────────I─────────P.end───┘
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critpath.sim.absence_host import HostLog, launch_starved
from critpath.sim.absence_walk import Bucket, Dependencies, Part, latest
from critpath.sim.executed import Edge, Execution, Op, OpKind, ProcessRun
from critpath.sim.sweep import Span
from critpath.sim.traced import traced_ops

__all__ = ["AbsentInterval", "UnitAbsence", "absences"]


@dataclass(frozen=True, slots=True, eq=False)
class AbsentInterval:
    """A maximal interval without compute, in true time [ns]. The parts tile it.

    Time in which an opaque graph row ran without compute is an interval of its own, without a kernel.
    """

    start_ns: int
    end_ns: int
    parts: tuple[Part, ...]
    kernel: Op | None = None
    """The compute op or opaque graph that ended it; None after the last one."""
    producers: tuple[Edge, ...] = ()
    """What the kernel had to wait for, relays resolved."""
    producer: Op | None = None
    """The one of them that ended last."""
    ready_ns: int | None = None
    """When the kernel could have started but for its producers, not before the interval's start."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitAbsence:
    """Every interval without compute of one device as one process used it, in time order.

    They cover the time from the first start to the last end of the unit's ops; windows lie within.
    """

    run: ProcessRun
    device: int
    intervals: tuple[AbsentInterval, ...]


def absences(execution: Execution) -> list[UnitAbsence]:
    """The intervals of every unit, in the order of processes and then devices."""
    needs = Dependencies(execution.job.graph_trace)
    found: list[UnitAbsence] = []
    for run in execution.runs:
        log = HostLog(run)
        by_device: dict[int, list[Op]] = {}
        for op in traced_ops(run, needs.graph_trace):
            by_device.setdefault(op.stream.device, []).append(op)
        found += [UnitAbsence(run, d, _intervals(by_device[d], needs, log)) for d in sorted(by_device)]
    return found


def _intervals(ops: Sequence[Op], needs: Dependencies, log: HostLog) -> tuple[AbsentInterval, ...]:
    whole = (min(op.start_ns for op in ops), max(op.end_ns for op in ops))
    kernels = [op for op in ops if op.kind in (OpKind.COMPUTE, OpKind.GRAPH) and op.start_ns < op.end_ns]
    compute = [(op.start_ns, op.end_ns) for op in kernels if op.kind is OpKind.COMPUTE]
    opaque = [(op.start_ns, op.end_ns) for op in kernels if op.kind is OpKind.GRAPH]
    first: dict[int, Op] = {}
    for op in kernels:
        known = first.get(op.start_ns)
        if known is None or (op.call_start_ns, op.index) < (known.call_start_ns, known.index):
            first[op.start_ns] = op
    heads = _first_nodes(ops)
    found = [_interval(gap, first.get(gap[1]), heads, needs, log) for gap in _gaps(compute + opaque, whole)]
    if opaque:
        found += [_opaque(gap) for gap in _gaps(compute + _gaps(opaque, whole), whole)]
        found.sort(key=lambda interval: interval.start_ns)
    return tuple(found)


def _gaps(spans: Iterable[Span], whole: Span) -> list[Span]:
    """The maximal intervals of `whole` that no span covers, in time order."""
    gaps: list[Span] = []
    reached_ns = whole[0]
    for start_ns, end_ns in sorted(spans):
        if reached_ns < start_ns:
            gaps.append((reached_ns, start_ns))
        reached_ns = max(reached_ns, end_ns)
    if reached_ns < whole[1]:
        gaps.append((reached_ns, whole[1]))
    return gaps


def _opaque(gap: Span, kernel: Op | None = None) -> AbsentInterval:
    return AbsentInterval(*gap, (Part(*gap, Bucket.OPAQUE_GRAPH, ""),), kernel)


def _first_nodes(ops: Sequence[Op]) -> dict[int, Op]:
    """The first node to start of each graph launch that is traced by node, by the launch's identity."""
    heads: dict[int, Op] = {}
    for op in ops:
        if op.graph is not None and (id(op.graph) not in heads or op.start_ns < heads[id(op.graph)].start_ns):
            heads[id(op.graph)] = op
    return heads


def _interval(gap: Span, kernel: Op | None, heads: dict[int, Op], needs: Dependencies, log: HostLog) -> AbsentInterval:
    """Attribute one interval, given the op that ends it; before a graph's first node that node is meant."""
    if kernel is None:
        return AbsentInterval(*gap, (Part(*gap, Bucket.DEPENDENCY_STALLED, "no_next_kernel"),))
    if kernel.kind is OpKind.GRAPH:
        return _opaque(gap, kernel)
    begin_ns, end_ns = gap
    edges = needs.edges(kernel)
    producer = latest(edges)
    ready_ns = min(end_ns, max(begin_ns, kernel.ready_ns))
    parts: list[Part] = []
    head = heads[id(kernel.graph)] if kernel.graph is not None else kernel
    if head.start_ns < end_ns:
        if begin_ns < head.start_ns:
            parts += _interval((begin_ns, head.start_ns), head, heads, needs, log).parts
        parts.append(Part(max(begin_ns, head.start_ns), end_ns, Bucket.DEPENDENCY_STALLED, "inside_graph"))
    else:
        freed_ns = ready_ns
        if begin_ns < ready_ns:
            parts += launch_starved(kernel, (begin_ns, ready_ns), log, needs.running(producer, begin_ns, ready_ns))
        if producer is not None and ready_ns < min(producer.end_ns, end_ns):
            freed_ns = min(producer.end_ns, end_ns)
            parts += needs.blocking(producer, ready_ns, freed_ns)
        if freed_ns < end_ns:
            parts += needs.stalled(kernel, freed_ns, end_ns)
    return AbsentInterval(begin_ns, end_ns, tuple(parts), kernel, edges, producer, ready_ns)
