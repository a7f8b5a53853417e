"""Whether a series of marks on the device timeline begins a training step each time.

    marks     |        |        |        |            each the place of one kernel in the sequence
    kernels   abcbcbcd abcbcbcd abcbcbcd abcbc        periods hold the same kernels (stability)
              .bcbcbc.                                and repeat themselves inside (layers of a step)

What recurs may be a layer, a microbatch, a decoded token or a log interval as well as a step. So a series has to be
regular, to cover the capture, to hold the same kernels each time, and to hold what only a training step holds once.
A wrong step makes every figure wrong, so doubt makes no step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from critpath.base.intervals import I64
from critpath.base.stats import relative_spread
from critpath.rank.anchors.sequence import MATERIAL_UPDATE, KernelSequence, packed_codes

__all__ = ["Period", "PeriodConfidence", "longest", "period_of"]

PeriodConfidence = Literal["high", "medium", "low"]
"""high and medium may be chosen as the step; low may only confirm one."""

FEWEST_PERIODS = 3
"""Two distances agree by chance too often."""
_MOST_PERIODS = 20_000
_MAX_TIME_SPREAD = 0.35
"""Relative spread of the distances in time, as wide as for ranges: waits and jitter are a run's own."""
_MAX_KERNEL_SPREAD = 0.10
"""Relative spread of the distances in kernels, which a program repeats far more closely than its times."""
_ODD = 0.20
"""A period is odd that holds this much more or fewer kernels than the median one …"""
_MAX_ODD_SHARE = 0.34
"""… and so many may be: evaluations and set-up lie between steps …"""
_MAX_ODD_SHARE_UPDATING = 0.45
"""… more where parameters are updated, since the others are then surely steps."""
_MIN_COVERAGE = 0.5
"""Share of the capture that the marks must span."""
_MIN_COVERAGE_UPDATING = 0.2
"""Steps that update parameters are no accident, also where set-up or evaluation fills most of the capture."""
_MIN_STABILITY = 0.85
_FEWEST_KERNELS = 8
_SHORT_NS = 1_000_000
_FEWEST_KERNELS_SHORT = 20
"""A handful of kernels is no step, nor are a few more that take less than a millisecond together."""
_IN_MOST = 0.8
"""Share of periods that must show an update or a backward pass for the unit to be a training step."""
_GRAM = 4
_SHORTEST_LAG = 4
_LAGS = 3
_MIN_NESTED = 0.3
"""Share of runs of four kernels that recur inside a period at one of its three commonest distances. Layers of real
captures reach 0.14, their steps 0.58 and more."""
_MATERIAL_EXTRA = 0.001
"""Share of the work that a longer period must add of its own; log lines are far below, optimizers above."""
_CLEARLY_SHORTER = 0.6
_ALIKE = 0.02


@dataclass(frozen=True, slots=True)
class Period:
    """A series of marks that passed as a recurring unit of work.

    Attributes:
        marks: places in the sequence, shape (n + 1,).
        median_ns: median distance of marks.
        spread: relative robust spread of the distances.
        unlike: for each period how many times the median period's compute kernels it holds, where that is far from 1.
        stability: share of kernels that a median period has in common with the mean of all.
        confidence: how sure it is that the unit is a training step.
    """

    marks: I64
    median_ns: int
    spread: float
    stability: float
    unlike: tuple[tuple[int, float], ...]
    confidence: PeriodConfidence

    @property
    def is_step(self) -> bool:
        """Whether it may be taken for the step."""
        return self.confidence != "low"


def period_of(sequence: KernelSequence, marks: I64, compute_before: I64) -> Period | None:
    """The series as a period, or None where it is implausible as any unit of work.

    Args:
        sequence: all kernels.
        marks: places in the sequence, increasing.
        compute_before: `sequence.compute_before()`.
    """
    if not FEWEST_PERIODS <= marks.size - 1 <= _MOST_PERIODS:
        return None
    begin = sequence.start_ns[marks]
    lengths = np.diff(begin)
    kernels = np.diff(compute_before[marks])
    median_ns, median_kernels = int(np.median(lengths)), float(np.median(kernels))
    least = _FEWEST_KERNELS_SHORT if median_ns < _SHORT_NS else _FEWEST_KERNELS
    updates = _share_with(sequence.optimizer, marks) >= _IN_MOST
    odd_allowed = _MAX_ODD_SHARE_UPDATING if updates else _MAX_ODD_SHARE
    if median_kernels < least or not _is_regular(lengths, kernels, odd_allowed):
        return None
    covered = int(begin[-1] - begin[0]) / sequence.span_ns
    if covered < (_MIN_COVERAGE_UPDATING if updates else _MIN_COVERAGE):
        return None
    stability = _stability(sequence, marks)
    if stability < _MIN_STABILITY:
        return None
    spread = relative_spread(lengths)
    if updates:
        confidence: PeriodConfidence = "high" if spread <= 0.1 and stability >= 0.95 else "medium"
    else:
        confidence = "medium" if _trains(sequence, marks, kernels) else "low"
    times = kernels / median_kernels
    unlike = tuple((i, float(times[i])) for i in np.flatnonzero(np.abs(times - 1) > _ODD).tolist())
    return Period(marks, median_ns, spread, stability, unlike, confidence)


