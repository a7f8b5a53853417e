"""How the unit's work reached the device and which ranges launched it, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from critpath.model.report import HostRange, NvtxRange, Unit
from critpath.model.values import figure, percent
from critpath.render.words import count, shortened

__all__ = ["launch_lines", "range_lines"]

_RANGES_TOLD = 4
_LONGEST_PATH = 30
_BETWEEN = " > "
_ALL = 0.99
"""A range that launched more than this is the step or the program itself."""


def launch_lines(unit: Unit) -> Iterable[str]:
    """Delay, queue, and short kernels; nothing where no launch is known."""
    told = unit.launches
    if told is None or told.delay.median_us is None:
        return
    d, q, s = told.delay, told.queue, told.short_kernels
    yield (
        f"launches          {figure(d.median_us)} us to start (p99 {figure(d.p99_us)}), "
        f"queue {figure(q.mean)}, empty {percent(q.empty_share)}"
    )
    for call in told.calls[:1]:
        held = f"; {count(call.held_up)} long" if call.held_up else ""
        full = f", {count(call.queue_full)} at a full queue" if call.queue_full else ""
        yield (
            f"  {count(call.count)} {shortened(call.function, 24)} {figure(call.median_us)} us, "
            f"p99 {figure(call.p99_us)}{held}{full}"
        )
    graphs = f", {count(s.in_graphs)} in graphs" if s.in_graphs else ""
    if s.count:
        yield (
            f"  kernels < 10 us: {percent(s.share_of_kernels)} of all, {percent(s.share_of_work)} of their time{graphs}"
        )


def range_lines(unit: Unit) -> Iterable[str]:
    """What of device busy the largest ranges launched; those that launched all of it tell nothing."""
    if unit.nvtx is None:
        return
    every: list[NvtxRange | HostRange] = [*unit.nvtx.ranges, *(row for row in unit.nvtx.host_only if row.any_thread_ms)]
    rows = [row for row in every if row.any_thread_share < _ALL]
    rows.sort(key=lambda row: -row.any_thread_ms)
    for n, row in enumerate(rows[:_RANGES_TOLD]):
        trend = row.trend_percent_per_iteration if isinstance(row, NvtxRange) else None
        told = f", {trend:+.1f} % a step" if trend is not None and abs(trend) >= 1 else ""
        own = percent(row.share if isinstance(row, NvtxRange) else 0.0)
        all_threads = percent(row.any_thread_share)
        others = f", {all_threads} with other threads" if own != all_threads else ""
        place = shortened(_BETWEEN.join(row.path.split(_BETWEEN)[-2:]), _LONGEST_PATH)
        yield f"{'NVTX on device' if not n else '':<18}{place} {own}{others}{told}"
