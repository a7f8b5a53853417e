"""Which anchor the windows of a unit come from, and which second one checks them.

NVTX ranges come first, then collectives, optimizer kernels and the kernel sequence. Where they tell different steps the
optimizer's is taken, and without one the longer that the other is nested in: collectives recur in microbatches too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from critpath.model.identity import NULL
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.cross_check import CrossCheck, cross_check
from critpath.rank.anchors.device import collective_period, kernel_sequence_period, optimizer_period
from critpath.rank.anchors.periods import Period, longest
from critpath.rank.anchors.sequence import KernelSequence, kernel_sequence
from critpath.rank.launches import Launches
from critpath.rank.occupancy import KernelClasses
from critpath.rank.steps import OPEN_END_NS, Steps, detected_steps
from critpath.rank.windows import Windows, step_windows

__all__ = ["anchored_windows"]

_FINDERS: dict[str, Callable[[KernelSequence], Period | None]] = {
    "collective": collective_period,
    "optimizer": optimizer_period,
    "kernel-sequence": kernel_sequence_period,
}
_SAME = 0.05
_CHECKED_BY = ("optimizer", "collective", "kernel-sequence")
"""Which second anchor is asked first: only an update of the parameters tells a step from its microbatches."""


class _DevicePeriods:
    """The device anchors of a unit, each searched for once, when it is first asked for."""

    def __init__(self, unit: UnitTrace, launched: Launches, classes: KernelClasses) -> None:
        self._unit, self._launched, self._classes = unit, launched, classes
        self._found: dict[str, Period | None] = {}

    @functools.cached_property
    def sequence(self) -> KernelSequence:
        return kernel_sequence(self._unit, self._launched, self._classes)

    def of(self, kind: str) -> Period | None:
        if kind not in self._found:
            self._found[kind] = _FINDERS[kind](self.sequence)
        return self._found[kind]

    def chosen(self) -> tuple[str, Period] | None:
        """The best kind with a period that may be the step, unless another kind's shows that to be a part of one."""
        steps = {kind: period for kind in _FINDERS if (period := self.of(kind)) and period.is_step}
        if not steps:
            return None
        kind = next(iter(steps))
        updates = steps.get("optimizer")
        if updates and not _is_same(updates, steps[kind]):
            kind = "optimizer"
        if updates:
            return kind, steps[kind]
        # Without an update of parameters in sight, collectives alone don't tell a step from its microbatches.
        whole = longest(self.sequence, list(steps.values()))
        agreeing = [k for k, period in steps.items() if whole and _is_same(period, whole)]
        if not whole or agreeing == ["collective"]:
            return None
        return agreeing[0], steps[agreeing[0]]

    def name_of(self, period: Period) -> str:
        """Name of the kernel that marks most of the periods, as short as the export has it."""
        marking = self.sequence.name[period.marks]
        place = period.marks[np.flatnonzero(marking == np.bincount(marking).argmax())[0]]
        row = self.sequence.row[place]
        kernels, strings = self._unit.kernels, self._unit.strings
        return strings.get(int(kernels.short_name[row])) or strings[int(kernels.name[row])]


def anchored_windows(
    unit: UnitTrace, launched: Launches, classes: KernelClasses, declared: Steps | None, scope: str
) -> Windows | None:
    """Windows of the declared steps, or of the best anchor found, with a second anchor's opinion; None without any.

    Args:
        unit: rows of the unit.
        launched: the issuing call of each of its ops.
        classes: what each kernel is.
        declared: steps that the user defined; nothing else is tried then.
        scope: `period` or `range`.
    """
    device = _DevicePeriods(unit, launched, classes)
    ranges = declared if declared is not None else detected_steps(unit, launched)
    windows = step_windows(unit, launched, classes.communication, ranges, scope) if ranges else None
    if not windows and declared is None:
        chosen = device.chosen()
        steps = _as_steps(device, *chosen) if chosen else None
        windows = step_windows(unit, launched, classes.communication, steps, scope) if steps else None
    if not windows:
        return None
    return replace(windows, cross_check=_second_opinion(device, windows))


def _is_same(one: Period, other: Period) -> bool:
    return abs(one.median_ns / other.median_ns - 1) <= _SAME


def _as_steps(device: _DevicePeriods, kind: str, period: Period) -> Steps:
    """The marks of a period as steps; on the host a step begins where its mark was issued."""
    sequence = device.sequence
    marks_ns = sequence.start_ns[period.marks]
    issued = sequence.launch_ns[period.marks]
    in_order = bool((issued != NULL).all() and (np.diff(issued) > 0).all())
    starts = issued if in_order else marks_ns
    return Steps(
        kind=kind,
        text=f"{device.name_of(period)}, once a step: windows begin where it starts on the device",
        labels=tuple(f"{kind} {i}" for i in range(marks_ns.size)),
        starts_ns=starts,
        ends_ns=np.append(starts[1:], OPEN_END_NS),
        marks_ns=marks_ns,
        confidence=period.confidence,
        unlike=period.unlike,
    )


def _second_opinion(device: _DevicePeriods, windows: Windows) -> CrossCheck | None:
    """The opinion of an anchor of another kind: an objection, else the same step, else a fraction of it.

    An anchor that is itself in doubt may agree but not object.
    """
    fraction: CrossCheck | None = None
    for kind in _CHECKED_BY:
        period = device.of(kind) if kind != windows.kind else None
        if period is None:
            continue
        marks_ns = device.sequence.start_ns[period.marks]
        opinion = cross_check(kind, marks_ns, windows.starts_ns, windows.ends_ns, windows.period_ns)
        if opinion is None or not (opinion.agrees or period.is_step):
            continue
        if opinion.ratio == 1.0 or not opinion.agrees:
            return opinion
        fraction = fraction or opinion
    return fraction
