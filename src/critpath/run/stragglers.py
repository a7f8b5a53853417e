"""Who arrives late at collectives, whether it is always the same, and what makes it late.

    unit 0   ######################       the others' time in it is long: they wait
    unit 1   #####################
    unit 2                  ######        short: it came late, by the difference
    unit 3   ####################

All leave together, so who stays shortest came last: durations tell, and no clock is needed. Lateness of a step is added
up over its collectives, for every one of them makes all wait anew; a barrier that evens out phases is one of them, and
what it hides from the next collective is told where it happened. Definition: docs/method/ranks.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.run.clock_fit import F64
from critpath.run.clocks import Clocks
from critpath.run.collectives import Matches
from critpath.run.late_causes import LateCause, late_cause
from critpath.run.survey import Group
from critpath.run.units import JobSteps, RunUnit

__all__ = ["Lateness", "Straggler", "lateness", "straggler"]

MATERIAL = 0.018
"""Lateness below this share of the step is no straggler: equal ranks differ by as much."""

_OWN_NOISE_NS = 10_000.0
"""Collectives end this far apart on their devices anyway."""

_FEWEST_STEPS = 3
_PERSISTENT, _ROTATING, _SELDOM = 0.6, 0.5, 1 / 3
_LOOSE = frozenset({"broadcast", "reduce", "gather", "scatter", "send_recv", "dispatch", "combine", "unknown"})
"""Not all leave them together: who stays shortest may be the root, a sender, or have the least data."""

_SKEW, _LEAST_SKEW_NS, _ALONE = 0.02, 10_000_000, 4.0


@dataclass(frozen=True, slots=True)
class Straggler:
    """The verdict on lateness.

    Attributes:
        verdict: none, persistent, rotating, start-skew or inconclusive.
        unit: place of the late unit, with start-skew of the one that began earlier; None where none can be named.
        late_ns: mean lateness a step beyond the residual; None where none is claimed.
        evidence: what shows it.
        limited_to: places of the units that the verdict covers.
        late_steps: steps in which that unit was late, of all `steps`.
        cause: what makes it late.
    """

    verdict: str
    unit: int | None
    late_ns: float | None
    evidence: str
    limited_to: tuple[int, ...]
    late_steps: int = 0
    steps: int = 0
    cause: LateCause | None = None


@dataclass(frozen=True, slots=True)
class Lateness:
    """How much later than its peers each unit arrived in each step [ns], and where that is known; shape (units, s)."""

    late_ns: F64
    known: npt.NDArray[np.bool_]


def straggler(
    units: Sequence[RunUnit],
    compared: tuple[Matches, Lateness],
    steps: JobSteps,
    found: Sequence[Group],
    aligned: Clocks,
) -> Straggler:
    """Whether a captured unit is late.

    Args:
        units: all analysed units.
        compared: their collectives, and who arrived late at them.
        steps: their steps side by side.
        found: groups of like units: only those are compared.
        aligned: their clocks, whose residual is the least that is claimed.
    """
    if len(units) < 2:
        return Straggler(
            "inconclusive", None, None, "one captured unit can't be compared with another", (0,) * len(units)
        )
    matches, late, seen = compared[0], compared[1].late_ns, compared[1].known
    covered = tuple(np.flatnonzero(seen.any(axis=1)).tolist())
    usable = np.flatnonzero(seen.sum(axis=0) >= 2)
    if not covered or not usable.size:
        return Straggler("inconclusive", None, None, _nothing_because(units, matches, found), covered)
    step_ns = np.array(
        [np.median([u.windows.lengths_ns[w] for u, w in _having(units, steps, s)]) for s in usable.tolist()]
    )
    least = np.maximum(MATERIAL * step_ns, 3 * (aligned.residual_p95_ns or _OWN_NOISE_NS))
    table = np.where(seen, late, 0.0)[:, usable]
    told = _verdict(units, table, seen[:, usable], least)
    if told.verdict == "persistent" and told.unit is not None:
        group = next(g for g in found if told.unit in g.units)
        peers = [i for i in group.units if i != told.unit]
        cause = late_cause(units[told.unit], [units[i] for i in peers], told.late_ns or 0.0)
        told = _with(told, covered, cause)
    else:
        told = _with(told, covered, None)
    if told.verdict in ("none", "inconclusive"):
        skewed = _start_skew(units, matches, float(np.median(step_ns)))
        if skewed is not None:
            return Straggler("start-skew", skewed[0], None, skewed[1], covered, steps=int(usable.size))
    return told


def lateness(units: Sequence[RunUnit], matches: Matches, steps: JobSteps, found: Sequence[Group]) -> Lateness:
    """How late each unit arrived in each step.

    Arrival is compared within one collective, between units of one group. Being early where others are late earns
    nothing: it is their lateness.
    """
    shape = steps.window.shape
    total, known = np.zeros(shape), np.zeros(shape, np.bool_)
    group = np.full(len(units), -1, np.int64)
    for number, each in enumerate(found):
        group[list(each.units)] = number
    rows = _comparable(units, matches, group)
    if not rows.any():
        return Lateness(total, known)
    instance, unit = matches.instance[rows], matches.unit[rows]
    step = _steps_of(units, matches, steps)[rows]
    arrival = -_against_others(matches.duration_ns[rows].astype(np.float64), instance)
    inside = step >= 0
    np.add.at(total, (unit[inside], step[inside]), np.maximum(arrival[inside], -_OWN_NOISE_NS))
    known[unit[inside], step[inside]] = True
    relative = np.full(shape, np.nan)
    for each in found:
        mine = np.array(each.units)
        values = np.where(known[mine], total[mine], np.nan)
        if mine.size == 2:
            # Of two, each is late by as much as the other is early: only what it made the other wait counts.
            relative[mine] = values
            continue
        for place, i in enumerate(mine.tolist()):
            others = np.delete(values, place, axis=0)
            some = np.isfinite(others).any(axis=0)
            relative[i, some] = values[place, some] - np.nanmedian(others[:, some], axis=0)
    return Lateness(np.nan_to_num(relative), np.isfinite(relative))


def _comparable(units: Sequence[RunUnit], matches: Matches, group: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Participants of collectives that all leave together, whose captured participants are all of one group."""
    together = np.array([name not in _LOOSE for name in matches.kinds], np.bool_)
    message = np.array([c.message for c in matches.communicators], np.bool_)
    if not len(matches):
        return np.zeros(0, np.bool_)
    first = np.searchsorted(matches.instance, np.arange(len(matches)))
    low = np.minimum.reduceat(group[matches.unit], first)
    high = np.maximum.reduceat(group[matches.unit], first)
    # What a communicator's first collective evens out is when captures began.
    opening = np.diff(matches.community, prepend=-1) != 0
    usable = together[matches.kind] & ~message[matches.community] & (low == high) & ~opening
    found: npt.NDArray[np.bool_] = usable[matches.instance]
    return found


