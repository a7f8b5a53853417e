"""Rank 0 is not representative.

What goes wrong:
    One rank, mostly rank 0, is analysed, and its step is told as the job's.

Why it misleads:
    Ranks hold different parts of the model and carry different load. Rank 0 often carries less, or does bookkeeping
    that no other does. The job goes at the pace of its slowest rank.

What critpath does:
    Every captured unit is surveyed before any is chosen. Representatives are named, each with the reason for which
    it was taken: the slowest step, and one of each group.

The trap:
    Four pipeline stages: rank 0 is light, rank 3 is slow. The figures of rank 0 miss the step by the difference.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Rank 0 is not representative."

SINCE = "0.1"

_TOLD = 3

ANCHORS: tuple[str, ...] = ("critpath.run.survey.representatives", "critpath.run.survey.job_step")


def check(report: Report) -> Outcome:
    """Held when units were surveyed; limited where a single captured one takes part in something larger."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    if report.ranks is None:
        return NOT_ANALYSED_YET
    if len(units) == 1:
        comm = units[0].whole.communication
        alone = report.capture.ranks_declared == 1 or comm is None or not comm.union_ms
        told = f"{units[0].id} is the one captured unit"
        if alone:
            return Outcome("not-applicable", f"{told}, and nothing shows that others take part")
        return Outcome("limited", f"{told} of those that take part; no figure here stands for another rank")
    chosen = "; ".join(f"{r.unit} as {r.why}" for r in report.ranks.representatives[:_TOLD])
    step = report.ranks.step
    job = (
        f"the job's step is {step.median_ms:.2f} ms, {step.slowest_unit} slowest most often" if step else "no job step"
    )
    return Outcome("held", f"all {len(units)} captured units were surveyed; {job}; chosen: {chosen or 'none'}")
