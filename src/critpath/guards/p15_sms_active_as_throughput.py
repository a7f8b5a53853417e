"""SMs Active is occupancy context.

What goes wrong:
    A high share of active SMs is told as high utilization.

Why it misleads:
    An SM is active when a warp resides on it, even one that spins on a flag. A collective that waits for its peers
    makes all of its SMs active and issues nearly nothing.

What critpath does:
    Throughput is shown by instruction issue and tensor activity. SMs Active is shown as residency and supports no
    claim on throughput.

The trap:
    A spinning collective: SMs active 100 %, instruction issue 2 %.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "SMs Active is occupancy context."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
