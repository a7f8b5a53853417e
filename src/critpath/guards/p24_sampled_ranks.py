"""A verdict on sampled ranks is not global.

What goes wrong:
    A few captured ranks look alike, and the job is declared free of stragglers.

Why it misleads:
    The slow rank may be one of those that were not captured. What captured ranks show of it is waiting, which looks
    the same on all of them.

What critpath does:
    The verdict names the ranks that it covers, and the number that the job has where somebody said so. A rank that
    wasn't captured is never cleared.

The trap:
    The straggler isn't captured; the two captured ranks agree with each other.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A verdict on sampled ranks is not global."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
