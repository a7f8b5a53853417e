"""The critical path of a unit's windows: the chain that bounds each step; see docs/method/critical-path.md.

A link tells what the step waited for at that moment, not what it would gain: shortening it helps until the next chain
binds, which may be close (`near`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from critpath.base.chain import GAP, HOST, LAUNCH, RAN, UNKNOWN, WAIT, Chain, Issued, Links, Waits, follow_back
from critpath.base.chain import INFERRED as IN_THE_WAY
from critpath.base.intervals import I64, Intervals
from critpath.base.walk import NEVER
from critpath.model.identity import NULL
from critpath.rank.attribution import ProcessFacts
from critpath.rank.edges import GRADES, edges, words
from critpath.rank.host_causes import api_name, host_causes
from critpath.rank.latencies import Latencies
from critpath.rank.nvtx.places import Labels
from critpath.rank.parts import Parts, joined
from critpath.rank.process_ops import ProcessOps
from critpath.rank.queue_heads import heads
from critpath.rank.windows import Windows

__all__ = ["LINK_KINDS", "CriticalPath", "critical_path"]

LINK_KINDS = ("op", "gap", "launch", "host", "wait", "unknown")
"""What a link is, by code: an op ran; it waited behind its producer; its launch was under way; the launching thread
worked; the thread woke from a wait; the capture doesn't tell."""

LATENCY, STALL, MIGRATION = "latency", "stall", "uvm"
"""Classes of a gap or launch: up to what is usual, beyond it, and while managed memory was moved."""

USUAL, BEYOND, MIGRATING = range(3)

RECORDED, INFERRED, ASSUMED, UNRESOLVED = (GRADES.index(g) for g in ("recorded", "inferred", "assumed", "unresolved"))

_BETWEEN_CALLS = ("cpu", "unknown", "other-thread", "unscheduled")
"""Host causes that are read off the absence of calls, or off an OS call that only may have waited."""


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Links of all windows, ordered by (window, start); those of a window tile it. Shape (m,).

    Attributes:
        window: which window the link is of.
        kind: entry of `LINK_KINDS`.
        class_index: entry of `classes`: the class of the op that ran; latency or stall; the host's cause.
        name: entry of `names`: of the op that ran or waited, of the API call, of what the host did.
        grade: entry of `GRADES`: how well it is known that this link led to the next.
        op: the op that ran, waited, or was to be launched; the op awaited; -1 without one.
        edge: row of the process' edges that led here, -1 where the launch did.
    """

    window: I64
    start_ns: I64
    end_ns: I64
    kind: I64
    class_index: I64
    classes: tuple[str, ...]
    name: I64
    names: tuple[str, ...]
    grade: I64
    op: I64
    edge: I64

    def __len__(self) -> int:
        return int(self.window.size)

    @property
    def lengths_ns(self) -> I64:
        """Length of each link [ns]."""
        return self.end_ns - self.start_ns

    def place(self, places: Labels | None) -> I64:
        """The place of each link's op, -1 without one."""
        if places is None or not places.code.size:
            return np.full(len(self), -1, np.int64)
        return np.where(self.op >= 0, places.code[np.maximum(self.op, 0)].astype(np.int64), -1)

    def frame(self, places: Labels | None) -> pl.DataFrame:
        """One row a link: `window, start_ns, end_ns, kind, class, name, grade, nvtx`."""
        return pl.DataFrame(
            {
                "window": self.window,
                "start_ns": self.start_ns,
                "end_ns": self.end_ns,
                "kind": words(LINK_KINDS, self.kind),
                "class": words(self.classes, self.class_index),
                "name": words(self.names, self.name),
                "grade": words(GRADES, self.grade),
                "nvtx": words(places.texts if places is not None else (), self.place(places)),
            }
        )


def critical_path(facts: ProcessFacts, device: int, windows: Windows, measured: Latencies) -> CriticalPath:
    """The critical path of each window of one unit.

    It ends with the op that ends the window: with scope `period` the first compute op of the next step, else the op
    that ends last; from there back through the latest producer or the launch, whichever was later.

    Args:
        facts: ops, dependencies and host waits of the process.
        device: CUDA ordinal of the unit.
        windows: its windows.
        measured: its latencies.
    """
    ops, order = facts.ops, facts.known.order
    called = ops.called_ns()
    known = called != NULL
    threads, thread = np.unique(np.concatenate([ops.launching_thread(), facts.waits.thread]), return_inverse=True)
    work = Issued(
        ops.start_ns,
        ops.end_ns,
        np.where(known, called, NEVER),
        np.where(known, called + measured.of(ops.by_graph, "low_ns"), NEVER),
        thread[: len(ops)].astype(np.int64),
    )
    waits = Waits(
        np.searchsorted(facts.waits.thread, np.append(threads, np.iinfo(np.int64).max)).astype(np.int64),
        facts.waits.start_ns,
        facts.waits.end_ns,
        facts.waits.awaited,
    )
    ahead, freed_ns = _in_the_way(facts, measured)
    links = follow_back(
        work,
        Chain(order.first, order.producer, ahead, freed_ns),
        waits,
        last_ops(ops, device, windows),
        (windows.starts_ns, windows.ends_ns),
    )
    usual = _usual_end_ns(facts, measured, links, ahead)
    return _told(facts, links, _split(links, usual, ops.migrations.get(device, Intervals.empty())))


