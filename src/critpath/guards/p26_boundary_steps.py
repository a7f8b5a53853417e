"""Profiler boundary steps are not steady state.

What goes wrong:
    The first and last step of a capture are averaged with the others.

Why it misleads:
    Start and stop of the profiler and the flush of its buffers fall into the steps at the capture's edges and
    lengthen them. So do warm-up, stream capture and the instantiation of graphs.

What critpath does:
    Steps at the edges that contain such events, or that are outliers against the rest, are dropped, and the report
    names each with the reason. They are no reference steps of the trainer's log either. Where too few steps remain
    to tell, the report says so.

The trap:
    A flush lengthens the last step; the mean with it is materially above the steady state.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_A_STEP, AnalysedUnit, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Profiler boundary steps are not steady state."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.model.report.DroppedWindow",)


FEWEST_WINDOWS = 3
"""Windows below which no outlier can be told from the rest."""

UNITS_NAMED = 4
"""Units whose steps are named; the others are counted."""


def check(report: Report) -> Outcome:
    """Limited when a unit has no steps, or too few to drop any; else names what was dropped."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    for unit in units:
        window = unit.window
        if window.anchor.kind in NOT_A_STEP:
            return Outcome(
                "limited",
                f"{unit.id}: the window is one span (anchor kind {window.anchor.kind}), so steps at the profiler's "
                "start and stop can't be left out",
            )
        if not window.dropped and window.n < FEWEST_WINDOWS:
            return Outcome(
                "limited",
                f"{unit.id}: too few windows to drop any, n = {window.n}; they may hold the profiler's start or stop",
            )
    return Outcome("held", "; ".join(_dropped(unit) for unit in units[:UNITS_NAMED]) + _more(len(units)))


def _dropped(unit: AnalysedUnit) -> str:
    window = unit.window
    if not window.dropped:
        return f"{unit.id}: none of {window.n} windows is a boundary step"
    steps = ", ".join(f"step {step.index} ({step.why})" for step in window.dropped)
    return f"{unit.id}: dropped {steps}, kept {window.n}"


def _more(units: int) -> str:
    return f"; and {units - UNITS_NAMED} units more" if units > UNITS_NAMED else ""
