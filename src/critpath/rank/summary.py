"""Everything that is said of one unit alone, as one small picklable value."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from critpath.base.intervals import Intervals
from critpath.model.identity import UnitKey
from critpath.model.tables import DeviceOps
from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.choose import anchored_windows
from critpath.rank.budget import Budget, HostSync, WorkVolume, budget, host_sync, work_volume
from critpath.rank.communication import Communication, communication
from critpath.rank.compute import FamilyTime, NameTime, families, names
from critpath.rank.copy_collectives import collective_copies
from critpath.rank.graph_use import GraphUse, graph_use
from critpath.rank.launches import Launches, unit_launches
from critpath.rank.occupancy import KernelClasses, Occupancy, kernel_classes, occupancy
from critpath.rank.overheads import OverheadTime, overhead_times, profilers_own
from critpath.rank.steps import declared_steps
from critpath.rank.transfers import Transfer, transfers
from critpath.rank.windows import Windows, span_window

__all__ = ["RankSummary", "StepOptions", "ops_span", "summarise"]

_KEPT_NAMES = 200
"""Names a summary keeps: far more than a report lists, and few enough for thousands of ranks."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How the user defined the step.

    Attributes:
        step: expression that a range's whole text must match.
        scope: `period` or `range`.
        span_ns: one window of exactly this span of the report's axis.
    """

    step: re.Pattern[str] | None = None
    scope: str = "period"
    span_ns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RankSummary:
    """One unit, analysed alone.

    Attributes:
        span_ns: first start and last end of its device ops.
        overheads: recorded overhead in the windows by type, of the unit's whole process.
        busy: when its device was busy, whole capture: units on one GPU are united from it; empty once compact.
        waits_called: whether its process called an event wait or record.
        communicating: when kernels of the communication taxonomy ran, whole capture; empty once compact.
        profiler_overhead_ns: recorded profiler activity in the windows; never a slowdown (P25).
    """

    key: UnitKey
    span_ns: tuple[int, int]
    windows: Windows
    budget: Budget
    work: WorkVolume
    host_sync: HostSync
    communication: Communication
    transfers: tuple[Transfer, ...]
    families: tuple[FamilyTime, ...]
    names: tuple[NameTime, ...]
    graphs: GraphUse
    overheads: tuple[OverheadTime, ...]
    busy: Intervals
    communicating: Intervals
    waits_called: bool
    profiler_overhead_ns: int

    def compact(self) -> RankSummary:
        """Without what only its own input's other units need, so that thousands fit the memory of one process."""
        return replace(self, busy=Intervals.empty(), communicating=Intervals.empty())


def summarise(unit: UnitTrace, taxonomy: Taxonomy, options: StepOptions) -> RankSummary | None:
    """The summary of one unit, or None where nothing can be said of its step.

    That is where it has no device op of any length, no step that was declared, or no op in the declared span: a unit
    that did nothing there may as well not have been captured there, and must not read as an idle device.

    Args:
        unit: its rows, damaged ones removed.
        taxonomy: how kernel names are read.
        options: the user's definition of the step.
    """
    classes = kernel_classes(unit.kernels, unit.strings, taxonomy)
    launched = unit_launches(unit)
    collective = collective_copies(unit.copies, launched.copies, launched.calls, unit.nvtx_ranges, unit.strings)
    occupied = occupancy(unit, classes, collective)
    if not len(occupied.busy):
        return None
    windows = _windows(unit, launched, classes, _span(occupied), options)
    if windows is None:
        return None
    starts, ends = windows.starts_ns, windows.ends_ns
    return RankSummary(
        key=unit.key,
        span_ns=_span(occupied),
        windows=windows,
        budget=budget(occupied, starts, ends),
        work=work_volume(unit, launched, starts, ends),
        host_sync=host_sync(unit, occupied.busy, starts, ends),
        communication=communication(unit, classes, occupied, unit.copies.where(collective), windows),
        transfers=transfers(unit, windows),
        families=families(unit, classes, windows),
        names=names(unit, classes, windows)[:_KEPT_NAMES],
        graphs=graph_use(unit, windows),
        overheads=overhead_times(unit.overheads, starts, ends),
        busy=occupied.busy,
        communicating=occupied.communication,
        waits_called=_waits_called(unit),
        profiler_overhead_ns=int(profilers_own(unit.overheads).clip(starts, ends).sum()),
    )


def _windows(
    unit: UnitTrace,
    launched: Launches,
    classes: KernelClasses,
    span_ns: tuple[int, int],
    options: StepOptions,
) -> Windows | None:
    if options.span_ns is not None:
        start, end = options.span_ns
        if not any(_touches(ops, start, end) for ops, _ in launched.tables(unit)):
            return None
        return span_window(start, end, kind="explicit", text=f"{start}:{end}")
    if options.step is not None:
        declared = declared_steps(unit, options.step, launched)
        return anchored_windows(unit, launched, classes, declared, options.scope) if declared else None
    windows = anchored_windows(unit, launched, classes, None, options.scope)
    return windows or span_window(*span_ns, kind="capture", text="whole capture")


def _waits_called(unit: UnitTrace) -> bool:
    names = unit.strings.of(unit.runtime_calls.name).values()
    return any("StreamWaitEvent" in name or "EventRecord" in name for name in names)


def ops_span(unit: UnitTrace) -> tuple[int, int] | None:
    """First start and last end of the device ops of a unit [ns], None without any."""
    tables = [t for t in (unit.kernels, unit.copies, unit.memsets, unit.graph_launches) if len(t)]
    if not tables:
        return None
    return min(int(t.start_ns.min()) for t in tables), max(int(t.end_ns.max()) for t in tables)


def _touches(ops: DeviceOps, start_ns: int, end_ns: int) -> bool:
    return bool(((ops.start_ns < end_ns) & ((ops.end_ns > start_ns) | (ops.start_ns >= start_ns))).any())


def _span(occupied: Occupancy) -> tuple[int, int]:
    return int(occupied.busy.starts_ns[0]), int(occupied.busy.ends_ns[-1])
