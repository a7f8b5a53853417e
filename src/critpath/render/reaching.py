"""How the unit's work reached the device and which ranges launched it, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from critpath.model.report import HostRange, NvtxRange, Unit
from critpath.model.values import figure, percent
from critpath.render.words import count, shortened

__all__ = ["launch_lines", "range_lines"]

_RANGES_TOLD = 3
_LONGEST_NAME = 18
_WIDTH = 57
_ALL = 0.99
"""A range that launched more than this is the step or the program itself."""


def launch_lines(unit: Unit) -> Iterable[str]:
    """Delay, queue, and the calls that launched most; nothing where no launch is known."""
    told = unit.launches
    if told is None or told.delay.median_us is None:
        return
    held, full = (sum(getattr(call, key) for call in told.calls) for key in ("held_up", "queue_full"))
    long = f"; {count(held)} long calls" if held else ""
    behind = f" ({count(full)} at a full queue)" if full else ""
    short = percent(told.short_kernels.share_of_kernels)
    yield (
        f"launches          delay {figure(told.delay.median_us)} us, queue {figure(told.queue.mean)},"
        f" {short} of kernels < 10 us{long}{behind}"
    )


def range_lines(unit: Unit) -> Iterable[str]:
    """What of device busy the largest ranges launched.

    Those that launched all of it tell nothing, and what only communicates is told as communication. Of work that other
    threads launched meanwhile the share stands in brackets.
    """
    if unit.nvtx is None:
        return
    own = [r for r in unit.nvtx.ranges if r.communication_ms < r.device.mean_ms]
    every: list[NvtxRange | HostRange] = [*own, *(r for r in unit.nvtx.host_only if r.any_thread_ms)]
    rows = sorted((row for row in every if row.any_thread_share < _ALL), key=lambda row: -row.any_thread_ms)
    line = ""
    for row in rows[:_RANGES_TOLD]:
        alone = percent(row.share if isinstance(row, NvtxRange) else 0.0)
        others = percent(row.any_thread_share)
        trend = row.trend_percent_per_iteration if isinstance(row, NvtxRange) else None
        slope = f" {trend:+.1f} % a step" if trend is not None and abs(trend) >= 1 else ""
        name = shortened(row.path.rsplit(" > ", 1)[-1], _LONGEST_NAME)
        told = f"{name} {alone}{f' ({others} all threads)' if others != alone else ''}{slope}"
        if len(line) + len(told) + 2 > _WIDTH and line:
            break
        line = f"{line}, {told}" if line else told
    if line:
        yield f"NVTX on device    {line}"
