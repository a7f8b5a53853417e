"""What a guard's check gives, and what checks have in common."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.model.report import Budget, Report, Unit, Window
from critpath.model.report.words import AnchorKind, GuardOutcome

__all__ = [
    "NOT_ANALYSED_YET",
    "NOT_A_STEP",
    "NO_ANALYSED_UNIT",
    "AnalysedUnit",
    "Outcome",
    "analysed_units",
    "waits_not_exported",
]

NOT_A_STEP: frozenset[AnchorKind] = frozenset({"capture", "explicit"})
"""Anchor kinds whose window is a span of time, not a step."""

_WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a guard says of a report.

    Attributes:
        outcome: `held`, `limited` (a claim can't be made), or `not-applicable`.
        evidence: the figures that show it, or the effect of the limit, or why the guard doesn't apply.
    """

    outcome: GuardOutcome
    evidence: str


NOT_ANALYSED_YET = Outcome("not-applicable", "not analysed yet")
"""The answer of a guard whose figures the report doesn't hold."""

NO_ANALYSED_UNIT = Outcome("not-applicable", "no unit with device rows was analysed")
"""The answer of every guard about units where the report has none to speak of."""


@dataclass(frozen=True, slots=True)
class AnalysedUnit:
    """A unit whose window and budget are known.

    Attributes:
        id: id of the unit.
        window: its windows.
        budget: the budget of their time.
        whole: the unit itself.
    """

    id: str
    window: Window
    budget: Budget
    whole: Unit


def analysed_units(report: Report) -> list[AnalysedUnit]:
    """The units that guards can speak about, in report order."""
    return [
        AnalysedUnit(unit.id, unit.window, unit.budget, unit)
        for unit in report.units
        if unit.status == "ok" and unit.window is not None and unit.budget is not None
    ]


def waits_not_exported(report: Report, units: list[AnalysedUnit]) -> str | None:
    """A unit whose export holds wait calls or event records, and no table of waits to join; None without one."""
    tableless = {row.input for row in report.capture.missing if row.table == _WAITS}
    for unit in units:
        absent = unit.whole.absent
        open_ = absent is not None and absent.blocking_bound in {"lower", "estimate"}
        if unit.whole.input in tableless and (open_ or report.capture.event_trace):
            return unit.id
    return None
