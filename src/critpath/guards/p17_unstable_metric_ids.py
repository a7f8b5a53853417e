"""Metric ids are unstable.

What goes wrong:
    A metric is looked up by the number it had in another report.

Why it misleads:
    Metric ids are given anew in each capture, and names change between versions. A fixed number silently reads
    another metric.

What critpath does:
    A metric is resolved by name and unit in each report, through a list of known spellings. A name that isn't known
    is said to be unknown.

The trap:
    Two exports with swapped ids; `SM Active` became `SMs Active`.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Metric ids are unstable."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
