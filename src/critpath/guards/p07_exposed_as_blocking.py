"""Exposed is not blocking.

What goes wrong:
    Communication that nothing covers is told as time that the step would win without it.

Why it misleads:
    Exposed means only that no other device work ran then. The next compute op may not have been launched yet, or
    may wait for something else: without the communication the device would have been idle at the same instant.
    Exposed is an upper bound.

What critpath does:
    Exposed and blocking are printed together. Blocking needs a dependency of the compute op that waited. Only
    blocking or launch-starved intervals become recoverable time.

The trap:
    A collective runs alone in an interval whose next kernel was launched late: all of it is exposed, none of it
    blocking.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Exposed is not blocking."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
