"""Sequences of collectives that two units saw parts of: which place of one is which place of the other.

    unit 0   A A B A A B A A B           began earlier
    unit 1       B A A B A A B A         shift 2: place i of unit 1 is place i + 2 of unit 0

Collectives repeat from step to step, so their order alone leaves several shifts open. Texts of steps decide; where
there are none, time does, as far as the clocks are good for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64

__all__ = ["Sequence", "Shift", "shift"]

_LEAST_AGREEMENT = 0.98
_CANDIDATES = 400
_SAMPLE = 256


@dataclass(frozen=True, slots=True)
class Sequence:
    """What one unit saw of a communicator, in order, shape (n,).

    Attributes:
        token: what each op is: kind and size.
        label: number of its step's text, equal for equal texts on all units; -1 = outside steps, or texts say nothing.
        end_ns: when it ended, on the rebased axis.
    """

    token: I64
    label: I64
    end_ns: I64


@dataclass(frozen=True, slots=True)
class Shift:
    """Place i of one sequence is place i + `by` of the other; `why` is `step`, `order` or `time`."""

    by: int
    why: str


def shift(base: Sequence, other: Sequence, clock_error_ns: int) -> Shift | None:
    """How `other` lies along `base`; None where nothing tells, or what tells is contradictory.

    Args:
        base: one unit's.
        other: another's.
        clock_error_ns: how far their axes may be apart.
    """
    by_step = _by_step(base, other)
    if by_step is not None:
        return Shift(by_step, "step") if _agreement(base, other, by_step) >= _LEAST_AGREEMENT else None
    fits = [by for by in _candidates(base, other) if _agreement(base, other, by) >= _LEAST_AGREEMENT]
    if not fits:
        return None
    apart = {by: _apart_ns(base, other, by) for by in fits}
    near = [by for by in fits if apart[by] <= clock_error_ns]
    if len(near) == 1:
        return Shift(near[0], "time")
    # Within the clocks' error several fit: sequences of one length, that fit as they are, most likely began together.
    if 0 in near and base.token.size == other.token.size:
        return Shift(0, "order")
    return None


def _by_step(base: Sequence, other: Sequence) -> int | None:
    """The shift that most steps tell by their first op."""
    found: Counter[int] = Counter()
    firsts = [dict(zip(*map(_listed, _firsts(s.label)), strict=True)) for s in (base, other)]
    for label in firsts[0].keys() & firsts[1].keys():
        found[firsts[0][label] - firsts[1][label]] += 1
    return max(found, key=lambda by: (found[by], -abs(by))) if found else None


def _firsts(label: I64) -> tuple[I64, npt.NDArray[np.intp]]:
    values, first = np.unique(label, return_index=True)
    return values[values >= 0], first[values >= 0]


def _listed(values: npt.NDArray[np.int64] | npt.NDArray[np.intp]) -> list[int]:
    return [int(value) for value in values.tolist()]


def _candidates(base: Sequence, other: Sequence) -> list[int]:
    low, high = -other.token.size + 1, base.token.size - 1
    everything = sorted(range(low, high + 1), key=abs)
    least = min(base.token.size, other.token.size) / 2
    return [by for by in everything[:_CANDIDATES] if _overlap(base, other, by)[0].size >= least]


def _overlap(base: Sequence, other: Sequence, by: int) -> tuple[I64, I64]:
    """Places of both that lie over one another."""
    start, end = max(0, -by), min(other.token.size, base.token.size - by)
    places = np.arange(start, max(start, end), dtype=np.int64)
    return places + by, places


def _agreement(base: Sequence, other: Sequence, by: int) -> float:
    one, two = _overlap(base, other, by)
    return float((base.token[one] == other.token[two]).mean()) if one.size else 0.0


def _apart_ns(base: Sequence, other: Sequence, by: int) -> int:
    one, two = _overlap(base, other, by)
    step = max(1, one.size // _SAMPLE)
    return int(np.median(np.abs(base.end_ns[one[::step]] - other.end_ns[two[::step]])))
