"""What an analysis should find: steps, windows and budgets of every unit, worked out from the execution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from critpath.sim.absence import UnitAbsence
from critpath.sim.absence_totals import WindowedAbsence
from critpath.sim.executed import Execution, Op, OpKind, ProcessRun, SyncShape
from critpath.sim.program import Clock
from critpath.sim.sweep import Budget, Span, budgets
from critpath.sim.traced import traced_ops

__all__ = ["Step", "UnitTruth", "Window", "step_times_ns", "truths"]

_BLOCKING_SYNCS = (SyncShape.EVENT, SyncShape.STREAM, SyncShape.CONTEXT)


@dataclass(frozen=True, slots=True)
class Step:
    """A training step: the host range of its own thread, in true time [ns]."""

    index: int
    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Window:
    """The device time that stands for a step, in true time [ns]; its budget is in the time of the report's clock."""

    step: int
    start_ns: int
    end_ns: int
    budget: Budget


@dataclass(frozen=True, slots=True)
class UnitTruth:
    """One device as one process used it.

    `period` windows run from the first compute op of a step to that of the next; `range` windows to the last end of the
    step's own ops. A step without a compute op of its own (all of it inside opaque graphs) has no window.
    """

    run: ProcessRun
    device: int
    steps: tuple[Step, ...]
    period: tuple[Window, ...]
    range: tuple[Window, ...]

    def as_dict(self, absence: UnitAbsence | None = None) -> dict[str, object]:
        """The unit as `truth.json` holds it: times on the report's own axis.

        Args:
            absence: the unit's intervals without compute; with them each window says why compute was absent.
        """
        clock = self.run.report.clock
        absent = None if absence is None else WindowedAbsence(absence)
        return {
            "file": f"{self.run.report.name}.sqlite",
            "pid": self.run.process.pid,
            "device": self.device,
            "rank": self.run.process.rank,
            "steps": [
                {"step": s.index, "name": s.name, "start_ns": clock.at(s.start_ns), "end_ns": clock.at(s.end_ns)}
                for s in self.steps
            ],
            "windows": {
                "period": [_window_dict(window, self, absent) for window in self.period],
                "range": [_window_dict(window, self, absent) for window in self.range],
            },
        }


def _window_dict(window: Window, unit: UnitTruth, absent: WindowedAbsence | None) -> dict[str, object]:
    clock = unit.run.report.clock
    found: dict[str, object] = {
        "step": window.step,
        "start_ns": clock.on_device(unit.device, window.start_ns),
        "end_ns": clock.on_device(unit.device, window.end_ns),
        "budget": window.budget.as_dict(),
    }
    if absent is not None:
        found["absent"] = absent.totals((window.start_ns, window.end_ns)).as_dict()
    return found


def truths(execution: Execution) -> list[UnitTruth]:
    """The truth of every unit, in the order of processes and then devices."""
    return [unit for run in execution.runs for unit in _units(run, execution.job.graph_trace)]


def step_times_ns(units: Iterable[UnitTruth]) -> list[int]:
    """The job's step times: for each step the slowest unit's period window [ns]."""
    slowest: dict[int, int] = {}
    for unit in units:
        for window in unit.period:
            slowest[window.step] = max(slowest.get(window.step, 0), window.end_ns - window.start_ns)
    return [slowest[step] for step in sorted(slowest)]


def _units(run: ProcessRun, graph_trace: str) -> list[UnitTruth]:
    by_device: dict[int, list[Op]] = {}
    for op in traced_ops(run, graph_trace):
        by_device.setdefault(op.stream.device, []).append(op)
    return [_unit(run, device, by_device[device]) for device in sorted(by_device)]


def _unit(run: ProcessRun, device: int, ops: Sequence[Op]) -> UnitTruth:
    steps = _steps(run, {op.thread.tid for op in ops})
    owned = _owned(steps, ops)
    computing = {step.index: [op.start_ns for op in owned[step.index] if not op.kind] for step in steps}
    starts = sorted((step, min(found)) for step, found in computing.items() if found)
    period = [(step, first, after) for (step, first), (later, after) in pairwise(starts) if later == step + 1]
    whole = [(step, first, max(op.end_ns for op in owned[step])) for step, first in starts]
    spans = [(start_ns, end_ns) for _, start_ns, end_ns in (*period, *whole)]
    found = _budgets(run.report.clock, spans, ops, _sync_spans(run, device))
    windows = [
        Window(step, start_ns, end_ns, budget)
        for (step, start_ns, end_ns), budget in zip((*period, *whole), found, strict=True)
    ]
    return UnitTruth(run, device, steps, tuple(windows[: len(period)]), tuple(windows[len(period) :]))


class _Shown(NamedTuple):
    """An op in the time of its report's clock."""

    start_ns: int
    end_ns: int
    kind: OpKind


def _budgets(clock: Clock, windows: Sequence[Span], ops: Sequence[Op], syncs: Sequence[Span]) -> list[Budget]:
    """Budgets in the time of the report's clock. What only one clock is off by moves nothing against anything else."""
    if not clock.drift_ppm:
        return budgets(windows, ops, syncs)
    return budgets(
        [(clock.at(start_ns), clock.at(end_ns)) for start_ns, end_ns in windows],
        [_Shown(clock.at(op.start_ns), clock.at(op.end_ns), op.kind) for op in ops],
        [(clock.at(start_ns), clock.at(end_ns)) for start_ns, end_ns in syncs],
    )


def _steps(run: ProcessRun, threads: set[int]) -> tuple[Step, ...]:
    """Step ranges, by index; those of the device's own launching threads where they have any."""
    ranges = [r for r in run.ranges if r.step is not None]
    own = [r for r in ranges if r.thread.tid in threads]
    found = [Step(r.step, r.text, r.start_ns, r.end_ns) for r in own or ranges if r.step is not None]
    return tuple(sorted(found, key=lambda step: step.index))


def _owned(steps: Sequence[Step], ops: Sequence[Op]) -> dict[int, list[Op]]:
    """The ops of each step: those whose launch call, on any thread, began inside its host range.

    Migrations of managed memory show no call and belong to no step.
    """
    owned: dict[int, list[Op]] = {step.index: [] for step in steps}
    in_order = sorted(steps, key=lambda step: step.start_ns)
    place = 0
    for op in sorted((op for op in ops if op.correlation), key=attrgetter("call_start_ns")):
        while place < len(in_order) and in_order[place].end_ns <= op.call_start_ns:
            place += 1
        if place < len(in_order) and in_order[place].start_ns <= op.call_start_ns:
            owned[in_order[place].index].append(op)
    return owned


def _sync_spans(run: ProcessRun, device: int) -> list[Span]:
    """Host synchronization calls on the contexts of `device`."""
    return [
        (sync.start_ns, sync.end_ns)
        for sync in run.syncs
        if sync.shape in _BLOCKING_SYNCS and sync.anchor.device == device
    ]