def last_ops(ops: ProcessOps, device: int, windows: Windows) -> I64:
    """The op that ends each window, -1 where none lies before its end; shape (n,)."""
    mine = np.flatnonzero(ops.device == device)
    found = np.full(len(windows), -1, np.int64)
    if not mine.size:
        return found
    compute = mine[ops.compute[mine]]
    compute = compute[np.argsort(ops.start_ns[compute], kind="stable")]
    by_start = mine[np.argsort(ops.start_ns[mine], kind="stable")]
    starts, ends = ops.start_ns[by_start], ops.end_ns[by_start]
    # The row with the latest end among the ops up to each one, in the order of their starts.
    latest = np.maximum.accumulate(ends)
    holder = np.maximum.accumulate(np.where(ends == latest, np.arange(ends.size), 0))
    before = np.searchsorted(starts, windows.ends_ns) - 1
    found = np.where(before >= 0, by_start[holder[np.maximum(before, 0)]], -1)
    if windows.scope != "period" or not compute.size:
        return found
    next_step = np.minimum(np.searchsorted(ops.start_ns[compute], windows.ends_ns), compute.size - 1)
    begins = ops.start_ns[compute[next_step]] == windows.ends_ns
    return np.where(begins, compute[next_step], found)


def _in_the_way(facts: ProcessFacts, measured: Latencies) -> tuple[I64, I64]:
    """(the op inferred to have been in the way of each, -1 without one; until when it was [ns]).

    With one hardware queue that is the kernel issued before it, until that began. Else it is the copy of the same
    direction and device that ended right before a copy began: one engine serves a direction.
    """
    ops = facts.ops
    if facts.one_queue:
        ahead = heads(ops)
        return ahead, ops.start_ns[np.maximum(ahead, 0)] if len(ops) else ahead
    ahead = np.full(len(ops), -1, np.int64)
    for label in ("copy_h2d", "copy_d2h"):
        copies = np.flatnonzero(ops.class_index == ops.class_of(label))
        copies = copies[np.lexsort((ops.end_ns[copies], ops.start_ns[copies], ops.device[copies]))]
        before, after = copies[:-1], copies[1:]
        pause = ops.start_ns[after] - ops.end_ns[before]
        usual = measured.usual_gap_ns(ops, after, before)
        follows = (ops.device[before] == ops.device[after]) & (pause >= 0) & (pause <= usual)
        ahead[after[follows]] = before[follows]
    return ahead, ops.end_ns[np.maximum(ahead, 0)] if len(ops) else ahead


@dataclass(slots=True)
class _Words:
    """Distinct words, numbered as they come."""

    code: dict[str, int]

    def of(self, spelled: list[str]) -> I64:
        return np.array([self.code.setdefault(word, len(self.code)) for word in spelled], np.int64)


def _told(facts: ProcessFacts, links: Links, pieces: Parts) -> CriticalPath:
    """Pieces of links in words, split further where the host's cause changes."""
    classes, names = _Words({}), _Words({})
    host = links.kind[pieces.gap] == HOST
    others, causes = pieces.where(~host), host_causes(facts, pieces.where(host))
    cause = np.concatenate([np.full(len(others), -1, np.int64), causes.parts.label])
    pieces = joined(others, causes.parts)
    order = np.lexsort((pieces.start_ns, links.chain[pieces.gap]))
    row, cause = pieces.gap[order], cause[order]
    state = np.where(cause < 0, pieces.label[order], USUAL)
    kind, op = links.kind[row], links.work[row]

    class_index = _class_of_links(facts, links.wait[row], (kind, op, state), classes)
    name = _name_of_links(facts, links.wait[row], (kind, op), names)
    grade = _grade_of_links(facts, links, row, state)
    if causes.causes:
        told = cause >= 0
        by_cause = classes.of([c.cause for c in causes.causes])
        detail = names.of([c.detail or c.cause for c in causes.causes])
        sure = np.array([INFERRED if c.cause in _BETWEEN_CALLS else RECORDED for c in causes.causes], np.int64)
        class_index[told], name[told] = by_cause[cause[told]], detail[cause[told]]
        grade[told] = sure[cause[told]]
    return CriticalPath(
        window=links.chain[row],
        start_ns=pieces.start_ns[order],
        end_ns=pieces.end_ns[order],
        kind=kind,
        class_index=class_index,
        classes=tuple(classes.code),
        name=name,
        names=tuple(names.code),
        grade=grade,
        op=op,
        edge=links.edge[row],
    )


