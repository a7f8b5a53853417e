"""Unsampled is not zero.

What goes wrong:
    An operator without samples is told to have a metric of 0.

Why it misleads:
    Samples are some 10 to 100 us apart. A shorter operator may fall between two of them, however often the device
    was busy with it.

What critpath does:
    Without samples the value is null, the number of samples is 0 and the operator is named.

The trap:
    An operator of 5 us between samples that are 10 us apart.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Unsampled is not zero."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
