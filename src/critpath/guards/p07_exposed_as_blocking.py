"""Exposed is not blocking.

What goes wrong:
    Communication that nothing covers is told as time that the step would win without it.

Why it misleads:
    Exposed means only that no other device work ran then. The next compute op may not have been launched yet, or may
    wait for something else: without the communication the device would have been idle at the same instant. And
    communication beside a copy isn't exposed, though compute may wait for it all the same.

What critpath does:
    Every unit has `exposed_ms` and `blocking_ms` side by side. Blocking is time in which an op that had been issued
    waited for communication through a dependency; time before the next op was issued is launch-starved, whatever ran
    then. The verdict names these buckets and never exposed time. Waits without a record make blocking a lower bound,
    and that is said.

The trap:
    A collective runs alone in an interval whose next kernel was launched late: all of it is exposed, none of it
    blocking. A collective that a copy covers: almost none of it is exposed, all of it blocks.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report
from critpath.model.values import figure, percent

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Exposed is not blocking."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.gaps.instants",
    "critpath.rank.attribution.attribution",
    "critpath.model.report.Communication",
)


def check(report: Report) -> Outcome:
    """Held when blocking stands beside exposed and is exact; cites the unit on which the two differ most."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [
        (unit, comm, comm.blocking_ms, unit.whole.absent)
        for unit in units
        if (comm := unit.whole.communication) is not None
        and comm.blocking_ms is not None
        and unit.whole.absent is not None
    ]
    if not told:
        return NOT_ANALYSED_YET
    busy = [row for row in told if row[1].union_ms > 0]
    if not busy:
        return Outcome("not-applicable", "no communication kernel ran in any window")
    unit, comm, blocking_ms, absent = max(busy, key=lambda row: abs(row[1].exposed_ms - row[2]))
    seen = (
        f"{unit.id}: exposed {figure(comm.exposed_ms)} ms an iteration, blocking {figure(blocking_ms)} ms "
        f"({absent.blocking_bound})"
    )
    if any(row[3].blocking_bound != "exact" for row in busy):
        open_ = max(row[3].unresolved_wait_share or 0.0 for row in busy)
        why = f"{percent(open_)} of stream waits lack a record" if open_ else "not every dependency is recorded"
        return Outcome("limited", f"{seen}; {why}, so how much of exposed time blocked isn't settled")
    return Outcome("held", f"{seen}; launch-starved {figure(absent.launch_starved_ms)} ms is told apart from both")
