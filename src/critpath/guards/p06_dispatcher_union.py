"""Dispatcher time is not network transfer.

What goes wrong:
    The time in which dispatch and combine kernels ran is told as time on the network, or divided into bytes for a
    bandwidth.

Why it misleads:
    Such kernels pack tokens, lay them out, notify peers and wait for their arrival. Moving the payload may be the
    smaller part. A bandwidth from the whole is too low by an unknown factor.

What critpath does:
    Backends are split into components: collective, transport sync, control, fused. The communication union is never
    called network time. Waiting is separated from transfer only where instances of several ranks are matched.

The trap:
    A dispatch of which 60 % is packing, notification and arrival jitter.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Dispatcher time is not network transfer."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
