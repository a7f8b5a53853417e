"""Anchors on the device timeline, for captures without NVTX: collectives, optimizer kernels, a kernel sequence.

Each gives a `Period`, or None. Their marks are device ops: windows begin where the marked op starts, and end where
the next one does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from critpath.base.intervals import I64
from critpath.rank.anchors.bursts import burst_period
from critpath.rank.anchors.periods import FEWEST_PERIODS, Period, longest, period_of
from critpath.rank.anchors.sequence import KernelSequence, packed_codes

__all__ = ["collective_period", "kernel_sequence_period", "optimizer_period"]

_MOST_KINDS = 48
_MOST_OCCURRENCES = 20_000
_MAX_UNEVENNESS = 0.5
_MIN_SPANNED = 0.5
_MOST_SERIES = 24
_GRAMS = (1, 2, 4)


def optimizer_period(sequence: KernelSequence) -> Period | None:
    """Bursts of optimizer kernels, one a step."""
    places = np.flatnonzero(sequence.optimizer)
    others = ~sequence.optimizer & ~sequence.communication
    return burst_period(sequence, places, _before(others), sequence.compute_before())


def collective_period(sequence: KernelSequence) -> Period | None:
    """A kind of communication kernel, or bursts of one, that recur once a step.

    Kinds are told apart by name, and by name and launch shape, which differs with the size of what is moved: the
    rarest kind that recurs is nearest to the step.
    """
    compute_before = sequence.compute_before()
    places = np.flatnonzero(sequence.communication)
    found = []
    for kind in _kinds(sequence, places):
        period = burst_period(sequence, kind, compute_before[:-1], compute_before)
        if period:
            found.append(period)
    return longest(sequence, found)


def kernel_sequence_period(sequence: KernelSequence) -> Period | None:
    """The longest regular recurrence of a compute kernel, or of a run of up to four, on the stream with most of them.

    What recurs less often but as regularly as the rest marks the longer unit: a loss, an embedding, the turn from
    forward to backward pass, which is a run of kernels that occurs nowhere else.
    """
    compute_before = sequence.compute_before()
    compute = np.flatnonzero(~sequence.communication)
    if not compute.size:
        return None
    stream = sequence.stream[compute]
    places = compute[stream == np.bincount(stream).argmax()]
    found: list[Period] = []
    # Launch shapes follow the data: they are asked only where names, which don't, tell no step.
    for codes in (sequence.name, sequence.shape):
        series: dict[int, tuple[float, I64]] = {}
        for gram in _GRAMS:
            for uneven, marks in _regular_series(codes[places], gram, places):
                known = series.get(marks.size)
                if known is None or uneven < known[0]:
                    series[marks.size] = (uneven, marks)
        rarest = [series[count][1] for count in sorted(series)[:_MOST_SERIES]]
        periods = (period_of(sequence, marks, compute_before) for marks in rarest)
        found.extend(period for period in periods if period)
        best = longest(sequence, found)
        if best and best.is_step:
            return best
    return longest(sequence, found)


def _kinds(sequence: KernelSequence, places: I64) -> Iterator[I64]:
    """Places of each kind of communication kernel, rarest kinds first, then of all of them together."""
    kinds: list[I64] = []
    for codes in (sequence.shape, sequence.name):
        code = codes[places]
        order = np.argsort(code, kind="stable")
        cuts = np.flatnonzero(np.diff(code[order])) + 1
        kinds.extend(np.sort(places[rows]) for rows in np.split(order, cuts))
    kinds.sort(key=lambda kind: kind.size)
    enough = [kind for kind in kinds if kind.size > FEWEST_PERIODS]
    yield from enough[:_MOST_KINDS]
    if places.size > FEWEST_PERIODS:
        yield places


def _regular_series(code: I64, gram: int, places: I64) -> list[tuple[float, I64]]:
    """(unevenness, places) of runs of `gram` kernels that recur evenly over the sequence; the evenest of each count.

    Args:
        code: dense id of each kernel of the stream.
        gram: kernels a run.
        places: place of each in the whole sequence.
    """
    size = code.size - gram + 1
    if size <= FEWEST_PERIODS:
        return []
    run = code if gram == 1 else packed_codes(*(code[i : size + i] for i in range(gram)))
    count = np.bincount(run)
    rows = np.flatnonzero((count[run] > FEWEST_PERIODS) & (count[run] <= _MOST_OCCURRENCES))
    if not rows.size:
        return []
    rows = rows[np.argsort(run[rows], kind="stable")]
    first = np.append(0, np.flatnonzero(np.diff(run[rows])) + 1)
    length = np.diff(np.append(first, rows.size))
    spanned = rows[first + length - 1] - rows[first]
    gaps = np.append(np.diff(rows), 0).astype(np.float64)
    gaps[first + length - 1] = 0.0
    mean = spanned / (length - 1)
    # The mean of squares less the square of the mean is the variance of a run's distances.
    variance = np.add.reduceat(gaps**2, first) / (length - 1) - mean**2
    uneven = np.sqrt(np.maximum(variance, 0.0)) / mean
    good = np.flatnonzero((uneven <= _MAX_UNEVENNESS) & (spanned >= _MIN_SPANNED * size))
    best = good[np.lexsort((uneven[good], length[good]))]
    best = best[np.append(True, np.diff(length[best]) != 0)] if best.size else best
    return [(float(uneven[i]), places[rows[first[i] : first[i] + length[i]]]) for i in best[:_MOST_SERIES].tolist()]


def _before(what: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(what)])
