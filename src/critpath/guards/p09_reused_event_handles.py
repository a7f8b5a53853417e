"""CUDA event handles are reused.

What goes wrong:
    An event wait is joined to an event record by the event's handle.

Why it misleads:
    A program records the same handle again in every step, and two processes use equal numbers. A join by handle
    alone ties one wait to thousands of records and invents dependencies.

What critpath does:
    A wait joins the record with the same event sync id in the same process. In exports without that id it joins the
    latest record of its handle before its own API call, in the same process, whatever order the rows have. Every key
    begins with the process, so that a join by the bare handle can't be written. A wait that joins no record is counted
    in `unresolved_wait_share`, brings no dependency, and makes blocking a lower bound.

The trap:
    4 handles behind thousands of records; two processes with equal ids; exports without sync ids; rows in any order.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units, waits_not_exported
from critpath.model.report import Report
from critpath.model.values import figure, percent

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "CUDA event handles are reused."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.identity.process_of",
    "critpath.model.identity.join_index",
    "critpath.rank.dependencies.dependencies",
)


def check(report: Report) -> Outcome:
    """Held when every stream wait joined one record; limited with the share that didn't."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    shares = {
        unit.id: absent.unresolved_wait_share
        for unit in units
        if (absent := unit.whole.absent) is not None and absent.unresolved_wait_share is not None
    }
    if not shares:
        return NOT_ANALYSED_YET
    worst = max(shares, key=lambda unit: shares[unit])
    if shares[worst]:
        return Outcome(
            "limited",
            f"{worst}: {percent(shares[worst])} of stream waits join no record by process and event sync id or handle; "
            "none is guessed, so blocking is a lower bound",
        )
    blind = waits_not_exported(report, units)
    if blind is not None:
        return Outcome("limited", f"{blind}: waits were not exported, so dependencies across streams are not known")
    if report.capture.event_trace is False:
        return Outcome("not-applicable", "no event was recorded and no stream waited for one")
    blocking_ms = max(unit.whole.absent.blocking_ms for unit in units if unit.whole.absent is not None)
    return Outcome(
        "held",
        f"{percent(0.0)} of stream waits lack their record on {len(shares)} units: each joined one by process and "
        f"event sync id, else the handle's latest before it; up to {figure(blocking_ms)} ms an iteration blocked",
    )
