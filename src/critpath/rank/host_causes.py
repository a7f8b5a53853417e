"""What the launching thread was doing while the device starved: the host cause of launch-starved time.

Told per launching thread, the first that applies: the late op's own launch call and its latency, a wait for the device
(what was awaited), a run of queries, the profiler's own activity, loading of modules, a CUDA API call (its name), an OS
call (one that waits for another thread is told apart, inferred), time off every processor. What is left lies between
calls: code of the program where OS calls or scheduling were traced, else unknown, for a thread that waits for a lock
and one that computes look the same without such a trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, union
from critpath.base.segments import inside, owned_spans
from critpath.model.tables import Overheads, RuntimeCalls, ThreadSwitches
from critpath.rank.attribution import ProcessFacts
from critpath.rank.parts import Parts, joined

__all__ = ["CAUSES", "HostCause", "HostCauses", "host_causes"]

CAUSES = (
    "host-sync",
    "poll",
    "profiler",
    "lazy-load",
    "cuda-api",
    "osrt",
    "other-thread",
    "unscheduled",
    "cpu",
    "unknown",
)
"""Causes by code."""

HOST_SYNC, POLL, PROFILER, LAZY_LOAD, CUDA_API, OSRT, OTHER_THREAD, UNSCHEDULED, CPU, UNKNOWN = range(10)

_WAITS_FOR_A_THREAD = re.compile(
    r"pthread_(?:mutex_(?:timed)?lock|rwlock_\w*lock|cond_\w*wait|join\w*|barrier_wait)|sem_\w*wait|futex|cnd_wait|mtx_lock"
)

_PROFILER_KINDS, _LOADING_KINDS, _FULL_KIND = (3, 4, 5), (2, 6, 7), 8


@dataclass(frozen=True, slots=True)
class HostCause:
    """One cause: its name, the API it was in, the class of the op awaited; None without one."""

    cause: str
    detail: str
    waits_on: str | None


@dataclass(frozen=True, slots=True)
class HostCauses:
    """Launch-starved time by host cause, as pieces.

    Attributes:
        parts: the pieces; `label` is an entry of `causes`. They tile the launch-starved time they were made from.
        causes: the distinct causes.
    """

    parts: Parts
    causes: tuple[HostCause, ...]


def host_causes(facts: ProcessFacts, starved: Parts) -> HostCauses:
    """The host cause of each launch-starved piece.

    Args:
        facts: ops, dependencies, host waits and host rows of the process.
        starved: pieces whose `op` is the compute op that was late.
    """
    names: dict[HostCause, int] = {}
    thread = facts.ops.launching_thread()[starved.op] if len(starved) else starved.op
    tables = [starved.where(np.zeros(len(starved), np.bool_))]
    for each in np.unique(thread).tolist():
        tables += _of_thread(facts, starved.where(thread == each), each, names)
    os_traced = bool(len(facts.host.os_calls) or len(facts.host.switches))
    rest = HostCause(
        CAUSES[CPU if os_traced else UNKNOWN], "between calls" if os_traced else "between CUDA calls", None
    )
    labelled = joined(*tables)
    left = labelled.label < 0
    return HostCauses(
        joined(labelled.where(~left), labelled.where(left, names.setdefault(rest, len(names)))), tuple(names)
    )


def _of_thread(facts: ProcessFacts, parts: Parts, thread: int, names: dict[HostCause, int]) -> list[Parts]:
    """Pieces of one thread, labelled by cause; -1 where nothing was recorded."""
    overheads = facts.host.overheads.where(facts.host.overheads.thread == thread)
    calls = facts.ops.calls.where(facts.ops.calls.thread == thread)
    waits = facts.waits.where(facts.waits.thread == thread)
    strings, ops = facts.ops.strings, facts.ops
    own, rest = _own_launch(facts, parts, overheads, names)
    told = [own]
    for poll in (False, True):
        its = waits.where(waits.poll == poll)
        awaited = (
            np.where(its.awaited >= 0, ops.class_index[np.maximum(its.awaited, 0)], -1) if len(ops) else its.awaited
        )
        labels = _labels(
            its.name,
            awaited,
            lambda n, c, cause=CAUSES[POLL if poll else HOST_SYNC]: HostCause(  # type: ignore[misc]
                cause, api_name(strings[n]), ops.classes[c] if c >= 0 else None
            ),
            names,
        )
        held, rest = _carved(rest, its.start_ns, its.end_ns, labels)
        told.append(held)
    for kinds, code in ((_PROFILER_KINDS, PROFILER), (_LOADING_KINDS, LAZY_LOAD)):
        rows = overheads.where(np.isin(overheads.kind, kinds))
        labels = _labels(rows.name, rows.kind, lambda n, _, code=code: HostCause(CAUSES[code], strings[n], None), names)  # type: ignore[misc]
        held, rest = _carved(rest, rows.start_ns, rows.end_ns, labels)
        told.append(held)
    pressed = _pressed(overheads, calls)
    labels = _labels(calls.name, pressed, lambda n, p: _api_cause(strings[n], pressed=bool(p)), names)
    held, rest = _carved(rest, calls.start_ns, calls.end_ns, labels)
    return [*told, held, *_outside_cuda(facts, rest, thread, names)]


def _own_launch(
    facts: ProcessFacts, parts: Parts, overheads: Overheads, names: dict[HostCause, int]
) -> tuple[Parts, Parts]:
    """(time since the late op's own call began, its latency included; the time before)."""
    ops = facts.ops
    if not len(parts):
        return parts, parts
    called = ops.called_ns()[parts.op]
    own, before = parts.cut(called, parts.end_ns), parts.cut(parts.start_ns, called)
    calls = ops.calls.where(ops.call[own.op])
    labels = _labels(
        calls.name, _pressed(overheads, calls), lambda n, p: _api_cause(ops.strings[n], pressed=bool(p)), names
    )
    return Parts(own.gap, own.start_ns, own.end_ns, own.bucket, labels, own.op), before


def _pressed(overheads: Overheads, calls: RuntimeCalls) -> I64:
    """1 for calls that waited for room in a full queue, 0 for others."""
    full = overheads.where(overheads.kind == _FULL_KIND)
    return (union(full.start_ns, full.end_ns).clip(calls.start_ns, calls.end_ns) > 0).astype(np.int64)


def _outside_cuda(facts: ProcessFacts, parts: Parts, thread: int, names: dict[HostCause, int]) -> list[Parts]:
    """Pieces between CUDA calls: OS calls, time off every processor, and the rest with label -1."""
    strings = facts.ops.strings
    calls = facts.host.os_calls.where(facts.host.os_calls.thread == thread)
    labels = _labels(calls.name, calls.name, lambda n, _: _os_cause(strings[n]), names)
    called, rest = _carved(parts, calls.start_ns, calls.end_ns, labels)
    off_ns, on_ns = _off_processor(facts.host.switches, thread)
    code = names.setdefault(HostCause(CAUSES[UNSCHEDULED], "off every processor", None), len(names))
    away, rest = _carved(rest, off_ns, on_ns, np.full(off_ns.size, code, np.int64))
    return [called, away, rest.where(np.ones(len(rest), np.bool_), -1)]


def _off_processor(switches: ThreadSwitches, thread: int) -> tuple[I64, I64]:
    """When a thread was taken off a processor, and when it was next put on one [ns]."""
    mine = switches.where(switches.thread == thread)
    order = np.lexsort((mine.scheduled, mine.time_ns))
    time, on = mine.time_ns[order], mine.scheduled[order]
    pairs = np.flatnonzero((on[:-1] == 0) & (on[1:] == 1))
    return time[pairs], time[pairs + 1]


def _os_cause(function: str) -> HostCause:
    waits = _WAITS_FOR_A_THREAD.fullmatch(function)
    return HostCause(CAUSES[OTHER_THREAD if waits else OSRT], function, None)


def _api_cause(function: str, *, pressed: bool) -> HostCause:
    pressure = ", held up by a full queue of a busy device" if pressed else ""
    return HostCause(CAUSES[CUDA_API], api_name(function) + pressure, None)


def api_name(function: str) -> str:
    """An API function's name without its version suffix."""
    head, _, version = function.rpartition("_v")
    return head if head and version.isdigit() else function


def _labels(column: I64, other: I64, cause: Callable[[int, int], HostCause], names: dict[HostCause, int]) -> I64:
    """The label of each row, made once a distinct pair of values."""
    first, group = group_rows(column, other)
    pairs = zip(column[first].tolist(), other[first].tolist(), strict=True)
    labels = np.fromiter((names.setdefault(cause(a, b), len(names)) for a, b in pairs), np.int64, first.size)
    return labels[group]


def _carved(parts: Parts, starts_ns: I64, ends_ns: I64, labels: I64) -> tuple[Parts, Parts]:
    """(pieces inside the spans, each with its span's label; the pieces outside).

    Spans of a thread may nest or overlap: the one that began first owns what they share.
    """
    spans, owner = owned_spans(starts_ns, ends_ns)
    _, outside = parts.split(union(starts_ns, ends_ns), 0)
    source, place, begin, end = inside(parts.start_ns, parts.end_ns, spans)
    held = Parts(parts.gap[source], begin, end, parts.bucket[source], labels[owner[place]], parts.op[source])
    return held, outside
