"""The same kernel alone and beside communication or copies: overlap isn't free, and what it costs.

    comm      [all-reduce ..............]
    gemm      [   over   ][   over   ][partly ]   [ alone ] [ alone ]

Told per kernel name and launch shape, from medians; what is said is that kernels ran longer at the same time as others,
never that those were the reason. Residence of communication is not transfer (P06): a kernel beside a collective that
waits for its peers is beside it all the same. The definition is docs/method/contention.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals, union
from critpath.base.order_statistics import FEWEST_FOR_INTERVAL, GroupMedians, group_medians
from critpath.model.identity import NULL
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows

__all__ = ["APART_IN_CAPTURE", "APART_IN_ITERATION", "BY", "ContendedKernel", "Contentions", "Overlap", "contention"]

BY = ("communication", "copies")
"""What a kernel may be beside."""

INTERLEAVED, APART_IN_ITERATION, APART_IN_CAPTURE = "interleaved", "apart_in_iteration", "apart_in_capture"

_COVERED_TENTHS = 9
_FEWEST_WINDOWS = 3
"""Windows from which on the first of all steps is set aside: caches, clocks and memory pools settle in it."""

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ContendedKernel:
    """One kernel and launch shape, alone and beside others.

    Attributes:
        by: `communication` or `copies`.
        grid, block: blocks in the grid, threads a block.
        alone_ns, overlapped_ns: median durations.
        n: executions the medians are of, alone and overlapped.
        low, high: slowdown (overlapped median / alone median - 1) at the ends of its 95 % interval.
        phase: whether executions of both kinds take turns, or lie apart in each iteration or in the capture.
        costly: overlapped executions in all windows, those of the first step included.
        measured_ns: time in the windows of those executions that communication, or copies, covered.
        partly, mixed: executions in the windows that were covered in part, or by both; in neither median.
        beside_others: executions in the windows that ran beside other compute, memsets, graphs or other processes.
    """

    name: str
    by: str
    grid: int
    block: int
    alone_ns: float
    overlapped_ns: float
    n: tuple[int, int]
    low: float
    high: float
    phase: str
    costly: int
    measured_ns: int
    partly: int
    mixed: int
    beside_others: int

    @property
    def slowdown(self) -> float:
        """Overlapped median over alone median, minus 1."""
        return self.overlapped_ns / self.alone_ns - 1

    @property
    def cost_ns(self) -> float:
        """Difference of the medians times the overlapped executions in all windows [ns]."""
        return (self.overlapped_ns - self.alone_ns) * self.costly


@dataclass(frozen=True, slots=True)
class Overlap:
    """All compute beside communication, or copies, over all windows.

    Attributes:
        overlap_ns: time in which compute and they ran.
        measured_ns: its part in executions that could be compared.
        cost_ns: how much longer those took, added up over all rows, faster ones included.
        executions: compute kernels that start in the windows, by use: alone, overlapped, partly, mixed, beside_others.
        unknown_shape: those of them whose launch shape isn't told; in no row.
    """

    by: str
    overlap_ns: int
    measured_ns: int
    cost_ns: float
    executions: dict[str, int]
    unknown_shape: int


@dataclass(frozen=True, slots=True)
class Contentions:
    """Contention of a unit: the kernels that could be compared, largest cost first, and the sums."""

    kernels: tuple[ContendedKernel, ...]
    overlaps: tuple[Overlap, ...]


@dataclass(frozen=True, slots=True)
class _Executions:
    """Compute kernels of the unit by start, each array of shape (n,).

    Attributes:
        group: name and launch shape.
        counted: whether it starts in a window and its shape is known.
        measured: whether it may enter a median.
        free: whether it ran beside no other compute, memset, graph or process.
        window: place of the window it starts in, -1 outside.
        covered_ns: how much of it each of `BY` covered.
        in_windows_ns: the part of that inside the windows.
    """

    rows: npt.NDArray[np.intp]
    group: npt.NDArray[np.intp]
    groups: int
    start_ns: I64
    length_ns: I64
    inside: Rows
    counted: Rows
    measured: Rows
    free: Rows
    window: I64
    covered_ns: tuple[I64, I64]
    in_windows_ns: tuple[I64, I64]

    @property
    def alone(self) -> Rows:
        """Executions that nothing else on the device overlapped."""
        alone: Rows = self.free & (self.covered_ns[0] == 0) & (self.covered_ns[1] == 0)
        return alone

    @property
    def mixed(self) -> Rows:
        """Executions that both communication and copies overlapped."""
        mixed: Rows = self.free & (self.covered_ns[0] > 0) & (self.covered_ns[1] > 0)
        return mixed

    def beside(self, by: int) -> Rows:
        """Executions that this one overlapped and the other didn't."""
        beside: Rows = self.free & (self.covered_ns[by] > 0) & (self.covered_ns[1 - by] == 0)
        return beside

    def overlapped(self, by: int) -> Rows:
        """Executions of which it covered at least nine tenths."""
        return self.beside(by) & (10 * self.covered_ns[by] >= _COVERED_TENTHS * self.length_ns)


