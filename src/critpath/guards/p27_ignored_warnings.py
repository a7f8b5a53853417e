"""Capture warnings constrain claims.

What goes wrong:
    The profiler's own messages, and tables that are missing, are passed over.

Why it misleads:
    Lost events come at severity `info`. Seven of eight processes may have no device rows. A table that is absent
    reads as if nothing had happened, and the analysis goes on with what is left.

What critpath does:
    Known messages are recognised by their text and scope, missing and partial tables by name, each with the claims
    that it takes away.

The trap:
    Lost events at severity `info`; 7 of 8 processes without device rows; one unreadable section.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Capture warnings constrain claims."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
