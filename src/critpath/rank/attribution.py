"""Every interval without compute, divided to the nanosecond; the definition is docs/method/absent.md."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, union
from critpath.base.segments import inside, owned_spans
from critpath.base.walk import LATE, NEVER, RAN, Pieces, Works, walk_back
from critpath.model.identity import NULL
from critpath.model.tables import OsCalls, Overheads, ThreadSwitches
from critpath.rank.dependencies import Dependencies
from critpath.rank.gaps import INSIDE_GRAPH, NO_KERNEL, OPAQUE, ORDINARY, UNKNOWN_ISSUE, Gaps
from critpath.rank.host_waits import HostWaits
from critpath.rank.latencies import Latencies
from critpath.rank.nvtx.places import Labels
from critpath.rank.nvtx.projection import Projection
from critpath.rank.parts import BLOCKING, LAUNCH_STARVED, OPAQUE_GRAPH, STALLED, Parts, joined
from critpath.rank.process_ops import ProcessOps
from critpath.rank.queue_heads import behind_heads

__all__ = [
    "LATE_LAUNCH",
    "REASONS",
    "STALL",
    "STARVED_PARTS",
    "Attribution",
    "HostRows",
    "ProcessFacts",
    "Surroundings",
    "attribution",
    "blocking_labels",
]

STARVED_PARTS = ("joint_with_producer", "host_wait", "launch_latency", "recoverable")
"""Labels of launch-starved pieces, by code."""

JOINT, HOST_WAIT, LAUNCH_LATENCY, RECOVERABLE = range(4)

REASONS = (
    "back_to_back",
    "queue_order",
    "unresolved_wait",
    "uvm",
    "other_process",
    "device_full",
    "inside_graph",
    "no_next_kernel",
    "unknown",
)
"""Labels of stalled pieces, by code."""

BACK_TO_BACK, QUEUE_ORDER, UNRESOLVED_WAIT, UVM, OTHER_PROCESS, DEVICE_FULL, INSIDE, NO_NEXT, UNKNOWN = range(9)

LATE_LAUNCH, STALL = "late_launch", "stall"
"""Classes of blocking pieces in which no op ran."""


@dataclass(frozen=True, slots=True)
class HostRows:
    """What the capture holds of a process' threads beside CUDA calls.

    Attributes:
        overheads: the profiler's and the driver's own activity.
        os_calls: calls into the operating system.
        switches: when threads were put on and taken off a processor.
    """

    overheads: Overheads = field(default_factory=Overheads.empty)
    os_calls: OsCalls = field(default_factory=OsCalls.empty)
    switches: ThreadSwitches = field(default_factory=ThreadSwitches.empty)


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What is known of one process, for all its units: ops, dependencies, waits of its host threads.

    Attributes:
        one_queue: whether all streams share one hardware queue, as the captured environment says.
        batched: whether the driver hands launches over in batches, so that when an op was issued is not known.
        host: what else was recorded of its threads.
        unseen_graphs_ns: when calls began that launched a graph which left no device row.
        ranges: its NVTX ranges.
        places: the range in which each op was launched; None where none launched any.
    """

    ops: ProcessOps
    known: Dependencies
    waits: HostWaits
    one_queue: bool = False
    batched: bool = False
    host: HostRows = field(default_factory=HostRows)
    unseen_graphs_ns: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    ranges: Projection = field(default_factory=Projection.empty)
    places: Labels | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else went on around a unit.

    Attributes:
        migrations: when unified-memory migrations of this device ran.
        others: when ops of other units ran on the same GPU.
        communication: when kernels of the communication taxonomy ran on this unit.
    """

    migrations: Intervals = field(default_factory=Intervals.empty)
    others: Intervals = field(default_factory=Intervals.empty)
    communication: Intervals = field(default_factory=Intervals.empty)


@dataclass(frozen=True, slots=True)
class Attribution:
    """All time without compute of one unit, whole timeline.

    Attributes:
        gaps: the intervals.
        parts: their pieces; they tile the intervals and the time of opaque graphs.
        labels: meaning of `parts.label`, by bucket code.
        starved: launch-starved pieces before they were split, one an interval at most: [a, I).
    """

    gaps: Gaps
    parts: Parts
    labels: tuple[tuple[str, ...], ...]
    starved: Parts


def blocking_labels(ops: ProcessOps) -> tuple[str, ...]:
    """Labels of blocking pieces, by code: classes of ops, the two where none ran, classes behind a queue's head."""
    return (*ops.classes, LATE_LAUNCH, STALL, *(f"queue:{name}" for name in ops.classes))


