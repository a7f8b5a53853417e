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

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report
from critpath.run.survey import LIKE

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Units with different fingerprints are not comparable."

SINCE = "0.1"

_TOLD = 4

ANCHORS: tuple[str, ...] = ("critpath.run.survey.groups", "critpath.run.survey.similarity")


def check(report: Report) -> Outcome:
    """Held when comparisons stay inside groups; limited where units declared as one part do different work."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    if report.ranks is None:
        return NOT_ANALYSED_YET
    if len(units) == 1:
        return Outcome("not-applicable", f"{units[0].id} is the one captured unit; nothing is compared")
    groups = report.ranks.groups
    for group in groups:
        if group.part is not None and group.similarity_min is not None and group.similarity_min < LIKE:
            return Outcome(
                "limited",
                f"units declared as part {group.part} do different work: their kernels and copies agree to "
                f"{100 * group.similarity_min:.0f} % only; comparing them compares parts, not ranks",
            )
    told = ", ".join(f"{g.id} of {len(g.units)}{f' ({g.part})' if g.part else ''}" for g in groups[:_TOLD])
    more = f" and {len(groups) - _TOLD} more" if len(groups) > _TOLD else ""
    return Outcome(
        "held", f"{len(units)} units in {len(groups)} groups of like work: {told}{more}; none is compared across"
    )
