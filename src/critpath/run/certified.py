"""What causality alone says of two clocks: no collective ends on one unit before another has entered it.

    unit i   s_i ─────────── e_i
    unit j         s_j ───── e_j        e_i >= s_j and e_j >= s_i: i's clock is ahead of j's by at most e_i - s_j

Every matched instance bounds every pair of its participants; bounds add up along chains of units. Bounds that
contradict each other say that a match is wrong, or that a clock isn't linear, and nothing else can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.run.clock_fit import F64

__all__ = ["MOST_UNITS", "Bounds", "Spans", "certified"]

MOST_UNITS = 512
"""Units between which bounds are chained: the work grows with their third power."""

_MOST_PAIRS = 20_000_000
_CONTRADICTION_NS = 5_000.0
_TIGHTEST = 4


@dataclass(frozen=True, slots=True)
class Spans:
    """Participants of matched collectives, by instance, on axes that the fit was taken off, shape (n,) [ns, s]."""

    instance: npt.NDArray[np.int64]
    unit: npt.NDArray[np.int64]
    start_ns: F64
    end_ns: F64
    tau: F64


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far clocks may still be apart after the fit.

    Attributes:
        upper: most that the clock of unit i is ahead of that of unit j at the reference time [ns], shape (u, u);
            infinite where nothing ties them.
        drift: most that a second changes it [ns/s], shape (h, h) between hosts.
        contradicting: instances of pairs whose bounds contradict each other.
    """

    upper: F64
    drift: F64
    contradicting: tuple[int, ...]

    def width_ns(self, i: int, j: int) -> float:
        """Length of the range in which the distance of two clocks lies at the reference time [ns]."""
        return float(self.upper[i, j] + self.upper[j, i])


def certified(spans: Spans, units: int, host: Sequence[int]) -> Bounds:
    """The bounds that the spans give.

    Args:
        spans: of instances that causality ties: every participant ends after every other has begun.
        units: how many units there are.
        host: number of each unit's host; clocks of one host run alike.
    """
    instances, first = np.unique(spans.instance, return_index=True)
    edges = np.append(first, spans.instance.size)
    sizes = np.diff(edges)
    of_host = np.asarray(host, np.int64)
    chosen = _chosen(spans, edges, sizes)
    hosts = int(of_host.max(initial=0)) + 1
    drift = _drift(spans, edges, chosen, of_host, hosts)
    upper = np.full((units, units), np.inf)
    which = np.full((units, units), -1, np.int64)
    for k in chosen.tolist():
        rows = np.arange(edges[k], edges[k + 1])
        unit = spans.unit[rows]
        slack = drift[np.ix_(of_host[unit], of_host[unit])] * abs(float(spans.tau[rows].mean()))
        bound = spans.end_ns[rows][:, None] - spans.start_ns[rows][None, :] + slack
        place = np.ix_(unit, unit)
        tighter = bound < upper[place]
        upper[place] = np.where(tighter, bound, upper[place])
        which[place] = np.where(tighter, instances[k], which[place])
    np.fill_diagonal(upper, 0.0)
    against = upper + upper.T < -_CONTRADICTION_NS
    contradicting = set(which[against].tolist())
    if units <= MOST_UNITS and not against.any():
        for k in range(units):
            np.minimum(upper, upper[:, k : k + 1] + upper[k : k + 1, :], out=upper)
        loops = np.flatnonzero(np.diag(upper) < -_CONTRADICTION_NS)
        contradicting |= {int(n) for n in which[loops].ravel() if n >= 0} if loops.size else set()
    return Bounds(upper, drift, tuple(sorted(contradicting)))


def _chosen(spans: Spans, edges: npt.NDArray[np.intp], sizes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Instances whose pairs are few enough to look at: all, or the shortest, which bound best."""
    if int((sizes.astype(np.int64) ** 2).sum()) <= _MOST_PAIRS:
        return np.arange(sizes.size)
    length = np.minimum.reduceat(spans.end_ns - spans.start_ns, edges[:-1])
    order = np.argsort(length, kind="stable")
    pairs = np.cumsum(sizes[order].astype(np.int64) ** 2)
    return np.sort(order[: max(1, int(np.searchsorted(pairs, _MOST_PAIRS)))])


def _drift(
    spans: Spans, edges: npt.NDArray[np.intp], chosen: npt.NDArray[np.intp], host: npt.NDArray[np.int64], hosts: int
) -> F64:
    """How much the distance of two hosts' clocks can change a second, beyond the fit [ns/s], shape (h, h).

    Between an early and a late instance it went from within one range to within another; the tightest of both thirds
    are taken. Where too few instances tell, a clock may drift as much as clocks do.
    """
    found = np.full((hosts, hosts), _WORST_DRIFT)
    np.fill_diagonal(found, 0.0)
    if hosts < 2 or not chosen.size:
        return found
    tables = _host_bounds(spans, edges, chosen, host)
    for (a, b), (tau, high) in tables.items():
        if a > b or (b, a) not in tables:
            continue
        low = -tables[b, a][1]
        cuts = np.quantile(tau, [1 / 3, 2 / 3])
        early, late = np.flatnonzero(tau <= cuts[0]), np.flatnonzero(tau >= cuts[1])
        if not early.size or not late.size or cuts[1] <= cuts[0]:
            continue
        early_low, early_high = _tightest(-low, early), _tightest(high, early)
        late_low, late_high = _tightest(-low, late), _tightest(high, late)
        rise = np.min((high[late_high][:, None] - low[early_low][None, :]) / (tau[late_high][:, None] - tau[early_low]))
        fall = np.max((low[late_low][:, None] - high[early_high][None, :]) / (tau[late_low][:, None] - tau[early_high]))
        found[a, b] = found[b, a] = min(_WORST_DRIFT, max(abs(float(rise)), abs(float(fall))))
    return found


_WORST_DRIFT = 200_000.0
"""200 us/s: several times what quartz does against quartz [ns/s]."""


def _tightest(bound: F64, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return rows[np.argsort(bound[rows], kind="stable")[:_TIGHTEST]]


def _host_bounds(
    spans: Spans, edges: npt.NDArray[np.intp], chosen: npt.NDArray[np.intp], host: npt.NDArray[np.int64]
) -> dict[tuple[int, int], tuple[F64, F64]]:
    """(times, upper bounds) of one pair of units for each pair of hosts, both directions over the same instances."""
    pair: dict[tuple[int, int], tuple[int, int]] = {}
    rows: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for k in chosen.tolist():
        span = slice(edges[k], edges[k + 1])
        unit, start, end = spans.unit[span], spans.start_ns[span], spans.end_ns[span]
        _, first = np.unique(host[unit], return_index=True)
        tau = float(spans.tau[span].mean())
        for i in first.tolist():
            for j in first.tolist():
                a, b = int(host[unit[i]]), int(host[unit[j]])
                if a == b:
                    continue
                mine = (int(unit[i]), int(unit[j]))
                # A drift is that of two devices: bounds of others would carry their biases.
                if pair.setdefault((a, b), mine) == mine:
                    rows.setdefault((a, b), []).append((tau, float(end[i] - start[j])))
    found = {}
    for key, values in rows.items():
        table = np.array(values)
        found[key] = (table[:, 0], table[:, 1])
    return {key: value for key, value in found.items() if value[0].size == found.get(key[::-1], value)[0].size}
