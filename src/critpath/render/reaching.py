"""How the unit's work reached the device and which ranges launched it, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from critpath.model.report import Unit
from critpath.model.values import figure, percent
from critpath.render.words import count, shortened

__all__ = ["launch_lines", "range_lines"]

_RANGES_TOLD = 4
_LONGEST_PATH = 34


def launch_lines(unit: Unit) -> Iterable[str]:
    """Delay, queue, and short kernels; nothing where no launch is known."""
    told = unit.launches
    if told is None or told.delay.median_us is None:
        return
    d, q, s = told.delay, told.queue, told.short_kernels
    yield (
        f"launches          call to start {figure(d.median_us)} us (p99 {figure(d.p99_us)}), "
        f"{figure(q.mean)} pending, none {percent(q.empty_share)} of the time"
    )
    for call in told.calls[:1]:
        held = f", {count(call.held_up)} held up" if call.held_up else ""
        full = f", {count(call.queue_full)} by a full queue" if call.queue_full else ""
        yield (
            f"  {count(call.count)} {shortened(call.function, 26)} of {figure(call.median_us)} us "
            f"(p99 {figure(call.p99_us)}){held}{full}"
        )
    if s.count:
        yield (
            f"  kernels < 10 us: {percent(s.share_of_kernels)} of all, {percent(s.share_of_work)} of their time, "
            f"{count(s.in_graphs)} in graphs"
        )


def range_lines(unit: Unit) -> Iterable[str]:
    """The ranges with the most device time, the step's own left out: what of device busy each launched."""
    if unit.nvtx is None or unit.window is None:
        return
    step = unit.window.anchor.text if unit.window.anchor.kind == "nvtx" else None
    rows = [row for row in unit.nvtx.ranges if row.name != step]
    rows.sort(key=lambda row: -row.any_thread_ms)
    for n, row in enumerate(rows[:_RANGES_TOLD]):
        trend = row.trend_percent_per_iteration
        told = f", {trend:+.1f} % a step" if trend is not None and abs(trend) >= 1 else ""
        yield (
            f"{'NVTX on device' if not n else '':<18}{shortened(row.path, _LONGEST_PATH)} "
            f"{figure(row.device.mean_ms)}, {percent(row.any_thread_share)} any thread{told}"
        )
