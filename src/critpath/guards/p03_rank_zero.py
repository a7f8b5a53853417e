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

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Rank 0 is not representative."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