def longest(sequence: KernelSequence, periods: list[Period]) -> Period | None:
    """The step among nested periods: the longest, unless it only groups several of a shorter one.

    Of periods that may be steps the longest wins, for layers and microbatches recur inside a step. A long period that
    adds next to nothing of its own to the shorter ones it consists of is no step: a log line or an evaluation makes
    every tenth step differ, and ten steps recur too. What is nested fits a whole number of times: a longest period that
    is no whole number of a shorter one leaves both in doubt.
    """
    for candidates in ([p for p in periods if p.is_step], periods):
        for period in sorted(candidates, key=lambda p: -p.median_ns):
            shorter = [p for p in periods if p.median_ns < _CLEARLY_SHORTER * period.median_ns]
            if any(_only_groups(sequence, period, p) for p in shorter):
                continue
            if not all(_times_nested(period, p) for p in shorter if p.is_step):
                return None
            alike = [p for p in candidates if abs(p.median_ns / period.median_ns - 1) <= _ALIKE]
            # Of marks of one period those win that were never missed.
            return max(alike, key=lambda p: (p.marks.size, -p.spread))
    return None


def _times_nested(long: Period, short: Period) -> int:
    """How many of the short periods begin in most of the long ones, two or more; 0 where their number varies."""
    held = np.diff(np.searchsorted(short.marks, long.marks))
    times = int(np.median(held))
    return times if times >= 2 and float((held == times).mean()) >= 1.0 - _MAX_ODD_SHARE_UPDATING else 0


def _is_regular(lengths_ns: I64, kernels: I64, odd_allowed: float) -> bool:
    """Distances that agree in time and, closer, in kernels; a few odd ones are a run's own."""
    middle = float(np.median(kernels))
    odd = float((np.abs(kernels - middle) > _ODD * middle).mean())
    return bool(
        relative_spread(lengths_ns) <= _MAX_TIME_SPREAD
        and relative_spread(kernels) <= _MAX_KERNEL_SPREAD
        and odd <= odd_allowed
    )


def _stability(sequence: KernelSequence, marks: I64) -> float:
    """1 minus the share of a median period's kernels, by name, that differ from the mean period."""
    first, last = int(marks[0]), int(marks[-1])
    period = np.repeat(np.arange(marks.size - 1), np.diff(marks))
    name = sequence.name[first:last]
    pair = packed_codes(period, name)
    size = int(pair.max()) + 1
    count = np.bincount(pair, minlength=size).astype(np.float64)
    owner, what = np.empty(size, np.int64), np.empty(size, np.int64)
    owner[pair], what[pair] = period, name
    mean = np.bincount(name, minlength=sequence.names) / (marks.size - 1)
    # Names that a period lacks differ by their whole mean, so only those it has are visited.
    differing = mean.sum() + np.bincount(owner, weights=np.abs(count - mean[what]) - mean[what])
    total = np.diff(marks) + mean.sum()
    return float(1.0 - np.median(differing / total))


def _share_with(what: np.ndarray[tuple[int], np.dtype[np.bool_]], marks: I64) -> float:
    """The share of periods that hold at least one such kernel."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(what)])
    return float((np.diff(before[marks]) > 0).mean())


def _trains(sequence: KernelSequence, marks: I64, kernels: I64) -> bool:
    """Whether a unit without an update of parameters in sight is a training step all the same."""
    if sequence.optimizer.any():
        # Where parameters are updated at all, what recurs without an update is a microbatch, a layer or an evaluation.
        return False
    return _share_with(sequence.backward, marks) >= _IN_MOST and _repeats_inside(sequence, marks, kernels)


def _repeats_inside(sequence: KernelSequence, marks: I64, kernels: I64) -> bool:
    """Whether a typical period consists largely of repeated runs of kernels, as a step does of its layers.

    A layer repeats nothing of that length inside, so layers of a slice of one pass don't become steps.
    """
    typical = int(np.argmin(np.abs(kernels - np.median(kernels))))
    inside = slice(int(marks[typical]), int(marks[typical + 1]))
    compute = ~sequence.communication[inside]
    stream = sequence.stream[inside][compute]
    if not stream.size:
        return False
    name = sequence.name[inside][compute][stream == np.bincount(stream).argmax()]
    if name.size < 3 * _SHORTEST_LAG:
        return False
    gram = packed_codes(*(name[i : name.size - _GRAM + 1 + i] for i in range(_GRAM)))
    order = np.argsort(gram, kind="stable")
    lag = np.diff(order)[np.diff(gram[order]) == 0]
    lag = lag[(lag >= _SHORTEST_LAG) & (lag <= gram.size // 2)]
    # Forward and backward layers have lengths of their own, so the few commonest distances count together.
    return bool(np.sort(np.bincount(lag))[-_LAGS:].sum() >= _MIN_NESTED * gram.size) if lag.size else False


def _only_groups(sequence: KernelSequence, long: Period, short: Period) -> bool:
    """Whether the long period is a whole number of the short ones and adds next to nothing that they lack."""
    times = _times_nested(long, short)
    inner = short.marks[(short.marks >= long.marks[0]) & (short.marks <= long.marks[-1])]
    if not times or inner.size < FEWEST_PERIODS:
        return False
    held = slice(int(inner[0]), int(inner[-1]))
    period = np.repeat(np.arange(inner.size - 1), np.diff(inner))
    name = sequence.name[held]
    pair = packed_codes(period, name)
    size = int(pair.max()) + 1 if pair.size else 0
    what = np.empty(size, np.int64)
    what[pair] = name
    present = np.bincount(what, minlength=sequence.names) / (inner.size - 1)
    extra = present[name] <= (1.0 / times + 1.0) / 2
    work = sequence.duration_ns[held]
    updates = float(work[extra & sequence.optimizer[held]].sum())
    total = float(work.sum())
    return updates < MATERIAL_UPDATE * total and float(work[extra].sum()) < _MATERIAL_EXTRA * total
