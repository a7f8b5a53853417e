"""Async copies on the default stream may synchronize.

What goes wrong:
    A copy is taken for asynchronous because the call's name says so.

Why it misleads:
    An op on the legacy default stream waits for all blocking streams of its context, and they wait for it. A copy
    from or to pageable memory may block the host while it is staged. Whether it did is seen only in the trace.

What critpath does:
    The null stream of each context and the memory kinds of each copy are resolved from the capture. Whether the
    host was blocked is tested by comparing the call's end with the copy's, not assumed.

The trap:
    A pageable async copy on the legacy default stream; a pinned one on a non-blocking stream; kind 0 is pageable
    and kind 1 pinned.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Async copies on the default stream may synchronize."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.model.tables.MemoryKind", "critpath.model.report.Transfer")


def check(report: Report) -> Outcome:
    """Held when no copy could synchronize; limited when one could, since the host's blocked time isn't tested yet."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    rows = [row for unit in units for row in unit.whole.transfers if not row.direction.startswith("UVM")]
    if not rows:
        return Outcome("not-applicable", "no unit has copies in its windows")
    on_default = sum(row.count for row in rows if row.default_stream)
    pageable = sum(row.count for row in rows if "pageable" in {row.src, row.dst})
    untold = sum(row.count for row in rows if None in {row.src, row.dst, row.default_stream})
    copies = sum(row.count for row in rows)
    seen = f"of {copies} copies {on_default} are on the legacy default stream, {pageable} from or to pageable memory"
    if not on_default and not pageable and not untold:
        return Outcome("held", f"{seen}; none can synchronize by that")
    return Outcome(
        "limited",
        f"{seen}, {untold} of unknown kind or stream; whether the host was blocked isn't tested yet, so nothing is "
        "claimed of it",
    )
