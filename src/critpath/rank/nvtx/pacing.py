"""How long each range takes on the device, step by step: its pace, its trend, its kernels.

All instances of one grouped name in one domain are one range here. Time is the union of what they launched, clipped to
the windows: work that was launched in one step and ran in the next counts where it ran. The definition is
docs/method/nvtx.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals, overlap, union
from critpath.base.nesting import repeats
from critpath.base.stats import log2_counts, theil_sen_slope
from critpath.rank.kernel_work import KernelWork, by_work, kernel_work
from critpath.rank.nvtx.places import paths
from critpath.rank.nvtx.projection import Projection, UnitRanges, on_threads_of
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows

__all__ = ["HostRange", "Pacing", "RangePace", "pacing"]

FEWEST_FOR_TREND = 4
"""Windows from which on a trend over the steps is told."""

_RANGES, _HOST_RANGES, _KERNELS = 20, 10, 5
_NS_PER_US = 1_000


@dataclass(frozen=True, slots=True)
class RangePace:
    """One range over the windows; arrays have shape (n,), a value a window.

    Attributes:
        path: grouped names of the ranges around most of its instances in the windows, and its own, outermost first.
        name: its grouped name.
        domain: NVTX domain id.
        instances: instances that belong to each window; those inside another of the name don't count.
        device_ns: time with at least one op running that an instance launched.
        compute_ns, communication_ns: the same of compute ops, and of kernels of the communication taxonomy.
        any_thread_ns: time with an op running that any thread launched while an instance was open.
        host_ns: time with an instance open on the host.
        gap_ns: time of each bucket within the instances' spans on the device, over all windows.
        trend: Theil-Sen slope of `device_ns` over the steps [ns a step], None with fewer than four windows.
        histogram: instances by their time on the device, by powers of two of 1 us; see `log2_counts`.
        kernels: the kernels that ran in the windows, with their work there, largest first.
        kernels_left: other kernel names.
    """

    path: str
    name: str
    domain: int
    instances: I64
    device_ns: I64
    compute_ns: I64
    communication_ns: I64
    any_thread_ns: I64
    host_ns: I64
    gap_ns: tuple[int, ...]
    trend: float | None
    histogram: tuple[int, ...]
    kernels: tuple[KernelWork, ...]
    kernels_left: int


@dataclass(frozen=True, slots=True)
class HostRange:
    """A range whose own thread launched nothing on the unit.

    Attributes:
        path: as of `RangePace`.
        instances: those that start in the windows.
        host_ns: time with an instance open on the host, a value a window.
        any_thread_ns: time with an op running that another thread launched while an instance was open.
    """

    path: str
    instances: int
    host_ns: I64
    any_thread_ns: I64


@dataclass(frozen=True, slots=True)
class Pacing:
    """The ranges of a unit.

    Attributes:
        ranges: those with the most time on the device in the windows, largest first.
        ranges_left: other names with time on the device there.
        host_only: those without any op on the unit that were open longest in the windows.
        host_only_left: other names without.
    """

    ranges: tuple[RangePace, ...]
    ranges_left: int
    host_only: tuple[HostRange, ...]
    host_only_left: int


def pacing(
    ops: ProcessOps, projection: Projection, ranges: UnitRanges, windows: Windows, buckets: Sequence[Intervals]
) -> Pacing:
    """The pace of each range of a unit.

    Args:
        ops: of the process.
        projection: its ranges.
        ranges: what they launched on the unit.
        windows: of the unit.
        buckets: when each bucket of its time without compute lasted.
    """
    return _Paces(ops, projection, ranges, windows, tuple(buckets)).told()


class _Paces:
    """What all ranges of a unit share."""

    def __init__(
        self,
        ops: ProcessOps,
        projection: Projection,
        ranges: UnitRanges,
        windows: Windows,
        buckets: tuple[Intervals, ...],
    ) -> None:
        self.ops, self.projection, self.ranges, self.windows, self.buckets = ops, projection, ranges, windows, buckets
        op = ranges.op
        self.start, self.end = ops.start_ns[op], ops.end_ns[op]
        self.compute, self.communication = ops.compute[op], ops.communication[op]
        called = ops.called_ns()[op]
        self.in_order = np.argsort(called, kind="stable")
        self.called_in_order = called[self.in_order]
        first, group = group_rows(projection.domain, projection.name.astype(np.int64))
        self.first = first
        order = np.argsort(group, kind="stable")
        self.edges = np.searchsorted(group[order], np.arange(first.size + 1))
        self.order, self.group, self.inner = order, group, _inner(projection, group)
        self.paths = paths(projection)

    def told(self) -> Pacing:
        groups = self.first.size
        ranges, windows = self.ranges, self.windows
        solid = (ranges.hi > ranges.lo) & ~self.inner
        rows = np.flatnonzero(solid)
        # A union is at most the sum of the spans that it is made of, each of which is clipped by its extent.
        most = np.zeros(groups, np.int64)
        clipped = windows.union().clip(ranges.device_start_ns[rows], ranges.device_end_ns[rows])
        np.add.at(most, self.group[rows], np.minimum(ranges.device_ns[rows], clipped))
        largest, left = _largest(most, lambda g: int(self._device(self._launched(self._rows(g))).sum()), _RANGES)
        host_only, host_only_left = self._host_only(solid)
        return Pacing(
            ranges=tuple(self._pace(g) for g in largest),
            ranges_left=left,
            host_only=host_only,
            host_only_left=host_only_left,
        )

    def _rows(self, group: int) -> npt.NDArray[np.intp]:
        """Instances of a group that aren't inside another of it, by (thread, start)."""
        rows = self.order[self.edges[group] : self.edges[group + 1]]
        return rows[~self.inner[rows]]

    def _launched(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Places in `ranges.op` of what any of the instances launched."""
        return _covered(self.ranges.lo[rows], self.ranges.hi[rows], self.start.size)

    def _device(self, launched: npt.NDArray[np.intp]) -> I64:
        """Time in each window with at least one of the ops running."""
        return union(self.start[launched], self.end[launched]).clip(self.windows.starts_ns, self.windows.ends_ns)

    def _while_open(self, host: Intervals) -> npt.NDArray[np.intp]:
        """Places in `ranges.op` of what any thread launched at these times."""
        lo = np.searchsorted(self.called_in_order, host.starts_ns)
        hi = np.searchsorted(self.called_in_order, host.ends_ns)
        return self.in_order[_covered(lo, hi, self.start.size)]

    def _pace(self, group: int) -> RangePace:
        p, r, w = self.projection, self.ranges, self.windows
        rows = self._rows(group)
        launched = self._launched(rows)
        device_ns = self._device(launched)
        host = union(p.start_ns[rows], p.end_ns[rows])
        launches = r.hi[rows] > r.lo[rows]
        window = w.of(np.where(launches, r.device_start_ns[rows], p.start_ns[rows]))
        some, counted = rows[launches], rows[launches & (window >= 0)]
        spans = union(r.device_start_ns[some], r.device_end_ns[some])
        kernels, left = self._kernels(launched)
        return RangePace(
            path=self._path(rows[window >= 0] if (window >= 0).any() else rows),
            name=p.names[p.name[rows[0]]],
            domain=int(p.domain[rows[0]]),
            instances=np.bincount(window[window >= 0], minlength=len(w)).astype(np.int64),
            device_ns=device_ns,
            compute_ns=self._device(launched[self.compute[launched]]),
            communication_ns=self._device(launched[self.communication[launched]]),
            any_thread_ns=self._device(self._while_open(host)),
            host_ns=host.clip(w.starts_ns, w.ends_ns),
            gap_ns=tuple(int(spans.intersect(b).clip(w.starts_ns, w.ends_ns).sum()) for b in self.buckets),
            trend=theil_sen_slope(w.index, device_ns) if len(w) >= FEWEST_FOR_TREND else None,
            histogram=log2_counts(r.device_ns[counted], _NS_PER_US),
            kernels=kernels,
            kernels_left=left,
        )

    def _path(self, rows: npt.NDArray[np.intp]) -> str:
        """The path of most instances; of equally many, the first to occur."""
        codes, at, count = np.unique(self.paths.code[rows], return_index=True, return_counts=True)
        return self.paths.texts[int(codes[np.lexsort((at, -count))[0]])]

    def _kernels(self, launched: npt.NDArray[np.intp]) -> tuple[tuple[KernelWork, ...], int]:
        name = self.ops.name[self.ranges.op[launched]]
        kernels = launched[name >= 0]
        work = overlap(self.start[kernels], self.end[kernels], self.windows.starts_ns, self.windows.ends_ns)
        told = sorted(kernel_work(self.ops, self.ranges.op[kernels[work > 0]], work[work > 0]), key=by_work)
        return tuple(told[:_KERNELS]), max(0, len(told) - _KERNELS)

    def _host_only(self, solid: npt.NDArray[np.bool_]) -> tuple[tuple[HostRange, ...], int]:
        p, w = self.projection, self.windows
        launches = np.zeros(self.first.size, np.bool_)
        launches[self.group[solid]] = True
        here = on_threads_of(p, self.ranges, self.ops)
        rows = np.flatnonzero(~launches[self.group] & ~self.inner & here)
        most = np.zeros(self.first.size, np.int64)
        np.add.at(most, self.group[rows], w.union().clip(p.start_ns[rows], p.end_ns[rows]))

        def opened(group: int) -> Intervals:
            its = self._rows(group)
            its = its[here[its]]
            return union(p.start_ns[its], p.end_ns[its])

        def told(group: int) -> HostRange:
            its, host = self._rows(group), opened(group)
            its = its[here[its]]
            within = w.of(p.start_ns[its]) >= 0
            return HostRange(
                path=self._path(its[within] if within.any() else its),
                instances=int(within.sum()),
                host_ns=host.clip(w.starts_ns, w.ends_ns),
                any_thread_ns=self._device(self._while_open(host)),
            )

        largest, left = _largest(most, lambda g: int(opened(g).clip(w.starts_ns, w.ends_ns).sum()), _HOST_RANGES)
        return tuple(told(g) for g in largest), left


def _covered(lo: npt.NDArray[np.integer], hi: npt.NDArray[np.integer], size: int) -> npt.NDArray[np.intp]:
    """Places below `size` that lie in any of the ranges [lo, hi), ascending."""
    marks = np.zeros(size + 1, np.int32)
    np.add.at(marks, lo, 1)
    np.add.at(marks, hi, -1)
    return np.flatnonzero(np.cumsum(marks[:-1]))


def _largest(bound: I64, measure: Callable[[int], int], keep: int) -> tuple[list[int], int]:
    """(groups, how many others may have something): the `keep` groups that measure most, without measuring all.

    Args:
        bound: what each group can measure at most.
        measure: of a group.
        keep: how many.
    """
    candidates = np.flatnonzero(bound > 0)
    found: list[tuple[int, int]] = []
    nothing = 0
    for group in candidates[np.lexsort((candidates, -bound[candidates]))].tolist():
        if len(found) >= keep and found[keep - 1][0] <= -int(bound[group]):
            break
        total = measure(group)
        if total:
            found = sorted([*found, (-total, group)])
        else:
            nothing += 1
    kept = [group for _, group in found[:keep]]
    return kept, candidates.size - nothing - len(kept)


def _inner(projection: Projection, group: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Ranges that lie in another of their group and thread."""
    owner = group_rows(projection.thread, group.astype(np.int64))[1].astype(np.int64)
    order = np.argsort(owner, kind="stable")
    found = np.empty(owner.size, np.bool_)
    found[order] = repeats(owner[order], projection.start_ns[order], projection.end_ns[order])
    return found
