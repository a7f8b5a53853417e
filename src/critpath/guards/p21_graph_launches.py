"""CUDA graphs break launch assumptions.

What goes wrong:
    Each kernel is expected to have a launch of its own, and a device without kernel rows is taken for idle.

Why it misleads:
    One graph launch issues many kernels, which share its call. Traced as a whole, a graph is one row and its
    kernels are not recorded. Launch counts, launch latencies and idle shares are then wrong.

What critpath does:
    No claim is made about the launch of a single kernel inside a graph. A graph row is busy, and its inside is
    unknown: neither compute nor idle. Graph rows and node rows of one launch are never both counted. This guard is
    limited whenever a window holds a graph launch.

The trap:
    200 kernels behind one launch; graph mode without kernel rows; 753 graph rows for 4,183 launches.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "CUDA graphs break launch assumptions."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
