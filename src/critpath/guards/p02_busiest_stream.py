"""The busiest stream is not the step.

What goes wrong:
    The stream with the most kernels is taken for the step: its first op starts the step, its last one ends it.

Why it misleads:
    Work of a step is spread over streams, and the busiest one may cover little of it. A sparse stream may span more
    than the step. Neither its span nor its busy time says how long an iteration is.

What critpath does:
    The iteration window comes from an anchor that the report names, with the number of windows kept and what a
    second anchor says. The job's step is the slowest captured rank's. Where there is no anchor, or the user gave a
    span, the window is not a step and the report says so.

The trap:
    The busiest stream spans 60 % of the step while another one, nearly empty, spans more than all of it.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_A_STEP, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "The busiest stream is not the step."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.rank.windows.step_windows", "critpath.rank.anchors.cross_check.cross_check")


def check(report: Report) -> Outcome:
    """Limited when a unit's window is no step, or when a second anchor tells another step."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    for unit in units:
        window = unit.window
        if window.anchor.kind in NOT_A_STEP:
            return Outcome(
                "limited",
                f"{unit.id}: the window comes from anchor kind {window.anchor.kind}, n = {window.n}; it isn't a step, "
                "and no time of this report is a time per step",
            )
        if window.cross_check is not None and window.cross_check.material and not window.declared:
            return Outcome(
                "limited",
                f"{unit.id}: anchor {window.anchor.kind} tells {window.median_ms:.1f} ms, n = {window.n}, and "
                f"{window.cross_check.kind} tells {window.cross_check.median_ms:.1f} ms; which one is the step is open",
            )
    longest = max(units, key=lambda unit: unit.window.median_ms)
    window = longest.window
    return Outcome(
        "held",
        f"{longest.id}: the step comes from anchor kind {window.anchor.kind}, n = {window.n}, median "
        f"{window.median_ms:.1f} ms{_job(report)}; no stream's span is used",
    )


def _job(report: Report) -> str:
    if report.ranks is None or report.ranks.step is None:
        return ""
    return f"; the job's, of the slowest unit in each step, is {report.ranks.step.median_ms:.1f} ms"
