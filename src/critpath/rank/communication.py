"""Communication of a unit by backend and component: its union, and what no other device work covered.

A union of communication kernels is residence, not network time: they wait inside (P06). Exposed is an upper bound of
what overlap could win, not what blocked (P07). NCCL alone never stands for all of it (P05).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64, Intervals
from critpath.model.tables import Copies, DeviceOps, Kernels
from critpath.model.taxonomy import Classification
from critpath.model.trace import UnitTrace
from critpath.rank.budget import clipped_sum, starts_inside
from critpath.rank.occupancy import KernelClasses, Occupancy
from critpath.rank.windows import Windows

__all__ = ["BackendTime", "Communication", "communication"]


@dataclass(frozen=True, slots=True)
class BackendTime:
    """One component of one backend over all windows; work is a volume, the others wall times [ns].

    Attributes:
        exposed_ns: time in which it ran and nothing else did, other backends and components included.
    """

    backend: str
    component: str
    count: int
    work_ns: int
    union_ns: int
    exposed_ns: int


@dataclass(frozen=True, slots=True)
class Communication:
    """Communication over all windows [ns]; exposed + overlapped = union.

    Attributes:
        collectives: collective type → ops that start in a window; `unknown` where the name doesn't tell.
    """

    backends: tuple[BackendTime, ...]
    union_ns: int
    exposed_ns: int
    nccl_union_ns: int
    nccl_exposed_ns: int
    collectives: tuple[tuple[str, int], ...]

    @property
    def overlapped_ns(self) -> int:
        """Communication that other device work covered [ns]."""
        return self.union_ns - self.exposed_ns


def communication(
    unit: UnitTrace, classes: KernelClasses, occupied: Occupancy, copied: Copies, windows: Windows
) -> Communication:
    """What communicated in the windows, fused kernels listed but in no union here.

    Args:
        unit: its rows.
        classes: what its kernels are.
        occupied: the unions of the unit.
        copied: copies that are part of a collective.
        windows: its windows.
    """
    starts, ends = windows.starts_ns, windows.ends_ns
    exposed = occupied.communication.subtract(occupied.other_than_communication)
    nccl = unit.kernels.where(classes.rows_where(_is_nccl))
    rest = unit.kernels.where(classes.communication & ~classes.rows_where(_is_nccl))
    nccl_union = nccl.union()
    nccl_exposed = nccl_union.subtract(occupied.other_than_communication).subtract(rest.union().union(occupied.copied))
    groups = {(c.backend, c.component) for c in classes.classes if c.backend is not None}
    rows: list[tuple[str, str, DeviceOps]] = [
        (c[0] or "other", c[1] or "collective", unit.kernels.where(classes.rows_where(_of(*c))))
        for c in sorted(groups, key=str)
    ]
    if len(copied):
        rows.append(("copy_engine", "collective", copied))
    backends = [
        _backend_time(row, [r[2] for r in rows if r is not row], occupied.other_than_communication, windows)
        for row in rows
    ]
    return Communication(
        backends=tuple(backends),
        union_ns=_total(occupied.communication.clip(starts, ends)),
        exposed_ns=_total(exposed.clip(starts, ends)),
        nccl_union_ns=_total(nccl_union.clip(starts, ends)),
        nccl_exposed_ns=_total(nccl_exposed.clip(starts, ends)),
        collectives=_collectives(unit.kernels, classes, windows),
    )


def _is_nccl(c: Classification) -> bool:
    return c.is_communication and c.backend == "nccl"


def _backend_time(
    row: tuple[str, str, DeviceOps], others: list[DeviceOps], rest: Intervals, windows: Windows
) -> BackendTime:
    backend, component, mine = row
    starts, ends = windows.starts_ns, windows.ends_ns
    ran = mine.union()
    alone = ran.subtract(rest)
    for other in others:
        alone = alone.subtract(other.union())
    return BackendTime(
        backend=backend,
        component=component,
        count=int(starts_inside(mine, starts, ends).sum()),
        work_ns=clipped_sum(mine, starts, ends),
        union_ns=_total(ran.clip(starts, ends)),
        exposed_ns=_total(alone.clip(starts, ends)),
    )


def _of(backend: str | None, component: str | None) -> Callable[[Classification], bool]:
    return lambda c: (c.backend, c.component) == (backend, component)


def _collectives(kernels: Kernels, classes: KernelClasses, windows: Windows) -> tuple[tuple[str, int], ...]:
    inside = starts_inside(kernels, windows.starts_ns, windows.ends_ns) & classes.communication
    per_class = np.bincount(classes.index[inside], minlength=len(classes.classes))
    counts: Counter[str] = Counter()
    for c, n in zip(classes.classes, per_class.tolist(), strict=True):
        if n and c.component == "collective":
            counts[c.collective or "unknown"] += n
    return tuple(counts.most_common())


def _total(parts_ns: I64) -> int:
    return int(parts_ns.sum())
