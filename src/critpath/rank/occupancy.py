"""When a unit's device was busy, and with what: the unions that the budget is made of.

All unions run over all streams of the unit (P01, P02).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import Intervals
from critpath.model.tables import Kernels
from critpath.model.taxonomy import Classification, Taxonomy
from critpath.model.trace import Strings, UnitTrace

__all__ = ["KernelClasses", "Occupancy", "kernel_classes", "occupancy"]


@dataclass(frozen=True, slots=True)
class KernelClasses:
    """What each kernel of a table is.

    Attributes:
        index: row → entry of `classes`, shape (n,).
        classes: the distinct classifications.
        communication: row → whether it is in the communication taxonomy; fused kernels are not.
    """

    index: npt.NDArray[np.intp]
    classes: tuple[Classification, ...]
    communication: npt.NDArray[np.bool_]

    def rows_where(self, accept: Callable[[Classification], bool]) -> npt.NDArray[np.bool_]:
        """The rows whose classification is accepted."""
        accepted = np.array([accept(c) for c in self.classes], np.bool_)
        return accepted[self.index] if self.index.size else np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Unions over all streams of one unit, whole capture.

    Attributes:
        busy: any device op; opaque graphs and unified-memory migrations included.
        compute: kernels outside the communication taxonomy, fused ones included.
        noncomm: compute, memsets and graph rows; copies are left out.
        communication: the communication and dispatcher taxonomy, and copies that are part of a collective; never
            network time (P06).
        copied: those copies alone.
        other_than_communication: everything but communication, copies included: what covers it.
    """

    busy: Intervals
    compute: Intervals
    noncomm: Intervals
    communication: Intervals
    copied: Intervals
    other_than_communication: Intervals


def kernel_classes(kernels: Kernels, strings: Strings, taxonomy: Taxonomy) -> KernelClasses:
    """Each kernel's classification, looked up once a distinct name."""
    if not len(kernels):
        return KernelClasses(np.empty(0, np.intp), (), np.empty(0, np.bool_))
    first, row_name = group_rows(kernels.name, kernels.short_name, kernels.mangled_name)
    names = np.stack([kernels.name, kernels.short_name, kernels.mangled_name], axis=1)[first]
    found: dict[Classification, int] = {}
    name_class = np.array(
        [
            found.setdefault(taxonomy.classify(strings.get(full), strings.get(short), strings.get(mangled)), len(found))
            for full, short, mangled in names.tolist()
        ],
        np.intp,
    )
    index = name_class[row_name]
    communication = np.array([c.is_communication for c in found], np.bool_)
    return KernelClasses(index, tuple(found), communication[index])


def occupancy(unit: UnitTrace, classes: KernelClasses, collective: npt.NDArray[np.bool_]) -> Occupancy:
    """The unions of one unit.

    Args:
        unit: its rows.
        classes: what its kernels are.
        collective: which of its copies are part of a collective: they communicate, though no kernel does.
    """
    compute = unit.kernels.where(~classes.communication).union()
    copied = unit.copies.where(collective).union()
    communication = _union(unit.kernels.where(classes.communication).union(), copied)
    noncomm = _union(compute, unit.memsets.union(), unit.graph_launches.union())
    other = _union(noncomm, unit.copies.where(~collective).union())
    return Occupancy(
        busy=_union(other, communication),
        compute=compute,
        noncomm=noncomm,
        communication=communication,
        copied=copied,
        other_than_communication=other,
    )


def _union(*parts: Intervals) -> Intervals:
    return reduce(Intervals.union, parts)
