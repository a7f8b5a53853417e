"""Recorded overhead by type, the profiler's own apart from the application's; never a slowdown (P25).

What a profiler costs a run is seen in step times with and without it. Its recorded activity is a small part of that:
a run that took 34.6 s instead of 29.4 s had 0.23 s of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from critpath.base.intervals import I64, Intervals
from critpath.model.identity import NULL
from critpath.model.tables import Overheads

__all__ = ["OverheadOwner", "OverheadTime", "overhead_times", "owner_of", "profilers_own"]

OverheadOwner = Literal["profiler", "application", "unknown"]

_LABELS = {
    NULL: "not typed",
    0: "undefined",
    1: "unknown",
    2: "driver JIT compilation",
    3: "profiler buffer flush",
    4: "profiler instrumentation",
    5: "profiler resources",
    6: "module loading",
    7: "lazy function loading",
    8: "command buffer full",
}
_PROFILER = frozenset({NULL, 3, 4, 5})
"""Exports before 2025.5 have no types; what they record is the profiler's own."""
_APPLICATION = frozenset({2, 6, 7, 8})


@dataclass(frozen=True, slots=True)
class OverheadTime:
    """One type of overhead inside given spans.

    Attributes:
        kind: nsys overhead type; None where the export doesn't type its rows.
        owner: whose cost it is: the profiler's, or the application's (CUDA's own), which a run without profiler has
            too.
        rows: rows that reach into the spans.
        wall_ns: their union inside the spans [ns]: rows overlap, so a sum would count time twice.
    """

    kind: int | None
    label: str
    owner: OverheadOwner
    rows: int
    wall_ns: int


def owner_of(kind: int) -> OverheadOwner:
    """Whose cost an overhead type is; NULL = the export doesn't type its rows."""
    if kind in _PROFILER:
        return "profiler"
    return "application" if kind in _APPLICATION else "unknown"


def overhead_times(overheads: Overheads, starts_ns: I64, ends_ns: I64) -> tuple[OverheadTime, ...]:
    """Overhead inside the spans by type, types without rows left out, in order of type.

    Args:
        overheads: rows of one process or unit.
        starts_ns: first instants of disjoint spans, shape (n,).
        ends_ns: first instants after them, shape (n,).
    """
    found = []
    for kind in np.unique(overheads.kind).tolist():
        rows = overheads.where(overheads.kind == kind)
        inside = _touching(rows, starts_ns, ends_ns)
        if inside:
            found.append(
                OverheadTime(
                    kind=None if kind == NULL else kind,
                    label=_LABELS.get(kind, f"type {kind}"),
                    owner=owner_of(kind),
                    rows=inside,
                    wall_ns=int(rows.union().clip(starts_ns, ends_ns).sum()),
                )
            )
    return tuple(found)


def profilers_own(overheads: Overheads) -> Intervals:
    """When the profiler recorded work of its own: buffer flushes, instrumentation, resources."""
    kinds = [kind for kind in np.unique(overheads.kind).tolist() if owner_of(kind) == "profiler"]
    return overheads.where(np.isin(overheads.kind, kinds)).union()


def _touching(rows: Overheads, starts_ns: I64, ends_ns: I64) -> int:
    touching = np.zeros(len(rows), np.bool_)
    for start, end in zip(starts_ns.tolist(), ends_ns.tolist(), strict=True):
        touching |= (rows.start_ns < end) & (rows.end_ns > start)
    return int(touching.sum())
