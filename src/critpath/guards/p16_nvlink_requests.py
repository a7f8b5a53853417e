"""NVLink request metrics understate payload.

What goes wrong:
    Payload on NVLink is read from the request counters.

Why it misleads:
    Where data is read from a peer, requests are small and the payload comes back in responses. A device's total
    doesn't tell which peer it came from.

What critpath does:
    Only response user data is read as payload. Nothing is claimed about a peer from a device's total.

The trap:
    Request counters at a tenth of the payload that the responses carry.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "NVLink request metrics understate payload."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
