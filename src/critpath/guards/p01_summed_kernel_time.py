"""Summed kernel time is not wall time.

What goes wrong:
    Durations of kernels are added up and read as the time the device was busy, or as the length of a step.

Why it misleads:
    Kernels of several streams run at once, so the sum counts the same instant more than once and may exceed the
    iteration itself. A kernel that straddles the window's edge counts whole. Percentages of such a sum have no
    meaning.

What critpath does:
    Every time is the length of a union over all streams of the unit, clipped to the iteration window. A sum exists
    only as work volume: it has that name, stands in `work_volume` or in a key that says `work`, and is never a
    share of a wall time.

The trap:
    Two streams whose kernels overlap fully: the sum is twice the device busy time. A kernel that begins in one
    window and ends in the next.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report
from critpath.model.report.compared import TOLERANCE_MS

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Summed kernel time is not wall time."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.base.intervals.union",
    "critpath.base.intervals.Intervals.clip",
    "critpath.model.report.WorkVolume",
)


def check(report: Report) -> Outcome:
    """Held when no unit's kernel union exceeds its iteration; cites the unit with the largest sum."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    volumes = [(unit, unit.whole.work_volume) for unit in units if unit.whole.work_volume is not None]
    if not volumes:
        return NOT_ANALYSED_YET
    for unit, work in volumes:
        iteration_ms = unit.budget.iteration.mean_ms
        if work.kernel_union_ms > iteration_ms + TOLERANCE_MS:
            return Outcome(
                "limited",
                f"{unit.id}: the kernel union {work.kernel_union_ms:.1f} ms exceeds the iteration "
                f"{iteration_ms:.1f} ms; its times can't be read as wall time",
            )
    unit, work = max(volumes, key=lambda row: row[1].kernel_sum_ms - row[1].kernel_union_ms)
    return Outcome(
        "held",
        f"{unit.id}: kernel sum {work.kernel_sum_ms:.1f} ms against union {work.kernel_union_ms:.1f} ms an iteration; "
        "the sum appears only as work volume",
    )
