"""The critical path of the job's step across units: from the slowest unit's end back to who was waited for.

    unit 0   [own ··········][wait ··· transfer][own ····]  end of the slowest unit's step
    unit 1   [own ·····································][t]
                                            ▲ last to arrive: the path goes on here

At a collective the path takes the transfer, which is the shortest participant's time, and goes on with the unit that
arrived last, before its own arrival: on that unit's own time axis, so that no clock is compared with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from critpath.run.collectives import Matches
from critpath.run.survey import JobStep
from critpath.run.units import JobSteps, RunUnit

__all__ = ["JobPath", "cross_path"]

_MOST_PIECES = 200_000


@dataclass(frozen=True, slots=True)
class JobPath:
    """Where the time of the job's steps went, over all common steps [ns].

    Attributes:
        steps: how many.
        lengths_ns: the job's steps themselves, added up.
        own_ns: by unit: its own work and waiting, but for matched collectives.
        unmatched_ns: the part of that in kernels in which ranks meet and whose peers are unknown.
        transfer_ns: by entry of `Matches.communicators`.
        largest_ns: by (unit, name): the largest kind of link of each own piece, added up.
    """

    steps: int
    lengths_ns: int
    own_ns: dict[int, int]
    unmatched_ns: int
    transfer_ns: dict[int, int]
    largest_ns: dict[tuple[int, str], int]

    @property
    def total_ns(self) -> int:
        """The path's whole length [ns]; differs from the steps' by what units began apart, and by clocks' noise."""
        return sum(self.own_ns.values()) + sum(self.transfer_ns.values())


def cross_path(units: Sequence[RunUnit], matches: Matches, steps: JobSteps, step: JobStep | None) -> JobPath | None:
    """The path of the job's common steps; None where there is no common step or no path.

    Args:
        units: all analysed units.
        matches: their collectives.
        steps: their steps side by side.
        step: the job's step.
    """
    if step is None or any(u.path is None for u in units):
        return None
    walk = _Walk(units, matches, steps)
    for place, number in enumerate(steps.common.tolist()):
        walk.follow(step.slowest_per_step[place], number)
    return JobPath(
        steps=len(step.slowest_per_step),
        lengths_ns=int(step.lengths_ns.sum()),
        own_ns=walk.own_ns,
        unmatched_ns=walk.unmatched_ns,
        transfer_ns=walk.transfer_ns,
        largest_ns=walk.largest_ns,
    )


class _Walk:
    def __init__(self, units: Sequence[RunUnit], matches: Matches, steps: JobSteps) -> None:
        self.units, self.matches, self.steps = units, matches, steps
        self.own_ns: dict[int, int] = {}
        self.unmatched_ns = 0
        self.transfer_ns: dict[int, int] = {}
        self.largest_ns: dict[tuple[int, str], int] = {}
        self.row = [np.full(len(u.collectives), -1, np.int64) for u in units]
        for i, rows in enumerate(self.row):
            mine = np.flatnonzero(matches.unit == i)
            rows[matches.op[mine]] = mine
        duration = matches.duration_ns
        order = np.lexsort((matches.unit, duration, matches.instance))
        self.last = order[np.searchsorted(matches.instance[order], np.arange(len(matches)))]

    def follow(self, unit: int, step: int) -> None:
        """From the end of a unit's step back to where it, or who was waited for, began it."""
        window = int(self.steps.window[unit, step])
        until = int(self.units[unit].windows.ends_ns[window])
        for _ in range(_MOST_PIECES):
            begin, end = self._pieces(unit, window)
            path = self.units[unit].path
            if path is None:
                return
            at = begin + int(np.searchsorted(path.start_ns[begin:end], until)) - 1
            if at < begin:
                return
            until = min(until, int(path.end_ns[at]))
            row = int(self.row[unit][path.collective[at]]) if path.collective[at] >= 0 else -1
            if row < 0:
                self._own(unit, at, until)
                until = int(path.start_ns[at])
                continue
            instance = int(self.matches.instance[row])
            moved = min(int(self.matches.proxy_ns[instance]), until - int(path.start_ns[at]))
            community = int(self.matches.community[instance])
            self.transfer_ns[community] = self.transfer_ns.get(community, 0) + moved
            last = int(self.last[instance])
            unit = int(self.matches.unit[last])
            until = int(self.units[unit].collectives.start_ns[self.matches.op[last]])
            window = int(self.steps.window[unit, step])

    def _pieces(self, unit: int, window: int) -> tuple[int, int]:
        path = self.units[unit].path
        if path is None:
            return 0, 0
        begin, end = np.searchsorted(path.window, [window, window + 1]).tolist()
        return begin, end

    def _own(self, unit: int, at: int, until: int) -> None:
        path = self.units[unit].path
        if path is None:
            return
        took = until - int(path.start_ns[at])
        self.own_ns[unit] = self.own_ns.get(unit, 0) + took
        if path.collective[at] >= 0:
            self.unmatched_ns += took
        key = (unit, path.names[int(path.largest[at])])
        self.largest_ns[key] = self.largest_ns.get(key, 0) + min(took, int(path.largest_ns[at]))