def contention(ops: ProcessOps, device: int, windows: Windows, foreign: Intervals) -> Contentions:
    """How long compute kernels of a unit took alone and beside communication or copies.

    Args:
        ops: all ops of the process.
        device: the unit's.
        windows: its windows.
        foreign: when ops of other processes on the GPU, and unified-memory migrations, ran: no kernel beside them is
            compared.
    """
    mine = (ops.device == device) & (ops.end_ns > ops.start_ns)
    beside = tuple(_union(ops, mine & kind) for kind in (ops.communication, ops.copy_group >= 0))
    rest = _union(ops, mine & ~ops.compute & ~ops.communication & (ops.copy_group < 0)).union(foreign)
    found = _executions(ops, mine, windows, beside, rest)
    computing = _union(ops, mine & ops.compute)
    kernels: list[ContendedKernel] = []
    overlaps = []
    for by, others in enumerate(beside):
        rows = _kernels(ops, found, by)
        kernels += rows
        both = computing.intersect(others)
        overlaps.append(
            Overlap(
                by=BY[by],
                overlap_ns=int(both.clip(windows.starts_ns, windows.ends_ns).sum()),
                measured_ns=sum(row.measured_ns for row in rows),
                cost_ns=sum(row.cost_ns for row in rows),
                executions=_uses(found, by),
                unknown_shape=int((found.inside & ~found.counted).sum()),
            )
        )
    kernels.sort(key=lambda row: (-abs(row.cost_ns), row.name, row.grid, row.block))
    return Contentions(tuple(kernels), tuple(overlaps))


def _executions(
    ops: ProcessOps, mine: Rows, windows: Windows, beside: tuple[Intervals, ...], rest: Intervals
) -> _Executions:
    rows = np.flatnonzero(mine & ops.compute)
    rows = rows[np.lexsort((ops.end_ns[rows], ops.start_ns[rows]))]
    start, end = ops.start_ns[rows], ops.end_ns[rows]
    first, group = group_rows(ops.name[rows], ops.grid[rows], ops.block[rows])
    warm = np.ones(rows.size, np.bool_)
    warm[first] = False
    window = windows.of(start)
    counted = (window >= 0) & (ops.grid[rows] != NULL) & (ops.block[rows] != NULL) & (ops.name[rows] != NULL)
    if len(windows) >= _FEWEST_WINDOWS and windows.index[0] == 0:
        warm &= window != 0
    spans = windows.union()
    return _Executions(
        rows=rows,
        group=group,
        groups=int(first.size),
        start_ns=start,
        length_ns=end - start,
        inside=window >= 0,
        counted=counted,
        measured=counted & warm,
        free=~_beside_another(start, end) & (rest.clip(start, end) == 0),
        window=window,
        covered_ns=(beside[0].clip(start, end), beside[1].clip(start, end)),
        in_windows_ns=(beside[0].intersect(spans).clip(start, end), beside[1].intersect(spans).clip(start, end)),
    )


def _beside_another(start_ns: I64, end_ns: I64) -> Rows:
    """Which spans, in order of their starts and none empty, share an instant with another one."""
    found = np.zeros(start_ns.size, np.bool_)
    if start_ns.size:
        found[1:] = np.maximum.accumulate(end_ns)[:-1] > start_ns[1:]
        found[:-1] |= start_ns[1:] < end_ns[:-1]
    return found


def _union(ops: ProcessOps, rows: Rows) -> Intervals:
    return union(ops.start_ns[rows], ops.end_ns[rows])


