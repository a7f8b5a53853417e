"""Kernels of a unit by family and by name, with the rule that classified each (P20)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import overlap
from critpath.model.taxonomy import Classification
from critpath.model.trace import UnitTrace
from critpath.rank.budget import clipped_sum, starts_inside
from critpath.rank.occupancy import KernelClasses
from critpath.rank.windows import Windows

__all__ = ["FamilyTime", "NameTime", "families", "names"]


@dataclass(frozen=True, slots=True)
class FamilyTime:
    """Local compute of one family over all windows; work is a volume, the union a wall time [ns]."""

    family: str
    count: int
    work_ns: int
    union_ns: int


@dataclass(frozen=True, slots=True)
class NameTime:
    """Kernels of one name over all windows, and what the taxonomy says of the name; `rule` None = no rule knew it."""

    name: str
    family: str
    rule: str | None
    count: int
    work_ns: int


def families(unit: UnitTrace, classes: KernelClasses, windows: Windows) -> tuple[FamilyTime, ...]:
    """Local compute by family, most work first; communication is told by backend elsewhere."""
    found = []
    for family in sorted({c.family for c in classes.classes if c.is_compute}):
        mine = unit.kernels.where(classes.rows_where(lambda c, family=family: c.family == family))  # type: ignore[misc]
        time = FamilyTime(
            family=family,
            count=int(starts_inside(mine, windows.starts_ns, windows.ends_ns).sum()),
            work_ns=clipped_sum(mine, windows.starts_ns, windows.ends_ns),
            union_ns=int(mine.union().clip(windows.starts_ns, windows.ends_ns).sum()),
        )
        if time.count or time.work_ns:
            found.append(time)
    return tuple(sorted(found, key=lambda t: (-t.work_ns, t.family)))


def names(unit: UnitTrace, classes: KernelClasses, windows: Windows) -> tuple[NameTime, ...]:
    """Every kernel name that ran in the windows, communication included, most work first."""
    kernels = unit.kernels
    if not len(kernels):
        return ()
    work = overlap(kernels.start_ns, kernels.end_ns, windows.starts_ns, windows.ends_ns)
    first, row_name = group_rows(kernels.name)
    total = np.bincount(row_name, weights=work.astype(np.float64)).astype(np.int64)
    inside = starts_inside(kernels, windows.starts_ns, windows.ends_ns)
    count = np.bincount(row_name[inside], minlength=first.size)
    rows = []
    for i in np.argsort(-total, kind="stable").tolist():
        if total[i] or count[i]:
            c: Classification = classes.classes[classes.index[first[i]]]
            text = unit.strings[int(kernels.name[first[i]])]
            rows.append(NameTime(text, c.family, c.rule, int(count[i]), int(total[i])))
    return tuple(rows)
