"""A wrong MFU numerator survives perfect timing.

What goes wrong:
    A utilization is believed because the times below it are right.

Why it misleads:
    Model FLOPs depend on the formula, on how attention is counted, and on what counts as model work. A peak for
    sparse matrices or for another precision changes the result by a factor of two. Neither shows in any timing.

What critpath does:
    Formula, convention and the dense peak of the stated precision are printed, and numerator and denominator are
    checked apart. An impossible utilization is an error of its inputs, not a result.

The trap:
    Right times and wrong FLOPs; a sparse peak; a bf16 peak for work in fp8.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A wrong MFU numerator survives perfect timing."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
