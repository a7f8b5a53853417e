"""What the launching thread was doing while the device starved: the host cause of launch-starved time.

Told per launching thread, the first that applies: a wait for the device (what was awaited), a poll, the profiler's own
activity, loading of modules, a CUDA API call (its name). What is left lies between CUDA calls: code of the program
where OS calls were traced and none was running, else unknown, for a thread that waits for a lock and one that computes
look the same without such a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, union
from critpath.base.segments import inside, owned_spans
from critpath.model.tables import Overheads
from critpath.rank.attribution import ProcessFacts
from critpath.rank.parts import Parts, joined

__all__ = ["CAUSES", "HostCause", "HostCauses", "host_causes"]

CAUSES = ("host-sync", "poll", "profiler", "lazy-load", "cuda-api", "cpu", "unknown")
"""Causes by code."""

HOST_SYNC, POLL, PROFILER, LAZY_LOAD, CUDA_API, CPU, UNKNOWN = range(7)

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


def host_causes(facts: ProcessFacts, starved: Parts, overheads: Overheads, *, os_traced: bool) -> HostCauses:
    """The host cause of each launch-starved piece.

    Args:
        facts: ops, dependencies and host waits of the process.
        starved: pieces whose `op` is the compute op that was late.
        overheads: the profiler's and the driver's activity on threads of the process.
        os_traced: whether the capture holds OS calls or scheduling of threads.
    """
    names: dict[HostCause, int] = {}
    thread = facts.ops.launching_thread()[starved.op] if len(starved) else starved.op
    tables = [starved.where(np.zeros(len(starved), np.bool_))]
    for each in np.unique(thread).tolist():
        tables += _of_thread(
            facts, starved.where(thread == each), overheads.where(overheads.thread == each), each, names
        )
    rest = HostCause(CAUSES[CPU if os_traced else UNKNOWN], "between CUDA calls", None)
    labelled = joined(*tables)
    left = labelled.label < 0
    return HostCauses(
        joined(labelled.where(~left), labelled.where(left, names.setdefault(rest, len(names)))), tuple(names)
    )


def _of_thread(
    facts: ProcessFacts, parts: Parts, overheads: Overheads, thread: int, names: dict[HostCause, int]
) -> list[Parts]:
    """Pieces of one thread, labelled by cause; -1 where nothing was recorded."""
    calls = facts.ops.calls.where(facts.ops.calls.thread == thread)
    waits = facts.waits.where(facts.waits.thread == thread)
    strings, ops = facts.ops.strings, facts.ops
    told, rest = [], parts
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
    full = overheads.where(overheads.kind == _FULL_KIND)
    pressed = union(full.start_ns, full.end_ns).clip(calls.start_ns, calls.end_ns) > 0
    labels = _labels(calls.name, pressed.astype(np.int64), lambda n, p: _api_cause(strings[n], pressed=bool(p)), names)
    held, rest = _carved(rest, calls.start_ns, calls.end_ns, labels)
    return [*told, held, rest.where(np.ones(len(rest), np.bool_), -1)]


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
