"""Metric samples are device-wide.

What goes wrong:
    Samples taken while an operator ran are told as that operator's.

Why it misleads:
    Hardware counters are sampled for the whole device. Whatever was resident at the same time is in them. Samples
    of another run belong to other launches.

What critpath does:
    Each figure stands beside its number of samples and its exclusivity, the share of the operator's time in which
    nothing else ran. Samples of a separate pass join by the operator's name only.

The trap:
    Two operators resident at once; a metrics pass whose launches don't line up with the timed ones.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Metric samples are device-wide."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
