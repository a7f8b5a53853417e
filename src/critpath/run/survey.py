"""Every unit before any is chosen: which do the same work, which is slow, which stand for others (P03, P04)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.run.units import JobSteps, RunUnit

__all__ = ["LIKE", "Group", "JobStep", "Representative", "groups", "job_step", "representatives", "similarity"]

LIKE = 0.97
"""Units whose kernels and copies a step agree to this share do the same work; one more expert group or layer differs by
more, a kernel that ran once more in one of several steps by less."""

_SAME = 0.01
_MOSTLY = 2 / 3


@dataclass(frozen=True, slots=True)
class Group:
    """Units that may be compared with each other, by place.

    Attributes:
        part: declared part of the model, None where nobody declared it.
        similarity_min: least likeness of a unit to the group's first one; None with one unit.
        fastest, slowest: by mean length of the windows.
        spread: slowest over fastest, less 1.
        pattern: whether the slowest is always the same: persistent, rotating, or none where they can't be told apart.
    """

    part: str | None
    units: tuple[int, ...]
    similarity_min: float | None
    fastest: int
    slowest: int
    spread: float
    pattern: str


@dataclass(frozen=True, slots=True)
class JobStep:
    """The job's step: the slowest unit of each step that all units have [ns], shape (s,)."""

    lengths_ns: npt.NDArray[np.int64]
    slowest_per_step: tuple[int, ...]
    slowest: int


@dataclass(frozen=True, slots=True)
class Representative:
    """A unit that stands for others, and why."""

    unit: int
    why: str


def similarity(one: RunUnit, other: RunUnit) -> float:
    """How far the work of two units agrees: what both do a step, over what either does, in [0, 1]."""
    names = one.counts.keys() | other.counts.keys()
    both = sum(min(one.counts.get(n, 0.0), other.counts.get(n, 0.0)) for n in names)
    either = sum(max(one.counts.get(n, 0.0), other.counts.get(n, 0.0)) for n in names)
    return both / either if either else 1.0


def groups(units: Sequence[RunUnit], steps: JobSteps) -> tuple[Group, ...]:
    """Units of one declared part, or of one fingerprint where nobody declared parts, largest group first."""
    found: list[list[int]] = []
    for i, unit in enumerate(units):
        mine = next((g for g in found if _alike(units[g[0]], unit)), None)
        if mine is None:
            found.append([i])
        else:
            mine.append(i)
    made = [_group(units, members, steps) for members in found]
    return tuple(sorted(made, key=lambda g: (-len(g.units), g.units[0])))


def _alike(leader: RunUnit, unit: RunUnit) -> bool:
    if leader.part is not None or unit.part is not None:
        return leader.part == unit.part
    return similarity(leader, unit) >= LIKE


def _group(units: Sequence[RunUnit], members: list[int], steps: JobSteps) -> Group:
    means = {i: float(units[i].windows.lengths_ns.mean()) for i in members}
    fastest, slowest = min(members, key=lambda i: (means[i], i)), max(members, key=lambda i: (means[i], -i))
    spread = means[slowest] / means[fastest] - 1 if means[fastest] else 0.0
    return Group(
        part=units[members[0]].part,
        units=tuple(members),
        similarity_min=min((similarity(units[members[0]], units[i]) for i in members[1:]), default=None),
        fastest=fastest,
        slowest=slowest,
        spread=spread,
        pattern=_pattern(units, members, steps, spread),
    )


def _pattern(units: Sequence[RunUnit], members: list[int], steps: JobSteps, spread: float) -> str:
    common = np.flatnonzero((steps.window[members] >= 0).all(axis=0))
    if len(members) < 2 or common.size < 3 or spread < _SAME:
        return "none"
    lengths = np.stack([units[i].windows.lengths_ns[steps.window[i, common]] for i in members])
    told = (lengths.max(axis=0) / np.maximum(1, np.median(lengths, axis=0))) - 1 >= _SAME
    slowest = Counter(lengths.argmax(axis=0)[told].tolist())
    if not slowest:
        return "none"
    return "persistent" if slowest.most_common(1)[0][1] >= _MOSTLY * common.size else "rotating"


def job_step(units: Sequence[RunUnit], steps: JobSteps) -> JobStep | None:
    """The step of the job; None where no step is in all units."""
    common = steps.common
    if not common.size or not units:
        return None
    lengths = np.stack([u.windows.lengths_ns[steps.window[i, common]] for i, u in enumerate(units)])
    slowest = lengths.argmax(axis=0)
    mean = lengths.mean(axis=1)
    often = Counter(slowest.tolist())
    return JobStep(
        lengths_ns=lengths.max(axis=0),
        slowest_per_step=tuple(slowest.tolist()),
        slowest=max(often, key=lambda i: (often[i], mean[i], -i)),
    )


def representatives(
    units: Sequence[RunUnit], found: Sequence[Group], slowest: int | None, late: int | None
) -> tuple[Representative, ...]:
    """The late unit, the slowest one, and the slowest of each group without either.

    Args:
        units: all analysed units.
        found: their groups.
        slowest: the unit that was slowest most often.
        late: a persistent straggler.
    """
    chosen: dict[int, str] = {}
    if late is not None:
        chosen[late] = "the others wait for it"
    if slowest is not None and slowest != late:
        chosen[slowest] = f"the slowest of {len(units)} captured units most often"
    for group in found:
        if slowest in group.units or late in group.units:
            continue
        of = f"part {group.part}" if group.part is not None else "units that do the same work"
        chosen[group.slowest] = f"the slowest of {len(group.units)} of {of}"
    return tuple(Representative(unit, why) for unit, why in chosen.items())
