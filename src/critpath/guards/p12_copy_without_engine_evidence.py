"""A copy needs engine evidence.

What goes wrong:
    A step is called copy bound because copies take much time.

Why it misleads:
    A long copy may run beside compute and hold nothing up, and a short one may hold everything. A low rate may come
    from pageable memory, from small pieces or from another copy on the same engine.

What critpath does:
    Copies are listed by direction, memory kinds and stream, with bytes, achieved rate and occupancy, and with
    `blocking_ms`: time in which compute provably waited while they ran. The verdict `copy bound` comes from that time
    alone; length, occupancy and rate are evidence beside it. What is missing is named.

The trap:
    A long and slow copy to the host off the path, which occupies most of the step and blocks nothing; a short and fast
    one on it.
"""

from __future__ import annotations

from collections.abc import Callable

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report, Transfer
from critpath.model.values import figure, percent

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A copy needs engine evidence."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.transfers.transfers",
    "critpath.rank.copy_groups.copy_groups",
    "critpath.rank.absence.absence",
    "critpath.model.report.Transfer",
)


def check(report: Report) -> Outcome:
    """Held when every group of copies has all its evidence; cites the longest and the one that blocked most."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    rows = [(unit, row) for unit in units for row in unit.whole.transfers if not row.direction.startswith("UVM")]
    if not rows:
        return Outcome("not-applicable", "no unit has copies in its windows")
    if all(row.blocking_ms is None for _, row in rows):
        return NOT_ANALYSED_YET
    longest = max(rows, key=lambda pair: pair[1].occupancy)
    worst = max(rows, key=lambda pair: pair[1].blocking_ms or 0.0)
    seen = f"longest {longest[0].id}: {_told(longest[1])}"
    if worst is not longest and worst[1].blocking_ms:
        seen += f"; most waited for {worst[0].id}: {_told(worst[1])}"
    lacks = [name for name, lacking in _LACKS if any(lacking(row) for _, row in rows)]
    if any(unit.whole.absent is not None and unit.whole.absent.blocking_bound != "exact" for unit, _ in rows):
        lacks.append("every dependency")
    if lacks:
        return Outcome("limited", f"{seen}; not told of all copies: {', '.join(lacks)}")
    return Outcome("held", seen)


_LACKS: tuple[tuple[str, Callable[[Transfer], bool]], ...] = (
    ("rate", lambda row: row.achieved_GBps is None and row.count > 0),
    ("memory kinds", lambda row: None in {row.src, row.dst} and row.direction != "rest"),
    ("whether the stream is the default one", lambda row: row.default_stream is None and row.direction != "rest"),
)
"""What engine evidence may lack, and which group of copies lacks it; `rest` stands for many groups."""


def _told(row: Transfer) -> str:
    rate = f"{figure(row.achieved_GBps)} GB/s" if row.achieved_GBps is not None else "rate unknown"
    kinds = f"{row.src or 'unknown'} to {row.dst or 'unknown'}"
    blocking = f"blocking {figure(row.blocking_ms or 0.0)} ms an iteration"
    return f"{row.direction} {kinds}, occupancy {percent(row.occupancy)}, {rate}, {blocking}"