def _steps_of(units: Sequence[RunUnit], matches: Matches, steps: JobSteps) -> npt.NDArray[np.int64]:
    """The job's step of each participant: that of the instance, as most participants have it; -1 outside."""
    step = np.full(matches.op.size, -1, np.int64)
    for i, unit in enumerate(units):
        present = np.flatnonzero(steps.window[i] >= 0)
        mine = matches.unit == i
        if steps.by_key and unit.step_keys is not None:
            # Where it was launched is sharper than where it ran.
            number = {key: s for s, key in enumerate(steps.keys)}
            of_step = np.array([number.get(key, -1) for key in (*unit.step_keys, "")], np.int64)
            step[mine] = of_step[unit.collectives.step[matches.op[mine]]]
            continue
        of_window = np.full(len(unit.windows) + 1, -1, np.int64)
        of_window[steps.window[i, present]] = present
        step[mine] = of_window[unit.collectives.window[matches.op[mine]]]
    # A window begins at a device's own compute: a collective at its edge may lie in two steps. The earlier one has it.
    best = np.full(len(matches), np.iinfo(np.int64).max)
    inside = step >= 0
    np.minimum.at(best, matches.instance[inside], step[inside])
    agreed = best[matches.instance]
    return np.where(agreed < np.iinfo(np.int64).max, agreed, -1)


def _against_others(values: F64, instance: npt.NDArray[np.int64]) -> F64:
    """Each value less the median of the other values of its instance; rows are ordered by instance."""
    order = np.lexsort((values, instance))
    ordered = values[order]
    edges = np.flatnonzero(np.diff(instance, prepend=-1))
    size = np.diff(np.append(edges, instance.size))
    first, n = np.repeat(edges, size), np.repeat(size, size)
    place = np.arange(instance.size) - first
    # Without the own one, places behind it move up by one.
    low, high = (n - 2) // 2, (n - 1) // 2
    low, high = low + (low >= place), high + (high >= place)
    middle = (ordered[first + np.minimum(low, n - 1)] + ordered[first + np.minimum(high, n - 1)]) / 2
    found = np.empty(values.size)
    found[order] = ordered - middle
    return found


def _having(units: Sequence[RunUnit], steps: JobSteps, step: int) -> list[tuple[RunUnit, int]]:
    return [(unit, int(steps.window[i, step])) for i, unit in enumerate(units) if steps.window[i, step] >= 0]


