"""Clocks of several devices and hosts, aligned on collectives whose ends causality ties.

Durations need none of this. Only what compares instants of different units does, and it may claim nothing smaller than
the residual, nor anything of a host that no collective ties to the others (P23). Method: docs/method/ranks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.run.certified import Bounds, Spans, certified
from critpath.run.clock_fit import F64, Ends, Fit, fit, residuals
from critpath.run.collectives import Matches
from critpath.run.units import RunUnit

__all__ = ["ANCHOR_KINDS", "Clocks", "HostClock", "clocks"]

ANCHOR_KINDS = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
"""Collectives that nobody leaves before everybody has entered; rooted ones and messages aren't among them."""

Alone = Callable[[npt.NDArray[np.bool_]], Bounds | None]

_BETTER = 0.8
_GOOD_NS, _GOOD_MATCHED = 60_000, 30
_FEWEST = 8
_A_FAMILY = 400
_MOST_ENDS = 600_000
_SUSPECT_SHARE = 0.05
_REPAIRS = 4


@dataclass(frozen=True, slots=True)
class HostClock:
    """A host's clock against the reference.

    Attributes:
        offset_ns: local less reference at `Clocks.reference_ns`, after the rebase; None = unalignable.
        drift_ppm: change of the offset with time.
        matched: ends that the fit used.
        residual_ns: 5th, 50th, 95th and 99th percentile of held-out residuals; None = unalignable.
        quality: `good`, `weak` or `none`.
    """

    host: str
    offset_ns: float | None
    drift_ppm: float | None
    matched: int
    residual_ns: tuple[float, float, float, float] | None
    quality: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """How the units' axes lie to each other.

    Attributes:
        reference: host whose clock the others are told in.
        reference_ns: instant of the rebased axis at which offsets are told.
        hosts: every host, the reference first.
        of_unit: entry of `hosts` for each unit.
        ahead_ns: what each unit's clock is ahead at `reference_ns`, bias of its device included; NaN = unalignable.
        pulled_ns: how much of that is due to causality, which the fit alone would have broken.
        drift: ns that it gains a second.
        bounds: what causality alone allows after the fit; None without anchors.
        suspect: communicators whose matches contradict causality: their clocks and lateness are not believed.
        residual_p95_ns: 95th percentile of the size of all held-out residuals; None without anchors.
    """

    reference: str
    reference_ns: int
    hosts: tuple[HostClock, ...]
    of_unit: tuple[int, ...]
    ahead_ns: F64
    pulled_ns: F64
    drift: F64
    bounds: Bounds | None
    suspect: tuple[str, ...]
    residual_p95_ns: float | None

    def aligned(self, unit: int, times_ns: I64) -> I64 | None:
        """Instants of a unit's rebased axis in the reference clock [ns]; None where it can't be aligned."""
        if np.isnan(self.ahead_ns[unit]):
            return None
        gained = self.drift[unit] * (times_ns - self.reference_ns) * 1e-9
        found: I64 = times_ns - np.rint(self.ahead_ns[unit] + gained).astype(np.int64)
        return found


def clocks(units: Sequence[RunUnit], matches: Matches) -> Clocks:
    """Align the clocks of all units.

    Args:
        units: all analysed units.
        matches: their collectives.
    """
    names = list(dict.fromkeys(u.host for u in units))
    of_unit = np.array([names.index(u.host) for u in units], np.int64)
    anchors = _anchors(matches, units)
    suspect: set[int] = set()
    for _ in range(_REPAIRS):
        rows = anchors & ~np.isin(matches.community[matches.instance], list(suspect))
        found = _fitted(units, matches, rows, names, of_unit)

        def alone(some: npt.NDArray[np.bool_], rows: npt.NDArray[np.bool_] = rows) -> Bounds | None:
            return _fitted(units, matches, rows & some, names, of_unit).bounds

        wrong = _wrong(matches, rows, found.bounds, alone) - suspect
        if not wrong:
            break
        suspect |= wrong
    keys = tuple(sorted(matches.communicators[c].key for c in suspect))
    return replace(found, suspect=keys)


