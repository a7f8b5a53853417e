"""A trace phenomenon is not a root cause.

What goes wrong:
    A gap is explained by a place in the program that nobody looked up.

Why it misleads:
    A trace shows that the host was late, not why its author wrote it so. A plausible line of source may have
    changed since, or may not be the one that ran.

What critpath does:
    A claim is source-verified only with a mechanism and an anchor: a line or a configuration key that exists in the
    given source, whose revision is the profiled one. Otherwise it is inferred, and says so.

The trap:
    A gap with no source at hand; an anchor whose line no longer says what it is quoted for.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A trace phenomenon is not a root cause."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
