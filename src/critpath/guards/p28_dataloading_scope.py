"""Dataloading's scope changes the conclusion.

What goes wrong:
    The time between two steps is told as overhead of the training code, or is lost from the account.

Why it misleads:
    Whether loading data lies inside the step depends on where its range begins and ends. With the same trace, one
    definition finds a slow step and the other a fast step with a gap.

What critpath does:
    The report prints the step's definition and scope. With scope `period` windows tile, and loading is inside. With
    scope `range` what lies between ranges is `outside_step_ms`, never attributed to training code.

The trap:
    Loading between the ranges, against the same loading inside them.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_A_STEP, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Dataloading's scope changes the conclusion."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.model.report.Window",)


def check(report: Report) -> Outcome:
    """Prints scope and time outside the step; limited when a unit's window is no step."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    for unit in units:
        kind = unit.window.anchor.kind
        if kind in NOT_A_STEP:
            return Outcome(
                "limited",
                f"{unit.id}: the window is one span (anchor kind {kind}); whether it holds data loading isn't known",
            )
    unit = max(units, key=lambda unit: unit.window.outside_step_ms)
    window = unit.window
    if window.scope == "period":
        return Outcome("held", f"{unit.id}: scope period, windows tile; loading between steps counts inside them")
    return Outcome(
        "held",
        f"{unit.id}: scope range, {window.outside_step_ms:.1f} ms an iteration lie outside the step and are not "
        "attributed to training code",
    )