def _anchors(matches: Matches, units: Sequence[RunUnit]) -> npt.NDArray[np.bool_]:
    """Participants whose ends tie clocks: of NCCL's collectives of all, on units that tell their time."""
    kinds = np.array([name in ANCHOR_KINDS for name in matches.kinds], np.bool_)
    ties = kinds[matches.kind] if kinds.size else np.empty(0, np.bool_)
    for i, each in enumerate(matches.communicators):
        if each.message:
            ties &= matches.community != i
    timed = np.array([u.zero_ns is not None for u in units], np.bool_)
    nccl = np.zeros(matches.op.size, np.bool_)
    for i, unit in enumerate(units):
        mine = matches.unit == i
        nccl[mine] = unit.collectives.nccl[matches.op[mine]]
    rows = ties[matches.instance] & timed[matches.unit] & nccl
    return rows & (np.bincount(matches.instance[rows], minlength=len(matches))[matches.instance] > 1)


def _wrong(matches: Matches, used: npt.NDArray[np.bool_], bounds: Bounds | None, alone: Alone) -> set[int]:
    """Communicators that contradict causality: those that contradict themselves, or else all that take part."""
    if bounds is None or not bounds.contradicting:
        return set()
    every = set(np.unique(matches.community[matches.instance[used]]).tolist())
    themselves = {
        c for c in every if (found := alone(matches.community[matches.instance] == c)) and found.contradicting
    }
    return themselves or set(matches.community[list(bounds.contradicting)].tolist())


def _fitted(
    units: Sequence[RunUnit], matches: Matches, rows: npt.NDArray[np.bool_], names: list[str], of_unit: I64
) -> Clocks:
    used = _thinned(matches, rows)
    reference_ns = int(np.median(matches.end_ns[used])) if used.any() else 0
    matched = np.bincount(of_unit[matches.unit[used]], minlength=len(names))
    tied = _tied(matches, used, of_unit, len(names))
    reference = max(range(len(names)), key=lambda h: (matched[tied == tied[h]].sum(), matched[h], -h))
    used &= (tied == tied[reference])[of_unit[matches.unit]]
    ends = _ends(matches, used, of_unit, reference_ns)
    n = (len(names), len(units), reference)
    best, held = _best(ends, n)
    known = tied == tied[reference]
    ahead = np.where(known[of_unit], best.offset[of_unit] + best.bias, np.nan)
    drift = np.where(known[of_unit], best.drift[of_unit], 0.0)
    bounds = _bounds(matches, used, ends, best, of_unit) if used.any() else None
    pulled = np.zeros(len(units)) if bounds is None else _pulled_inside(bounds)
    order = [reference, *(h for h in range(len(names)) if h != reference)]
    every = np.array([order.index(h) for h in of_unit.tolist()])
    return Clocks(
        reference=names[reference],
        reference_ns=reference_ns,
        hosts=tuple(
            _host(names[h], h, (best, held), int(matched[h]))
            if known[h]
            else HostClock(names[h], None, None, int(matched[h]), None, "none")
            for h in order
        ),
        of_unit=tuple(every.tolist()),
        ahead_ns=ahead + pulled,
        pulled_ns=pulled,
        drift=drift,
        bounds=bounds,
        suspect=(),
        residual_p95_ns=float(np.quantile(np.abs(held[1]), 0.95)) if held[1].size else None,
    )