def _usual_end_ns(facts: ProcessFacts, measured: Latencies, links: Links, ahead: I64) -> I64:
    """Until when a gap or a launch is no longer than usual [ns]; the link's end for others."""
    ops, until = facts.ops, links.end_ns.copy()
    at = np.maximum(links.work, 0)
    gap = links.kind == GAP
    if gap.any():
        edge, inferred = links.edge[gap], ahead[at[gap]]
        edges_of = facts.known.order.producer
        producer = np.where(edge >= 0, edges_of[np.maximum(edge, 0)], inferred) if edges_of.size else inferred
        until[gap] = links.start_ns[gap] + measured.usual_gap_ns(ops, at[gap], producer)
    launch = links.kind == LAUNCH
    if launch.any():
        op = at[launch]
        high = links.start_ns[launch] + measured.of(ops.by_graph[op], "high_ns")
        # A call that was held up hands its op over when it returns.
        until[launch] = np.maximum(high, ops.returned_ns()[op])
    return np.minimum(until, links.end_ns)


def _split(links: Links, until_ns: I64, migrations: Intervals) -> Parts:
    """Links cut where they last longer than usual and where memory moved; `gap` is the link, `label` which it is."""
    long = np.flatnonzero(until_ns < links.end_ns)
    row = np.concatenate([np.arange(links.kind.size), long])
    start = np.concatenate([links.start_ns, until_ns[long]])
    end = np.concatenate([until_ns, links.end_ns[long]])
    beyond = np.arange(row.size) >= links.kind.size
    label = np.where(beyond, BEYOND, USUAL).astype(np.int64)
    pieces = Parts.of(row, start, end, (0, label), links.work[row])
    stalled = (links.kind[pieces.gap] == GAP) & (pieces.label == BEYOND)
    moving, rest = pieces.where(stalled).split(migrations, MIGRATING)
    return joined(pieces.where(~stalled), moving, rest)


def _class_of_links(facts: ProcessFacts, wait: I64, what: tuple[I64, I64, I64], known: _Words) -> I64:
    kind, op, state = what
    usual, stall, moving, unknown, sync, poll = known.of(
        [LATENCY, STALL, MIGRATION, "unknown", "host-sync", "poll"]
    ).tolist()
    code = np.full(kind.size, unknown, np.int64)
    code[(kind == GAP) | (kind == LAUNCH)] = usual
    code[state == BEYOND] = stall
    code[state == MIGRATING] = moving
    ran = kind == RAN
    if ran.any():
        code[ran] = known.of(list(facts.ops.classes))[facts.ops.class_index[op[ran]]]
    woke = kind == WAIT
    if woke.any():
        code[woke] = np.where(facts.waits.poll[wait[woke]], poll, sync)
    return code


def _name_of_links(facts: ProcessFacts, wait: I64, what: tuple[I64, I64], known: _Words) -> I64:
    kind, op = what
    ops, code = facts.ops, np.full(kind.size, -1, np.int64)

    def spelled(rows: npt.NDArray[np.bool_], ids: I64, text: Callable[[int], str]) -> None:
        distinct, which = np.unique(ids, return_inverse=True)
        if distinct.size:
            code[rows] = known.of([text(i) for i in distinct.tolist()])[which]

    about = ((kind == RAN) | (kind == GAP)) & (op >= 0)
    at = op[about]
    if at.size:
        ids = np.where(ops.name[at] >= 0, ops.name[at], -2 - ops.class_index[at])
        spelled(about, ids, lambda i: ops.strings[i] if i >= 0 else ops.classes[-2 - i])
    launch = kind == LAUNCH
    if launch.any():
        spelled(launch, ops.calls.name[ops.call[op[launch]]], lambda i: api_name(ops.strings[i]))
    woke = kind == WAIT
    if woke.any():
        spelled(woke, facts.waits.name[wait[woke]], lambda i: api_name(ops.strings[i]))
    return code


def _grade_of_links(facts: ProcessFacts, links: Links, row: I64, state: I64) -> I64:
    kind, op, edge, wait = links.kind[row], links.work[row], links.edge[row], links.wait[row]
    grade = np.full(row.size, RECORDED, np.int64)
    led = edge >= 0
    if led.any():
        grade[led] = edges(facts).grade[edge[led]]
    grade[edge == IN_THE_WAY] = INFERRED
    grade[kind == UNKNOWN] = UNRESOLVED
    grade[state == MIGRATING] = INFERRED
    if facts.batched:
        # When an op was handed over is unknown, and so whether its producer or its launch came last.
        grade = np.maximum(grade, ASSUMED)
    stalled = (state == BEYOND) & (op >= 0)
    if stalled.any():
        grade[stalled] = np.where(facts.known.order.unknown[op[stalled]], UNRESOLVED, grade[stalled])
    woke = kind == WAIT
    if woke.any():
        told = np.where(facts.waits.poll[wait[woke]], INFERRED, RECORDED)
        grade[woke] = np.where(facts.waits.awaited[wait[woke]] >= 0, told, UNRESOLVED)
    return grade
