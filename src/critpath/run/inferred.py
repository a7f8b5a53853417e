"""Communicators that nothing names: streams of different units with one sequence of collectives, that end together.

unit 0, stream 13   AR  AR  RS  AG  …        the same sequence, and every one of them ends at one time: they meet
unit 1, stream 13   AR  AR  RS  AG  …
unit 2, stream 13   AR  AR  RS  AG  …        the same sequence, but at times of its own: it meets others
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.run.units import CLOCK_ERROR_NS, RunUnit

__all__ = ["Members", "inferred_lanes"]

Members = list[tuple[int, npt.NDArray[np.intp]]]
"""(unit, its rows in order) of each participant of a communicator."""

_SAMPLE = 48
_TOGETHER_NS, _STEADY_NS = 120_000, 40_000
"""Ends of one collective on two devices of a host are no further apart: by a steady distance, their clocks' biases and
places in a ring, and around it, but for outliers, by what exits differ. Real messages between two H100 lie within 20 us
of their median, half of them; see docs/method/ranks.md."""

_LOOSE = frozenset({"dispatch", "combine"})

_NOISE_NS, _SHARED_RHYTHM = 8_000, 0.35
_MOST_DRIFT = 200e-6
"""Several times what clocks drift: 200 us a second."""

_OFTEN = 0.8
_FEWEST = 3
"""Instances from which on ends that agree are no accident."""


def inferred_lanes(units: Sequence[RunUnit], taken: Sequence[npt.NDArray[np.bool_]]) -> Iterator[tuple[str, Members]]:
    """Communicators of what payloads don't tell: a key, and each member's rows.

    Args:
        units: all units.
        taken: which of their ops belong to a communicator that is told.
    """
    lanes: dict[tuple[frozenset[tuple[str, str]], int], Members] = {}
    for place, unit in enumerate(units):
        seen: Counter[frozenset[tuple[str, str]]] = Counter()
        ops = unit.collectives
        left = np.flatnonzero(~taken[place])
        for lane in np.unique(ops.lane[left]).tolist():
            rows = left[ops.lane[left] == lane]
            pairs = set(zip(ops.kind[rows].tolist(), ops.name[rows].tolist(), strict=True))
            what = frozenset((ops.kinds[kind], ops.names[name]) for kind, name in pairs)
            lanes.setdefault((what, seen[what]), []).append((place, rows))
            seen[what] += 1
    number = 0
    for (what, _), members in lanes.items():
        for group in _together(members, units):
            yield f"inferred:{'+'.join(sorted({kind for kind, _ in what}))}:{number}", group
            number += 1


def _together(members: Members, units: Sequence[RunUnit]) -> list[Members]:
    """Members that end together, group by group; those that nobody ends with are left out.

    Each is compared with the first of every group so far.
    """
    groups: list[list[int]] = []
    for i, (unit, rows) in enumerate(members):
        mine = next((g for g in groups if _meet(units, members[g[0]], (unit, rows))), None)
        if mine is None:
            groups.append([i])
        else:
            mine.append(i)
    return [[members[i] for i in group] for group in groups if len(group) > 1]


def _meet(
    units: Sequence[RunUnit], one: tuple[int, npt.NDArray[np.intp]], other: tuple[int, npt.NDArray[np.intp]]
) -> bool:
    """Whether two streams' collectives end together, as often as they must.

    Units of one host that tell its clock must end at one time; others at a steady distance, since their clocks differ.
    """
    if one[1].size != other[1].size:
        return False
    one, other = (_tying(units, each) for each in (one, other))
    size = min(one[1].size, other[1].size)
    if size < _FEWEST or one[1].size != other[1].size:
        return False
    step = max(1, size // _SAMPLE)
    ends: list[I64] = []
    for unit, rows in (one, other):
        ends.append(units[unit].collectives.end_ns[rows[:size:step]] + (units[unit].zero_ns or 0))
    apart = ends[0] - ends[1]
    a, b = units[one[0]], units[other[0]]
    if a.host == b.host and a.shared_clock and b.shared_clock:
        middle = float(np.median(apart))
        return abs(middle) <= _TOGETHER_NS and bool((np.abs(apart - middle) <= _STEADY_NS).mean() >= _OFTEN)
    if abs(float(np.median(apart))) > CLOCK_ERROR_NS:
        return False
    # Jobs of one program have one rhythm, but not the same irregularities.
    rhythm, other_rhythm = np.diff(ends[0]), np.diff(ends[1])
    differs = float(np.quantile(np.abs(rhythm - other_rhythm), _OFTEN))
    varies = float(np.quantile(np.abs(rhythm - np.median(rhythm)), _OFTEN))
    if differs > max(_NOISE_NS, _SHARED_RHYTHM * varies):
        return False
    return bool((np.abs(apart - _line(ends[0], apart)) <= _STEADY_NS).mean() >= _OFTEN)


def _tying(units: Sequence[RunUnit], lane: tuple[int, npt.NDArray[np.intp]]) -> tuple[int, npt.NDArray[np.intp]]:
    """A stream's ops without those that each rank leaves when its own data is there, where it has others."""
    unit, rows = lane
    ops = units[unit].collectives
    loose = np.array([kind in _LOOSE for kind in ops.kinds], np.bool_)[ops.kind[rows]]
    return unit, rows if loose.all() else rows[~loose]


def _line(at_ns: I64, apart_ns: I64) -> I64:
    """A robust line through the distances: clocks of two hosts differ by an offset and a drift."""
    x = (at_ns - at_ns[0]).astype(np.float64)
    y = (apart_ns - np.median(apart_ns)).astype(np.float64)
    half = x.size // 2
    early, late = np.median(y[:half]), np.median(y[half:])
    gap = np.median(x[half:]) - np.median(x[:half])
    slope = float(np.clip((late - early) / gap, -_MOST_DRIFT, _MOST_DRIFT)) if gap > 0 else 0.0
    level = np.median(y - slope * x)
    line: I64 = (np.median(apart_ns) + slope * x + level).astype(np.int64)
    return line
