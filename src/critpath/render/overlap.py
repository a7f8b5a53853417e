"""What overlap with compute cost, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from critpath.model.report import Contention, Unit
from critpath.model.values import figure
from critpath.render.words import count, shortened

__all__ = ["overlap_lines"]

_KERNELS_TOLD = 3
_LONGEST_KERNEL = 28


def overlap_lines(unit: Unit) -> Iterable[str]:
    """What overlap hid and cost, and the kernels that ran longer beside others; nothing where none was compared."""
    c = unit.communication
    if c is None:
        return
    for row in c.overlap_cost:
        if row.measured_ms:
            label = "overlap cost" if row.by == "communication" else "cost of copies"
            yield (
                f"{label:<18}of {figure(row.overlap_ms)} over compute, {figure(row.measured_ms)} compared: "
                f"cost {figure(row.cost_ms)}, net ≤ {figure(row.net_ms)}"
            )
        slower = [k for k in c.contention if k.by == row.by and k.outcome == "slower"]
        yield from map(_kernel, slower[:_KERNELS_TOLD])


def _kernel(row: Contention) -> str:
    apart = "" if row.phase == "interleaved" else ", apart in time"
    return (
        f"  {shortened(row.kernel, _LONGEST_KERNEL)} +{figure(row.slowdown_percent)} % "
        f"({figure(row.slowdown_low_percent)}–{figure(row.slowdown_high_percent)}), "
        f"n {count(row.n[0])}/{count(row.n[1])}{apart}"
    )
