"""What occupies a gap is not what caused it.

What goes wrong:
    The op that ran while compute was absent is named as the cause of the absence.

Why it misleads:
    Another op may have run there by coincidence, while the compute op waited for a third one. The last op before a
    kernel may itself have been a tiny copy that waited for a long one.

What critpath does:
    The cause of a gap is the producer of the compute op that ended it, found through stream order, event waits, relays
    and the legacy default stream, and walked back: each producer owns the time in which it ran, and before its start
    its own producer does. `by_operation` names what was waited for directly, `by_class` what held it in the end.
    `occupied_not_computing` tells what occupied, without naming a cause.

The trap:
    A copy fills the gap while the kernel that ends it waits for a collective. A tiny copy on the device stands before
    nearly every kernel, behind long ones from the host, on a simulated job and on a real export.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, AnalysedUnit, Outcome, analysed_units
from critpath.model.report import Absent, Report
from critpath.model.values import figure, percent

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "What occupies a gap is not what caused it."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.dependencies.dependencies",
    "critpath.base.walk.walk_back",
    "critpath.rank.attribution.attribution",
    "critpath.model.report.Blocking",
)


def check(report: Report) -> Outcome:
    """Held when causes come from dependencies alone; cites the unit that blocked or was occupied for longest."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [(unit, unit.whole.absent) for unit in units if unit.whole.absent is not None]
    if not told:
        return NOT_ANALYSED_YET
    if not any(row.blocking_ms or unit.budget.occupied_not_computing.mean_ms for unit, row in told):
        return Outcome("not-applicable", "no device work ran in any gap of compute, and no gap waited for any")
    unit, absent = max(told, key=lambda row: (row[1].blocking_ms, row[0].budget.occupied_not_computing.mean_ms))
    seen = _seen(unit, absent)
    if any(row.blocking_bound != "exact" for _, row in told):
        open_ = max(row.unresolved_wait_share or 0.0 for _, row in told)
        why = f"{percent(open_)} of stream waits lack a record" if open_ else "not every dependency is recorded"
        return Outcome("limited", f"{seen}; {why}, so a gap may have had a cause that isn't named")
    return Outcome("held", seen)


def _seen(unit: AnalysedUnit, absent: Absent) -> str:
    occupied = figure(unit.budget.occupied_not_computing.mean_ms)
    start = f"{unit.id}: other work occupied {occupied} ms an iteration without compute"
    inside = absent.blocking
    if inside is None or not inside.by_class or not inside.by_operation:
        return f"{start}, and no op waited for it: blocking {figure(absent.blocking_ms)} ms"
    direct = inside.by_operation[0]
    label = max(inside.by_class, key=lambda name: inside.by_class[name])
    return (
        f"{start}; blocking {figure(absent.blocking_ms)} ms, directly behind {direct.class_ or direct.name} for "
        f"{figure(direct.ms)}, walked back most of it by {label}, {figure(inside.by_class[label])}"
    )
