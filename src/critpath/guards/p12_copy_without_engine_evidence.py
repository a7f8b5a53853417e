"""A copy needs engine evidence.

What goes wrong:
    A step is called copy bound because copies take much time.

Why it misleads:
    A long copy may run beside compute and hold nothing up, and a short one may hold everything. A low rate may come
    from pageable memory, from small pieces or from another copy on the same engine.

What critpath does:
    `copy bound` may be said only with direction, bytes, achieved rate, occupancy, memory kinds, stream and a
    dependency of compute on the copy. What is missing is named.

The trap:
    A long and slow copy to the host off the path; a fast one on it.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A copy needs engine evidence."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
