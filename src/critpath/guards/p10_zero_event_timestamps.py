"""Event timestamps may be zero or absent.

What goes wrong:
    The device's own completion time of an event record is read as the time at which the awaited work ended.

Why it misleads:
    Unless asked for, the profiler writes 0 there, and older exports have no such column. Filtering records by that
    time drops them all, and with them every dependency.

What critpath does:
    The completion of a record is the end of the last device op before it on its stream, through streams that only
    relay. Records stand where their API call does in the order of calls; the completion time is not even read. An
    export without records is told from one whose records say nothing: its waits are unresolved.

The trap:
    All timestamps are 0; the column is missing; a window filter by timestamp would drop every record.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units, waits_not_exported
from critpath.model.report import Report
from critpath.model.values import figure, percent

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Event timestamps may be zero or absent."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.tables.EventRecords",
    "critpath.base.queues.order_of",
    "critpath.rank.dependencies.dependencies",
)


def check(report: Report) -> Outcome:
    """Held when records bring dependencies without their times; limited where waits have no record to stand for."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [
        (unit.id, absent, absent.unresolved_wait_share)
        for unit in units
        if (absent := unit.whole.absent) is not None and absent.unresolved_wait_share is not None
    ]
    if not told:
        return NOT_ANALYSED_YET
    unit, absent, share = max(told, key=lambda row: (row[2], row[1].blocking_ms))
    if share:
        there = "no record was exported" if report.capture.event_trace is False else "records are missing"
        return Outcome(
            "limited",
            f"{unit}: {there} for {percent(share)} of stream waits, so when what they awaited ended isn't known; "
            f"blocking {figure(absent.blocking_ms)} ms an iteration is a bound ({absent.blocking_bound})",
        )
    blind = waits_not_exported(report, units)
    if blind is not None:
        return Outcome("limited", f"{blind}: waits were called and not exported, so what a record held up isn't known")
    if report.capture.event_trace is False:
        return Outcome("not-applicable", "no event record was exported, and no stream wait needs one")
    return Outcome(
        "held",
        f"{unit}: {percent(share)} of stream waits lack a record, each completes with the last op before it; blocking "
        f"{figure(absent.blocking_ms)} ms an iteration rests on no completion time",
    )