def _verdict(units: Sequence[RunUnit], table: F64, seen: npt.NDArray[np.bool_], least: F64) -> Straggler:
    n = table.shape[1]
    is_late = (table >= least) & seen
    some = is_late.any(axis=0)
    latest = np.where(is_late, table, -np.inf).argmax(axis=0)[some]
    if not some.any():
        return _none(table, least, n)
    if n < _FEWEST_STEPS:
        who, _ = Counter(latest.tolist()).most_common(1)[0]
        told = f"{units[who].name} is late in {int(is_late[who].sum())} of {n} steps, too few to tell whether it recurs"
        return Straggler("inconclusive", None, None, told, (), int(is_late[who].sum()), n)
    mean = np.where(seen.any(axis=1), table.sum(axis=1) / np.maximum(1, seen.sum(axis=1)), -np.inf)
    often = (table >= least / 2) & seen
    share = often.sum(axis=1) / np.maximum(1, seen.sum(axis=1))
    # One step in which it was very late makes no persistent straggler: the middle of its steps must be late.
    middle = np.array([np.median(table[i, seen[i]]) if seen[i].any() else -np.inf for i in range(table.shape[0])])
    late_often = (np.minimum(mean, middle) >= least.mean()) & (share >= _PERSISTENT)
    ranked = [int(i) for i in np.argsort(-mean, kind="stable") if late_often[i]]
    if ranked:
        return _persistent(units, ranked, (table, often, mean), n)
    if some.mean() >= _ROTATING and np.unique(latest).size > 1:
        names = ", ".join(units[i].name for i, _ in Counter(latest.tolist()).most_common(4))
        late_ns = float(table.max(axis=0)[some].mean())
        told = f"in {int(some.sum())} of {n} steps another one is late, by {late_ns / 1e6:.3g} ms: {names}"
        return Straggler("rotating", None, late_ns, told, (), int(some.sum()), n)
    who = Counter(latest.tolist()).most_common(1)[0][0]
    told = f"{units[who].name} is late in {int(is_late[who].sum())} of {n} steps"
    if some.mean() <= _SELDOM:
        return Straggler("none", None, None, f"{told}; that doesn't recur", (), int(is_late[who].sum()), n)
    return Straggler("inconclusive", None, None, f"{told}; whether that recurs is open", (), int(is_late[who].sum()), n)


def _none(table: F64, least: F64, n: int) -> Straggler:
    most = max(0.0, float(table.max(initial=0.0)))
    told = f"no unit arrives later than its peers by {least.mean() / 1e6:.3g} ms a step; at most {most / 1e6:.3g} ms"
    return Straggler("none", None, None, f"{told}, in one of {n} steps", (), 0, n)


def _persistent(
    units: Sequence[RunUnit], ranked: list[int], measured: tuple[F64, npt.NDArray[np.bool_], F64], n: int
) -> Straggler:
    _, often, mean = measured
    who = ranked[0]
    also = f"; {', '.join(units[i].name for i in ranked[1:4])} too" if len(ranked) > 1 else ""
    told = (
        f"{units[who].name} arrives at collectives {mean[who] / 1e6:.3g} ms a step after its peers' median, "
        f"late in {int(often[who].sum())} of {n} steps{also}"
    )
    return Straggler("persistent", who, float(mean[who]), told, (), int(often[who].sum()), n)


def _with(told: Straggler, covered: tuple[int, ...], cause: LateCause | None) -> Straggler:
    return Straggler(told.verdict, told.unit, told.late_ns, told.evidence, covered, told.late_steps, told.steps, cause)


def _nothing_because(units: Sequence[RunUnit], matches: Matches, found: Sequence[Group]) -> str:
    if not len(matches):
        meeting = sum(len(u.collectives) for u in units)
        if not meeting:
            return "no kernel in which ranks meet was captured"
        return f"none of {meeting:,} kernels in which ranks meet could be matched between units"
    if len(found) == len(units):
        return "every captured unit does other work, so none is compared with another"
    return "the matched collectives are messages or rooted, between units that do different work, or outside the steps"


def _start_skew(units: Sequence[RunUnit], matches: Matches, step_ns: float) -> tuple[int, str] | None:
    """A unit that began earlier than all others and waited for them once: (its place, what shows it)."""
    if not len(matches):
        return None
    first = np.searchsorted(matches.instance, np.arange(len(matches)))
    opening = np.flatnonzero(np.diff(matches.community, prepend=-1))
    wait = np.zeros(len(units))
    for k in opening.tolist():
        rows = slice(first[k], first[k + 1] if k + 1 < first.size else matches.op.size)
        np.maximum.at(wait, matches.unit[rows], matches.wait_ns[rows].astype(np.float64))
    order = np.argsort(-wait, kind="stable")
    who, second = int(order[0]), float(wait[order[1]])
    if wait[who] < max(_SKEW * step_ns, _LEAST_SKEW_NS) or wait[who] < _ALONE * second:
        return None
    mine = np.sort(matches.wait_ns[matches.unit == who])
    if mine.size > 2 and mine[-2] >= wait[who] / _ALONE:
        return None
    told = (
        f"{units[who].name} waited {wait[who] / 1e6:.3g} ms in its first matched collective and never so again: its "
        "capture began earlier, its window is longer at that end only, and it is no straggler"
    )
    return who, told
