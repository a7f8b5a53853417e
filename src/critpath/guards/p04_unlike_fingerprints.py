"""Units with different fingerprints are not comparable.

What goes wrong:
    Two ranks are compared although they do different work, and the difference is read as slowness.

Why it misleads:
    A pipeline stage with the loss, or a rank with one more group of experts, takes longer because it does more.
    Calling it a straggler sends people after hardware that is sound.

What critpath does:
    Units are grouped by their declared part, or by fingerprints that match: kernel names, collective types and
    counts, copies. A comparison stays inside a group, or names the structural difference.

The trap:
    Two stages that hold different parts of the model; a rank with one expert group more than its neighbours.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Units with different fingerprints are not comparable."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
