"""Capture overhead can change the workload.

What goes wrong:
    The profiled step is taken for the step of the job, or the recorded overhead for the slowdown.

Why it misleads:
    Profiling slows some programs much and others little, by ways that leave no row in the trace. Recorded profiler
    activity is only what the profiler saw of itself.

What critpath does:
    Profiled steps are compared with unprofiled ones of the same run, from the trainer's log. Recorded overhead is
    printed under its own name and never called a slowdown. A ceiling on a materially perturbed step is marked.

The trap:
    A step of 29.4 s grows to 34.6 s while the recorded overhead sums to 0.23 s.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Capture overhead can change the workload."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
