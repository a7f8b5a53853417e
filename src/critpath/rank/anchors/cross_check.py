"""What a second anchor, of another kind, says of the step that was chosen.

windows   |-----------|-----------|-----------|
agrees    ^           ^           ^           ^       the same period, wherever it begins
agrees    ^   ^   ^   ^   ^   ^   ^   ^   ^   ^       a whole number of periods a step: layers, microbatches
differs   ^         ^         ^         ^             neither
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64

__all__ = ["CrossCheck", "cross_check"]

_SAME_PCT = 5.0
"""Above this difference a second anchor tells another step."""
_FRACTION_PCT = 2.0
"""How closely a period must be a whole fraction of the step."""
_LOCKED = 0.8


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A second anchor's opinion of the step.

    Attributes:
        kind: what it comes from; an `AnchorKind` of the report.
        median_ns: its median period.
        ratio: its periods in one step, after which the difference is taken: 1.0, a whole number, or 1 over a whole
            number where its period spans several windows.
        difference_pct: its period times the ratio, over the window's, minus one [%].
        agrees: whether the two tell the same step.
    """

    kind: str
    median_ns: int
    ratio: float
    difference_pct: float
    agrees: bool

    @property
    def is_material(self) -> bool:
        """Whether it tells another step: a difference above 5 %, or updates of parameters only every few windows."""
        return not self.agrees and (abs(self.difference_pct) > _SAME_PCT or self.ratio < 1.0)


def cross_check(kind: str, marks_ns: I64, starts_ns: I64, ends_ns: I64, period_ns: int) -> CrossCheck | None:
    """The opinion of a series of marks, None where it has none on the time of the windows.

    A shorter period needs two windows to be told from chance.

    Args:
        kind: kind of the second anchor.
        marks_ns: its instants on the device timeline, in order.
        starts_ns: starts of the windows.
        ends_ns: their ends.
        period_ns: median distance of the windows' starts.
    """
    median_ns = _median_period_ns(marks_ns, int(starts_ns[0]), int(ends_ns[-1]))
    if not median_ns or not period_ns:
        return None
    if median_ns <= period_ns:
        times = round(period_ns / median_ns)
        if times > 1 and starts_ns.size == 1:
            # In one window nothing tells a step's own rhythm from ten steps taken for one.
            return None
        # Any short period is nearly a fraction of a far longer one; a nested one also keeps its place in the windows.
        ratio = float(times) if times == 1 or _phase_lock(marks_ns, starts_ns, median_ns) >= _LOCKED else 1.0
    else:
        ratio = 1.0 / round(median_ns / period_ns)
    difference_pct = (median_ns * ratio / period_ns - 1.0) * 100.0
    if ratio > 1.0 or ratio < 1.0:
        # An optimizer that runs every few windows says that a window is no whole step; other rare work does not.
        agrees = abs(difference_pct) <= _FRACTION_PCT and (ratio > 1.0 or kind != "optimizer")
    else:
        agrees = abs(difference_pct) <= _SAME_PCT
    return CrossCheck(kind, median_ns, ratio, difference_pct, agrees)


def _median_period_ns(marks_ns: I64, start_ns: int, end_ns: int) -> int:
    """Median distance of the marks in a span, or of all of them where fewer than three lie in it; 0 for none."""
    inside = marks_ns[(marks_ns >= start_ns) & (marks_ns <= end_ns)]
    distances = np.diff(inside if inside.size > 2 else marks_ns)
    return int(np.median(distances)) if distances.size else 0


def _phase_lock(marks_ns: I64, starts_ns: I64, median_ns: int) -> float:
    """How constant the time from a window's start to the next mark is, over the period: 1 constant, 0 anything."""
    following = np.searchsorted(marks_ns, starts_ns)
    known = following < marks_ns.size
    if not known.any():
        return 0.0
    phase = (marks_ns[following[known]] - starts_ns[known]) / median_ns
    return float(np.abs(np.exp(2j * np.pi * phase).mean()))
