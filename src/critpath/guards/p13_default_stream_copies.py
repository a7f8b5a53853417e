"""Async copies on the default stream may synchronize.

What goes wrong:
    A copy is taken for asynchronous because the call's name says so.

Why it misleads:
    An op on the legacy default stream waits for all blocking streams of its context, and they wait for it. A copy
    from or to pageable memory may block the host while it is staged. Whether it did is seen only in the trace.

What critpath does:
    The null stream of each context and the memory kinds of each copy are resolved from the capture. What the legacy
    default stream orders is a dependency like any other. Whether the host was held is tested, not assumed:
    `host_blocked` counts copies whose call returned no earlier than the copy ended. A call that was slow for another
    reason counts too, so it is an upper bound; a call that returned earlier held nobody, whatever the memory kind.

The trap:
    A pageable async copy on the legacy default stream; a pinned one on a non-blocking stream; small pageable copies
    whose call returns early; kind 0 is pageable and kind 1 pinned.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Async copies on the default stream may synchronize."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.tables.MemoryKind",
    "critpath.rank.host_waits.blocked_host",
    "critpath.rank.dependencies.dependencies",
    "critpath.model.report.Transfer",
)


def check(report: Report) -> Outcome:
    """Held when streams and memory kinds are known and the host's calls were tested; cites the counts."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    rows = [row for unit in units for row in unit.whole.transfers if not row.direction.startswith("UVM")]
    if not rows:
        return Outcome("not-applicable", "no unit has copies in its windows")
    if any(row.host_blocked is None for row in rows):
        return NOT_ANALYSED_YET
    pageable = [row for row in rows if "pageable" in {row.src, row.dst}]
    seen = (
        f"of {sum(row.count for row in rows)} copies {sum(row.count for row in rows if row.default_stream)} are on the "
        f"legacy default stream and {sum(row.count for row in pageable)} from or to pageable memory; tested, "
        f"{sum(row.host_blocked or 0 for row in rows)} ended before their call returned, "
        f"{sum(row.host_blocked or 0 for row in pageable)} of them pageable"
    )
    unknown = sum(row.count for row in rows if None in {row.src, row.dst, row.default_stream})
    if unknown:
        return Outcome(
            "limited",
            f"{seen}; memory kind or default stream of {unknown} isn't known, so what they serialised may be missed",
        )
    return Outcome("held", seen)
