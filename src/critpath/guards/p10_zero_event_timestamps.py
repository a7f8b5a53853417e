"""Event timestamps may be zero or absent.

What goes wrong:
    The device's own completion time of an event record is read as the time at which the awaited work ended.

Why it misleads:
    Unless asked for, the profiler writes 0 there, and older exports have no such column. Filtering records by that
    time drops them all, and with them every dependency.

What critpath does:
    The completion of a record is the end of the last device op before it on its stream, through streams that only
    relay. Records are selected by the time of their API call; the completion time is not read.

The trap:
    All timestamps are 0; the column is missing; a window filter by timestamp would drop every record.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Event timestamps may be zero or absent."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
