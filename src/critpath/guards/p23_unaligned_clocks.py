"""Clocks of different hosts are not aligned.

What goes wrong:
    Times of several hosts are put on one axis as they are, and the rank that ends later is called late.

Why it misleads:
    Clocks of hosts differ by milliseconds and drift apart. A capture may merely have begun earlier. Lateness
    smaller than what alignment leaves over is noise.

What critpath does:
    Clocks are rebased and then fitted on matched collective ends that causality ties, with the residual printed.
    Lateness is claimed only beyond it. A host that can't be aligned gives durations only.

The trap:
    A window that is 102 ms longer only because it began earlier; an offset of 40 ms with a drift of 20 ppm.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Clocks of different hosts are not aligned."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