def attribution(facts: ProcessFacts, found: Gaps, measured: Latencies, around: Surroundings) -> Attribution:
    """Divide every interval of one unit.

    Args:
        facts: ops, dependencies and host waits of its process.
        found: the unit's intervals.
        measured: its latencies.
        around: what else went on.
    """
    ops = facts.ops
    plain = found.kind == ORDINARY
    works = Works(ops.start_ns, ops.end_ns, _ready_ns(ops, measured), facts.known.latest)
    pieces = walk_back(
        works,
        np.where(plain, found.producer, -1),
        found.start_ns,
        found.end_ns,
    )
    rows = np.flatnonzero(plain)
    starved = Parts.of(
        rows, found.start_ns[rows], found.ready_ns[rows], (LAUNCH_STARVED, RECOVERABLE), found.kernel[rows]
    )
    labels = blocking_labels(ops)
    tables = [
        *_starved(facts, found, pieces, starved),
        *_blocking(ops, found, pieces, labels),
        *_stalled(facts, works, found, measured, around),
        *_special(found),
    ]
    return Attribution(found, joined(*tables), (STARVED_PARTS, labels, REASONS, ("graph",)), starved)


def _ready_ns(ops: ProcessOps, measured: Latencies) -> I64:
    called = ops.called_ns()
    return np.where(called == NULL, NEVER, called + measured.of(ops.by_graph, "low_ns"))


def _starved(facts: ProcessFacts, found: Gaps, pieces: Pieces, starved: Parts) -> tuple[Parts, ...]:
    """[a, I) by the first that applies: joint, host wait, launch latency, recoverable."""
    ran = pieces.kind == RAN
    running = union(pieces.start_ns[ran], np.minimum(pieces.end_ns[ran], found.ready_ns[pieces.interval[ran]]))
    joint, rest = starved.split(running, JOINT)
    called = found.called_ns[rest.gap]
    granted = called + found.latency_ns[rest.gap]
    waiting, working = _split_by_thread(facts, rest.cut(rest.start_ns, called))
    latency = rest.cut(called, granted, LAUNCH_LATENCY)
    held_up = rest.cut(np.maximum(called, granted), rest.end_ns)
    return joint, waiting, working, latency, held_up


def _split_by_thread(facts: ProcessFacts, parts: Parts) -> tuple[Parts, Parts]:
    """(pieces in which the thread that launched K waited for a device op, the others)."""
    thread = facts.ops.launching_thread()[parts.op] if len(parts) else parts.op
    waiting, working = [], []
    for each in np.unique(thread).tolist():
        its = facts.waits.where(facts.waits.thread == each)
        inside, outside = parts.where(thread == each).split(union(its.start_ns, its.end_ns), HOST_WAIT)
        waiting.append(inside)
        working.append(outside)
    nothing = parts.where(np.zeros(len(parts), np.bool_))
    return joined(nothing, *waiting), joined(nothing, *working)


def _blocking(ops: ProcessOps, found: Gaps, pieces: Pieces, labels: tuple[str, ...]) -> tuple[Parts, ...]:
    """[I, P.end) by the class of what ran, walking back; stalls of copies go to earlier copies of their direction."""
    stall, late = labels.index(STALL), labels.index(LATE_LAUNCH)
    gap = pieces.interval
    ran = ops.class_index[pieces.work] if gap.size else gap
    label = np.where(pieces.kind == RAN, ran, np.where(pieces.kind == LATE, late, stall))
    told = Parts.of(
        gap, np.maximum(pieces.start_ns, found.ready_ns[gap]), pieces.end_ns, (BLOCKING, label), pieces.work
    )
    rows = np.flatnonzero(found.kind == ORDINARY)
    whole = Parts.of(rows, found.ready_ns[rows], found.done_ns[rows], (BLOCKING, stall), found.producer[rows])
    _, untold = whole.split(union(told.start_ns, told.end_ns), stall)
    kept, rest = [told.where(told.label != stall)], told.where(told.label == stall)
    for direction in [i for i, name in enumerate(ops.classes) if name.startswith("copy_")]:
        for device in np.unique(ops.device[ops.class_index == direction]).tolist():
            copies = (ops.class_index == direction) & (ops.device == device)
            same = copies[rest.op] if len(rest) else np.zeros(0, np.bool_)
            kept += _held_by(ops, rest.where(same), np.flatnonzero(copies), direction)
            rest = rest.where(~same)
    return *kept, rest, untold