def _thinned(matches: Matches, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """So many instances, evenly over time, that the fit stays small."""
    size = int(rows.sum())
    if size <= _MOST_ENDS:
        return rows.copy()
    some: npt.NDArray[np.bool_] = rows & (matches.instance % (size // _MOST_ENDS + 1) == 0)
    return some


def _tied(matches: Matches, used: npt.NDArray[np.bool_], of_unit: I64, hosts: int) -> I64:
    """Number of the group that each host is tied into by instances."""
    group = np.arange(hosts, dtype=np.int64)
    instance, host = matches.instance[used], of_unit[matches.unit[used]]
    pairs = np.unique(np.stack([host[:-1], host[1:]], axis=1)[instance[1:] == instance[:-1]], axis=0)
    for a, b in pairs.tolist():
        group[group == group[b]] = group[a]
    return group


def _ends(matches: Matches, used: npt.NDArray[np.bool_], of_unit: I64, reference_ns: int) -> Ends:
    end = (matches.end_ns[used] - reference_ns).astype(np.float64)
    return Ends(
        instance=np.unique(matches.instance[used], return_inverse=True)[1].astype(np.int64),
        unit=matches.unit[used],
        family=np.unique(matches.community[matches.instance[used]], return_inverse=True)[1].astype(np.int64),
        host=of_unit[matches.unit[used]],
        end_ns=end,
        tau=end * 1e-9,
    )


def _best(ends: Ends, n: tuple[int, int, int]) -> tuple[Fit, tuple[npt.NDArray[np.int64], F64]]:
    """The fit to all ends, with drift where that predicts ends it wasn't fitted to better; and those residuals."""
    hosts, units, reference = n
    nothing = Fit(np.zeros(hosts), np.zeros(hosts), np.zeros(units))
    if not ends.unit.size:
        return nothing, (np.empty(0, np.int64), np.empty(0))
    odd = ends.instance % 2 == 1
    if int(odd.sum()) < _FEWEST or int((~odd).sum()) < _FEWEST:
        # Too few to hold any out: what is left of the ends themselves is a lower bound of the error.
        found = fit(ends, hosts, units, reference, with_drift=False)
        return found, (ends.host, residuals(ends, found))
    train, test = _dense(ends.where(odd)), _dense(ends.where(~odd))
    left = {drift: residuals(test, fit(train, hosts, units, reference, with_drift=drift)) for drift in (False, True)}
    p95 = {drift: float(np.quantile(np.abs(values), 0.95)) for drift, values in left.items()}
    drift = hosts > 1 and p95[True] < _BETTER * p95[False]
    return fit(ends, hosts, units, reference, with_drift=drift), (test.host, left[drift])


def _dense(ends: Ends) -> Ends:
    instance = np.unique(ends.instance, return_inverse=True)[1].astype(np.int64)
    family = np.unique(ends.family, return_inverse=True)[1].astype(np.int64)
    return replace(ends, instance=instance, family=family)


def _bounds(matches: Matches, used: npt.NDArray[np.bool_], ends: Ends, best: Fit, of_unit: I64) -> Bounds:
    """Certified bounds after the fit, from the shortest instances of each communicator in each third of the time."""
    ahead = best.at(ends.host, ends.unit, ends.tau)
    length = matches.duration_ns[used].astype(np.float64)
    instance = matches.instance[used]
    kept = np.isin(instance, _shortest(matches, np.unique(instance), ends, instance))
    end = ends.end_ns - ahead
    spans = Spans(instance[kept], ends.unit[kept], (end - length)[kept], end[kept], ends.tau[kept])
    return certified(spans, best.bias.size, of_unit.tolist())


def _shortest(matches: Matches, instances: I64, ends: Ends, instance: I64) -> I64:
    first = np.searchsorted(instance, instances)
    third = np.clip(np.searchsorted(np.quantile(ends.tau, [1 / 3, 2 / 3]), ends.tau[first]), 0, 2)
    family = matches.community[instances] * 3 + third
    order = np.lexsort((matches.proxy_ns[instances], family))
    rank = np.arange(order.size) - np.searchsorted(family[order], family[order])
    return instances[order[rank < _A_FAMILY // 3]]


def _pulled_inside(bounds: Bounds) -> F64:
    """The least move, towards the middle of what causality allows, that puts every clock where it may be [ns]."""
    n = bounds.upper.shape[0]
    nothing = np.zeros(n)
    if bounds.contradicting or not (bounds.upper < 0).any():
        return nothing
    anchor = int(np.argmax(np.isfinite(bounds.upper).sum(axis=1)))
    ahead, behind = bounds.upper[:, anchor], bounds.upper[anchor, :]
    middle = np.where(np.isfinite(ahead) & np.isfinite(behind), (ahead - behind) / 2, 0.0)
    violated = np.argwhere(bounds.upper < 0)
    moves = middle[violated[:, 0]] - middle[violated[:, 1]]
    need = bounds.upper[violated[:, 0], violated[:, 1]] / np.where(moves < 0, moves, np.inf)
    share = float(np.clip(need.max(initial=0.0), 0.0, 1.0))
    return share * middle


def _host(name: str, host: int, found: tuple[Fit, tuple[npt.NDArray[np.int64], F64]], matched: int) -> HostClock:
    best, held = found
    left = held[1][held[0] == host]
    told = tuple(np.quantile(left, [0.05, 0.5, 0.95, 0.99]).tolist()) if left.size else None
    good = told is not None and matched >= _GOOD_MATCHED and max(abs(told[0]), abs(told[2])) <= _GOOD_NS
    return HostClock(
        host=name,
        offset_ns=float(best.offset[host]),
        drift_ppm=float(best.drift[host]) / 1_000,
        matched=matched,
        residual_ns=told,
        quality="good" if good else "weak",
    )
