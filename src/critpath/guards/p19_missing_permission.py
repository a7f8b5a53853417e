"""Missing profiler permission is not a workload failure.

What goes wrong:
    A capture in which metrics failed is thrown away, or its message is read as a fault of the program.

Why it misleads:
    Counters need a permission that containers often lack. Timing doesn't: kernels, copies and API calls are
    recorded all the same.

What critpath does:
    Analysis of times goes on. `capture.metrics` says denied or absent, and the metrics are null with that reason.

The trap:
    A permission diagnostic and no metric table in an otherwise complete capture.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Missing profiler permission is not a workload failure."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