def _held_by(ops: ProcessOps, waiting: Parts, copies: npt.NDArray[np.intp], direction: int) -> tuple[Parts, Parts]:
    """(pieces in which one of the copies held the engine, as that copy's own; the others).

    A copy that still ran when the waiting one had begun held no engine that it needed.
    """
    spans, owner = owned_spans(ops.start_ns[copies], ops.end_ns[copies])
    source, place, begin, end = inside(waiting.start_ns, waiting.end_ns, spans)
    holder = copies[owner[place]]
    let_go = ops.end_ns[holder] <= ops.start_ns[waiting.op[source]] if source.size else np.zeros(0, np.bool_)
    source, holder, begin, end = source[let_go], holder[let_go], begin[let_go], end[let_go]
    label = np.full(source.size, direction, np.int64)
    held = Parts(waiting.gap[source], begin, end, waiting.bucket[source], label, holder)
    _, free = waiting.split(held.spans(), 0)
    return held, free


def _stalled(
    facts: ProcessFacts, works: Works, found: Gaps, measured: Latencies, around: Surroundings
) -> tuple[Parts, ...]:
    """[max(I, P.end), b) by reason: the stream's usual gap, then what else is known."""
    ops = facts.ops
    rows = np.flatnonzero(found.kind == ORDINARY)
    stall = Parts.of(rows, found.done_ns[rows], found.end_ns[rows], (STALLED, UNKNOWN), found.kernel[rows])
    tables = []
    if facts.one_queue:
        behind, stall = behind_heads(ops, works, stall, len(ops.classes) + 2, QUEUE_ORDER)
        tables.append(behind)
    producer = found.producer[stall.gap]
    usual_end = stall.start_ns
    if len(ops):
        ended = ops.end_ns[np.maximum(producer, 0)] + measured.usual_gap_ns(ops, stall.op, producer)
        usual_end = np.where(producer >= 0, ended, stall.start_ns)
    tables.append(stall.cut(stall.start_ns, usual_end, BACK_TO_BACK))
    rest = stall.cut(usual_end, stall.end_ns)
    waited = facts.known.order.unknown[rest.op] if len(rest) else np.zeros(0, np.bool_)
    tables.append(rest.where(waited, UNRESOLVED_WAIT))
    rest = rest.where(~waited)
    for spans, reason in (
        (around.migrations, UVM),
        (around.others, OTHER_PROCESS),
        (around.communication, DEVICE_FULL),
    ):
        held, rest = rest.split(spans, reason)
        tables.append(held)
    return *tables, rest


def _special(found: Gaps) -> tuple[Parts, ...]:
    """Intervals that are one piece, and the time in which opaque graphs ran."""
    tables = []
    for kind, bucket, label in (
        (UNKNOWN_ISSUE, STALLED, UNKNOWN),
        (INSIDE_GRAPH, STALLED, INSIDE),
        (NO_KERNEL, STALLED, NO_NEXT),
        (OPAQUE, OPAQUE_GRAPH, 0),
    ):
        rows = np.flatnonzero(found.kind == kind)
        tables.append(Parts.of(rows, found.start_ns[rows], found.end_ns[rows], (bucket, label), found.kernel[rows]))
    graphs = found.graphs
    tables.append(Parts.of(np.full(len(graphs), -1, np.int64), graphs.starts_ns, graphs.ends_ns, (OPAQUE_GRAPH, 0)))
    return tuple(tables)
