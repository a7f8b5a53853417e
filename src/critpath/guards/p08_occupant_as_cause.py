"""What occupies a gap is not what caused it.

What goes wrong:
    The op that ran while compute was absent is named as the cause of the absence.

Why it misleads:
    Another op may have run there by coincidence, while the compute op waited for a third one. The last op before a
    kernel may itself have been a tiny copy that waited for a long one.

What critpath does:
    The cause of a gap is the producer of the compute op that ended it, found through stream order, event waits and
    relays, and walked back until the op is reached that really held it. `occupied_not_computing` tells what
    occupied, without naming a cause.

The trap:
    A copy fills the gap while the kernel that ends it waits for a collective.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "What occupies a gap is not what caused it."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
