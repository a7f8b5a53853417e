"""Why compute was absent in the windows of one unit: totals by bucket, class, cause and reason."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals, overlap, union
from critpath.base.segments import inside
from critpath.model.identity import NULL
from critpath.rank.attribution import (
    REASONS,
    STARVED_PARTS,
    Attribution,
    ProcessFacts,
    Surroundings,
    attribution,
)
from critpath.rank.copy_groups import CopyGroup
from critpath.rank.gaps import ORDINARY, UNKNOWN_ISSUE, Gaps, Timeline, gaps, instants, launch_of
from critpath.rank.host_causes import HostCause, HostCauses, host_causes
from critpath.rank.host_waits import blocked_host
from critpath.rank.latencies import Latencies, latencies
from critpath.rank.nvtx.places import Labels, commonest_places
from critpath.rank.parts import BLOCKING, BUCKETS, LAUNCH_STARVED, STALLED, Parts
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows

__all__ = ["Absence", "BlockingOperation", "Clipped", "absence", "clipped"]

CLOCK_ERROR_NS = 10_000
"""How far the host-device clock is moved to see how much the buckets depend on it."""


@dataclass(frozen=True, slots=True)
class BlockingOperation:
    """Blocking of intervals whose op waited for one operation, over all windows [ns].

    Attributes:
        count: intervals in which it was waited for.
        producer_late_ns: part in which it had not itself begun.
        nvtx: the place that launched most of it, by time; None where most was launched outside every range.
    """

    name: str
    label: str
    blocking_ns: int
    count: int
    producer_late_ns: int
    nvtx: str | None


@dataclass(frozen=True, slots=True)
class Absence:
    """Why compute was absent, over all windows [ns]; by window where the name says so.

    Attributes:
        by_window: time of each bucket in each window, shape (buckets, n).
        starved, by_class, by_reason: totals inside launch-starved, blocking and dependency-stalled.
        by_component: blocking time in which communication ran, by (backend, component).
        waits: stream waits of the process: how many, how many without a record, how many joined by their handle.
        by_copy: blocking time in which copies ran or held their engine, by group of copies.
        host_blocked: copies that start in a window and whose call returned no earlier than they ended, by group.
        causes: launch-starved time by host cause, and the place in which the launching thread was for most of it.
        contested_ns: launch-starved time in which another stream's compute op was held by a producer of its own.
        moved: buckets with the host's clock moved by -10 and by +10 us.
        unresolved_share: stream waits that could not be joined to a record, over all.
        unlinked_blocking: whether blocking was told of ops whose issue time is not known.
        inferred_blocking: whether blocking was told through edges that nothing records.
        unknown_issue: whether intervals ended with ops whose issue time is not known, so that blocking may hide there.
    """

    by_window: I64
    starved: dict[str, int]
    by_class: dict[str, int]
    by_reason: dict[str, int]
    operations: tuple[BlockingOperation, ...]
    by_component: dict[tuple[str, str], int]
    waits: tuple[int, int, int]
    by_copy: dict[CopyGroup, int]
    host_blocked: dict[CopyGroup, int]
    causes: tuple[tuple[HostCause, int, str | None], ...]
    contested_ns: int
    moved: tuple[I64, ...]
    unresolved_share: float
    unlinked_blocking: bool
    inferred_blocking: bool
    unknown_issue: bool
    measured: Latencies


@dataclass(frozen=True, slots=True)
class Clipped:
    """Pieces clipped to windows: which piece, which window, how long; shape (p,)."""

    piece: I64
    window: I64
    start_ns: I64
    end_ns: I64

    @property
    def lengths_ns(self) -> I64:
        """Length of each clipped piece [ns]."""
        return self.end_ns - self.start_ns


def absence(facts: ProcessFacts, device: int, windows: Windows, around: Surroundings) -> tuple[Absence, Attribution]:
    """Why compute was absent on one device of a process.

    Args:
        facts: ops, dependencies and host waits of the process.
        device: CUDA ordinal of the unit.
        windows: its windows.
        around: what else went on.
    """
    ops = facts.ops
    mine = ops.device == device
    measured = latencies(ops, mine, facts.known.latest)
    found = gaps(ops, mine, facts.known, measured, _timeline(facts, windows))
    divided = attribution(facts, found, measured, around)
    causes = host_causes(facts, divided.starved)
    cut = clipped(divided.parts, windows)
    by_window = _by_window(divided.parts, cut, len(windows))
    by_class = _by_label(divided, cut, BLOCKING, divided.labels[BLOCKING])
    told = Absence(
        by_window=by_window,
        starved=_by_label(divided, cut, LAUNCH_STARVED, STARVED_PARTS),
        by_class=by_class,
        by_reason=_by_label(divided, cut, STALLED, REASONS),
        operations=_operations(facts, divided, cut),
        by_component=_by_component(ops, divided, cut),
        waits=(len(facts.known.waits), int((facts.known.record_of < 0).sum()), int(facts.known.by_handle.sum())),
        by_copy=_by_copy(ops, divided, cut),
        host_blocked=_host_blocked(ops, mine, windows),
        causes=_by_cause(facts, causes, windows),
        contested_ns=_contested(facts, mine, divided, measured, windows),
        moved=tuple(
            by_window.sum(axis=1) + _moved(ops, found, measured, windows, e) for e in (-CLOCK_ERROR_NS, CLOCK_ERROR_NS)
        ),
        unresolved_share=facts.known.unresolved_share,
        unlinked_blocking=bool(
            ((found.called_ns == NULL) & (found.kind == ORDINARY) & (found.done_ns > found.ready_ns)).any()
        ),
        inferred_blocking=facts.one_queue and any(name.startswith("queue:") for name in by_class),
        unknown_issue=bool(np.isin(divided.parts.gap[cut.piece], np.flatnonzero(found.kind == UNKNOWN_ISSUE)).any()),
        measured=measured,
    )
    return told, divided


def clipped(parts: Parts, windows: Windows) -> Clipped:
    """Every piece in every window it touches; windows may overlap."""
    starts, ends = windows.starts_ns, windows.ends_ns
    if (starts[1:] >= ends[:-1]).all():
        piece, window, begin, end = inside(parts.start_ns, parts.end_ns, Intervals(starts, ends))
        return Clipped(piece.astype(np.int64), window.astype(np.int64), begin, end)
    rows = [
        inside(parts.start_ns, parts.end_ns, Intervals(starts[i : i + 1], ends[i : i + 1])) for i in range(starts.size)
    ]
    return Clipped(
        np.concatenate([r[0] for r in rows]).astype(np.int64),
        np.concatenate([np.full(r[0].size, i) for i, r in enumerate(rows)]).astype(np.int64),
        np.concatenate([r[2] for r in rows]),
        np.concatenate([r[3] for r in rows]),
    )


def _timeline(facts: ProcessFacts, windows: Windows) -> Timeline:
    """From before anything a window may ask for to after it."""
    ops = facts.ops
    starts, ends = [windows.starts_ns.min()], [windows.ends_ns.max()]
    if len(ops):
        starts.append(ops.start_ns.min())
        ends.append(ops.end_ns.max())
    return Timeline(int(min(starts)), int(max(ends)), facts.unseen_graphs_ns)


def _by_window(parts: Parts, cut: Clipped, n: int) -> I64:
    code = parts.bucket[cut.piece] * n + cut.window
    return _sums(code, cut.lengths_ns, len(BUCKETS) * n).reshape(len(BUCKETS), n)


def _sums(code: I64, lengths_ns: I64, size: int) -> I64:
    """Sum of lengths by code, exact: floats would lose nanoseconds in long captures."""
    total = np.zeros(size, np.int64)
    np.add.at(total, code, lengths_ns)
    return total


def _by_label(divided: Attribution, cut: Clipped, bucket: int, labels: tuple[str, ...]) -> dict[str, int]:
    mine = divided.parts.bucket[cut.piece] == bucket
    totals = _sums(divided.parts.label[cut.piece[mine]], cut.lengths_ns[mine], len(labels))
    return {label: ns for label, ns in zip(labels, totals.tolist(), strict=True) if ns}


def _operations(facts: ProcessFacts, divided: Attribution, cut: Clipped) -> tuple[BlockingOperation, ...]:
    """Blocking by the operation that K directly waited for, most first."""
    ops, parts, found = facts.ops, divided.parts, divided.gaps
    mine = parts.bucket[cut.piece] == BLOCKING
    gap, lengths = parts.gap[cut.piece[mine]], cut.lengths_ns[mine]
    producer = found.producer[gap]
    if not producer.size:
        return ()
    late = cut.start_ns[mine] < ops.start_ns[producer]
    first, group = group_rows(ops.name[producer], ops.class_index[producer])
    total = _sums(group, lengths, first.size)
    early = _sums(group[late], lengths[late], first.size)
    pair, _ = group_rows(group, gap)
    waited = np.bincount(group[pair], minlength=first.size)
    places = _most(facts.places, producer, group, lengths, int(first.size))
    rows = []
    for i, op in enumerate(producer[first].tolist()):
        label = ops.classes[ops.class_index[op]]
        name = ops.strings[int(ops.name[op])] if ops.name[op] >= 0 else label
        rows.append(BlockingOperation(name, label, int(total[i]), int(waited[i]), int(early[i]), places[i]))
    return tuple(sorted(rows, key=lambda row: (-row.blocking_ns, row.name)))


def _by_component(ops: ProcessOps, divided: Attribution, cut: Clipped) -> dict[tuple[str, str], int]:
    """Blocking time while communication ran, by backend and component."""
    parts = divided.parts
    mine = (parts.bucket[cut.piece] == BLOCKING) & (parts.label[cut.piece] < len(ops.classes))
    if not mine.any():
        return {}
    op = parts.op[cut.piece[mine]]
    n = len(ops.components)
    totals = _sums(ops.class_index[op] * n + ops.component[op], cut.lengths_ns[mine], len(ops.classes) * n).tolist()
    return {(ops.classes[code // n], ops.components[code % n]): ns for code, ns in enumerate(totals) if ns and code % n}


def _by_copy(ops: ProcessOps, divided: Attribution, cut: Clipped) -> dict[CopyGroup, int]:
    """Blocking time of each group of copies: while one of them ran, or held the engine that another waited for."""
    parts = divided.parts
    classes = [i for i, name in enumerate(ops.classes) if name.startswith("copy_")]
    mine = (parts.bucket[cut.piece] == BLOCKING) & np.isin(parts.label[cut.piece], classes)
    group = ops.copy_group[parts.op[cut.piece[mine]]] if mine.any() else np.empty(0, np.int64)
    totals = _sums(group, cut.lengths_ns[mine], len(ops.copy_groups)).tolist()
    return {place: ns for place, ns in zip(ops.copy_groups, totals, strict=True) if ns}


def _host_blocked(ops: ProcessOps, mine: npt.NDArray[np.bool_], windows: Windows) -> dict[CopyGroup, int]:
    rows = np.flatnonzero(mine & blocked_host(ops))
    inside = windows.of(ops.start_ns[rows]) >= 0
    counts = np.bincount(ops.copy_group[rows[inside]], minlength=len(ops.copy_groups)).tolist()
    return {place: n for place, n in zip(ops.copy_groups, counts, strict=True) if n}


def _most(places: Labels | None, op: I64, group: I64, lengths_ns: I64, groups: int) -> list[str | None]:
    """For each group, the place that launched the ops of most of its time."""
    best: list[str | None] = [None] * groups
    if places is None:
        return best
    code = places.code[op].astype(np.int64)
    first, pair = group_rows(group, code)
    total = _sums(pair, lengths_ns, first.size)
    for i in np.lexsort((code[first], total)).tolist():
        best[group[first[i]]] = places.of(int(op[first[i]]))
    return best


def _by_cause(
    facts: ProcessFacts, causes: HostCauses, windows: Windows
) -> tuple[tuple[HostCause, int, str | None], ...]:
    cut = clipped(causes.parts, windows)
    label = causes.parts.label[cut.piece]
    totals = _sums(label, cut.lengths_ns, len(causes.causes)).tolist()
    op = causes.parts.op[cut.piece]
    thread = facts.ops.launching_thread()[op] if op.size else op
    places = commonest_places(facts.ranges, thread, (cut.start_ns, cut.end_ns), label, len(causes.causes))
    found = [(cause, ns, place) for cause, ns, place in zip(causes.causes, totals, places, strict=True) if ns]
    return tuple(sorted(found, key=lambda row: -row[1]))


def _contested(
    facts: ProcessFacts,
    mine: npt.NDArray[np.bool_],
    divided: Attribution,
    measured: Latencies,
    windows: Windows,
) -> int:
    """Launch-starved time in which a compute op of another stream was issued, unstarted and held by a producer [ns]."""
    ops, starved = facts.ops, divided.starved
    compute = mine & ops.compute & (ops.call >= 0) & (facts.known.latest >= 0)
    queues = np.unique(ops.queue[compute]).tolist()
    if len(queues) < 2:
        return 0
    rows = np.flatnonzero(compute)
    ready = ops.called_ns()[rows] + measured.of(ops.by_graph[rows], "low_ns")
    done = np.minimum(ops.end_ns[facts.known.latest[rows]], ops.start_ns[rows])
    total = 0
    for queue in queues:
        others = ops.queue[rows] != queue
        held, _ = starved.where(ops.queue[starved.op] == queue).split(union(ready[others], done[others]), 0)
        total += int(clipped(held, windows).lengths_ns.sum())
    return total


def _moved(ops: ProcessOps, found: Gaps, measured: Latencies, windows: Windows, by_ns: int) -> I64:
    """How much each bucket changes over all windows when the host's clock is moved [ns], shape (buckets,)."""
    return _moved_totals(ops, found, measured, windows, by_ns) - _moved_totals(ops, found, measured, windows, 0)


def _moved_totals(ops: ProcessOps, found: Gaps, measured: Latencies, windows: Windows, by_ns: int) -> I64:
    linked = np.flatnonzero((found.kind == ORDINARY) & (found.called_ns != NULL))
    idle = Intervals(found.start_ns[linked], found.end_ns[linked])
    producer = found.producer[linked]
    done = np.where(producer >= 0, ops.end_ns[np.maximum(producer, 0)], NULL) if len(ops) else producer
    _, ready = instants(idle, launch_of(ops, found.kernel[linked], measured).moved(by_ns), done)
    ended = np.clip(done, ready, idle.ends_ns)
    edges = (idle.starts_ns, ready, ended, idle.ends_ns)
    return np.array(
        [int(overlap(a, b, windows.starts_ns, windows.ends_ns).sum()) for a, b in pairwise(edges)] + [0], np.int64
    )
