"""Ceilings do not add.

What goes wrong:
    What single causes could win is added up and promised as a total.

Why it misleads:
    Two causes may hold the same interval, so that removing one leaves the other in place. Removing one may also
    expose another that lay hidden below it.

What critpath does:
    A combined ceiling is the union of intervals, over opportunities whose intervals are disjoint and whose fixes
    are independent. The others are named as overlapping.

The trap:
    Two bounds of 30 ms that share 20 ms; removing one exposes the other.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Ceilings do not add."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