def _uses(found: _Executions, by: int) -> dict[str, int]:
    over = found.overlapped(by)
    uses = {
        "alone": found.alone,
        "overlapped": over,
        "partly": found.beside(by) & ~over,
        "mixed": found.mixed,
        "beside_others": ~found.free,
    }
    return {use: int((found.inside & rows).sum()) for use, rows in uses.items()}


def _kernels(ops: ProcessOps, found: _Executions, by: int) -> list[ContendedKernel]:
    over = found.overlapped(by)
    alone = _medians(found, found.measured & found.alone)
    beside = _medians(found, found.measured & over)
    enough = np.flatnonzero((alone.n >= FEWEST_FOR_INTERVAL) & (beside.n >= FEWEST_FOR_INTERVAL))
    if not enough.size:
        return []
    phases = _phases(found, found.measured & found.alone, found.measured & over)
    costly = _count(found, over)
    partly = _count(found, found.beside(by) & ~over)
    mixed = _count(found, found.mixed)
    others = _count(found, ~found.free)
    kept = found.counted & over
    measured = np.bincount(found.group[kept], weights=found.in_windows_ns[by][kept], minlength=found.groups)
    example = np.empty(found.groups, np.intp)
    example[found.group] = found.rows
    return [
        ContendedKernel(
            name=ops.strings[int(ops.name[example[g]])],
            by=BY[by],
            grid=int(ops.grid[example[g]]),
            block=int(ops.block[example[g]]),
            alone_ns=float(alone.median[g]),
            overlapped_ns=float(beside.median[g]),
            n=(int(alone.n[g]), int(beside.n[g])),
            low=float(beside.low[g] / alone.high[g] - 1),
            high=float(beside.high[g] / alone.low[g] - 1),
            phase=phases[g],
            costly=int(costly[g]),
            measured_ns=int(measured[g]),
            partly=int(partly[g]),
            mixed=int(mixed[g]),
            beside_others=int(others[g]),
        )
        for g in enough.tolist()
    ]


def _medians(found: _Executions, rows: Rows) -> GroupMedians:
    return group_medians(found.group[rows], found.length_ns[rows], found.groups)


def _count(found: _Executions, rows: Rows) -> I64:
    return np.bincount(found.group[found.counted & rows], minlength=found.groups).astype(np.int64)


def _phases(found: _Executions, alone: Rows, over: Rows) -> list[str]:
    """Whether the executions of each group take turns in time.

    Where one kind always comes before the other, in every iteration or in the whole capture, another phase of the
    step, other data or a clock that settles explains a difference as well as overlap does.
    """
    whole = _apart(found.group, found.groups, found, (alone, over))
    either = np.flatnonzero(alone | over)
    first, cell = group_rows(found.group[either].astype(np.int64), found.window[either])
    cells = np.full(found.group.size, -1, np.intp)
    cells[either] = cell
    each = _apart(cells, int(first.size), found, (alone, over))
    owner = found.group[either[first]]
    in_both = np.bincount(owner, weights=np.abs(each) < _MISSING, minlength=found.groups)
    before = np.bincount(owner, weights=each == -1, minlength=found.groups)
    after = np.bincount(owner, weights=each == 1, minlength=found.groups)
    steady = (in_both > 0) & ((before == in_both) | (after == in_both))
    return [
        APART_IN_CAPTURE if abs(w) == 1 else APART_IN_ITERATION if s else INTERLEAVED
        for w, s in zip(whole.tolist(), steady.tolist(), strict=True)
    ]


_MISSING = 2


def _apart(cell: npt.NDArray[np.intp], cells: int, found: _Executions, kinds: tuple[Rows, Rows]) -> I64:
    """-1 where all of the first kind come before all of the second in a cell, 1 after, 0 neither, 2 without both."""
    least, most = [], []
    for rows in kinds:
        low, high = np.full(cells, 2**62, np.int64), np.full(cells, -(2**62), np.int64)
        np.minimum.at(low, cell[rows], found.start_ns[rows])
        np.maximum.at(high, cell[rows], found.start_ns[rows])
        least.append(low)
        most.append(high)
    there = (least[0] <= most[0]) & (least[1] <= most[1])
    side = np.where(most[0] < least[1], -1, np.where(most[1] < least[0], 1, 0))
    return np.where(there, side, _MISSING)
