"""Where runs of like kernels begin: an optimizer or a gradient reduction is many kernels, once a step.

kernels   ....oo.ooo..............oo.ooo..............oo.ooo....
gaps          0 1 0 0     14        0 1 0 0     14               the long ones separate bursts
marks         ^                     ^                   ^
"""

from __future__ import annotations

import numpy as np

from critpath.base.intervals import I64
from critpath.rank.anchors.periods import FEWEST_PERIODS, Period, longest, period_of
from critpath.rank.anchors.sequence import KernelSequence

__all__ = ["burst_period", "burst_starts"]

_LEAST_JUMP = 1.5
_READINGS = 4


def burst_starts(places: I64, other_before: I64) -> list[I64]:
    """Ways to read the given kernels as bursts, most distinct first; each is the places at which bursts begin.

    Args:
        places: places of the kernels in the sequence, increasing.
        other_before: how many other kernels lie before each place of the sequence.
    """
    gaps = np.diff(other_before[places])
    if gaps.size < FEWEST_PERIODS:
        return []
    ordered = np.sort(gaps)[::-1]
    jump = (ordered[:-1] + 1.0) / (ordered[1:] + 1.0)
    jump[: FEWEST_PERIODS - 1] = 0.0
    best = np.argsort(-jump, kind="stable")[:_READINGS]
    cuts = [int(ordered[i]) for i in best.tolist() if jump[i] >= _LEAST_JUMP]
    # Gaps without a jump are all alike, so each kernel is a burst of its own.
    return [places[np.append(True, gaps >= cut)] for cut in [*cuts, int(ordered[-1])]]


def burst_period(sequence: KernelSequence, places: I64, other_before: I64, compute_before: I64) -> Period | None:
    """The most plausible reading of the given kernels as bursts that recur once a step, None where there is none."""
    found = (period_of(sequence, starts, compute_before) for starts in burst_starts(places, other_before))
    return longest(sequence, [period for period in found if period])
