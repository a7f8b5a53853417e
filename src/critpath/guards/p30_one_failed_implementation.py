"""One failed implementation does not disprove a technique.

What goes wrong:
    A technique was tried once, the run became slower, and the technique is crossed off.

Why it misleads:
    The attempt may have failed by its implementation, by its environment or at a check of results, while the time
    to be won is still there.

What critpath does:
    A ledger keeps each experiment with its class: mechanism, implementation, environment or verification gate. The
    ceiling that was measured stays, whatever became of the attempt.

The trap:
    The second run is slower through a fault of its environment.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "One failed implementation does not disprove a technique."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
