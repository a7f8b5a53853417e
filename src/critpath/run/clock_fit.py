"""Offsets, drifts and biases of clocks from ends that causality ties: a robust least-squares fit on a graph.

    end of instance k on unit u = T_k + offset of its host + drift of its host * time + bias of its device + noise

T_k is eliminated by taking each instance's weighted mean off; what is left is solved by conjugate gradients, so that
memory grows with the ends and nothing else. Weights fall with the residuals: Huber's first, then Tukey's, since a wrong
match or a delayed exit must not move a clock. Source of the method: the shared figures in docs/method/ranks.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Ends", "Fit", "fit", "residuals"]

F64 = npt.NDArray[np.float64]

BIAS_PRIOR_NS = 10_000.0
"""Devices of one host differ by about this much; it keeps offset and bias apart."""

_HUBER, _TUKEY = 1.345, 3.0
_HUBER_ROUNDS, _TUKEY_ROUNDS = 5, 6
_LEAST_SCALE_NS = 500.0
_CG_ROUNDS, _CG_TOLERANCE = 400, 1e-9


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of matched collectives, shape (n,).

    Attributes:
        instance, unit, family: dense numbers; a family shares one scale of noise.
        host: dense number of the unit's host.
        end_ns: relative to the reference time.
        tau: time relative to the reference time [s].
    """

    instance: npt.NDArray[np.int64]
    unit: npt.NDArray[np.int64]
    family: npt.NDArray[np.int64]
    host: npt.NDArray[np.int64]
    end_ns: F64
    tau: F64

    def where(self, rows: npt.NDArray[np.bool_]) -> Ends:
        """Some of the ends."""
        return Ends(
            self.instance[rows], self.unit[rows], self.family[rows], self.host[rows], self.end_ns[rows], self.tau[rows]
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """Offset [ns] and drift [ns/s] by host, bias [ns] by unit; those of the reference host are 0."""

    offset: F64
    drift: F64
    bias: F64

    def at(self, host: npt.NDArray[np.int64], unit: npt.NDArray[np.int64], tau: F64) -> F64:
        """What clocks are ahead of the reference [ns], shape of `unit`."""
        ahead: F64 = self.offset[host] + self.drift[host] * tau + self.bias[unit]
        return ahead


def fit(ends: Ends, hosts: int, units: int, reference: int, *, with_drift: bool) -> Fit:
    """The clocks that the ends tell.

    Args:
        ends: of instances with at least two ends.
        hosts: how many hosts there are.
        units: how many units there are.
        reference: the host whose clock the others are told in.
        with_drift: whether clocks may drift against each other.
    """
    system = _System(ends, hosts, units, reference, with_drift=with_drift)
    found = system.solve(np.ones(ends.unit.size))
    for turn in range(_HUBER_ROUNDS + _TUKEY_ROUNDS):
        left = residuals(ends, found)
        scaled = np.abs(left) / _scales(left, ends.family)[ends.family]
        if turn < _HUBER_ROUNDS:
            weight = np.minimum(1.0, _HUBER / np.maximum(scaled, 1e-12))
        else:
            weight = np.where(scaled < _TUKEY, (1 - (scaled / _TUKEY) ** 2) ** 2, 0.0)
        found = system.solve(weight / _scales(left, ends.family)[ends.family] ** 2 * BIAS_PRIOR_NS**2)
    return found


def residuals(ends: Ends, found: Fit) -> F64:
    """What the clocks leave unexplained of each end [ns]: against the middle of its instance's other ends."""
    left = ends.end_ns - found.at(ends.host, ends.unit, ends.tau)
    return left - _medians(left, ends.instance)[ends.instance]


def _medians(values: F64, group: npt.NDArray[np.int64]) -> F64:
    """Median of each group, whose numbers are dense."""
    order = np.lexsort((values, group))
    counts = np.bincount(group)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ordered = values[order]
    middle: F64 = (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2
    return middle


def _scales(left: F64, family: npt.NDArray[np.int64]) -> F64:
    return np.maximum(_LEAST_SCALE_NS, 1.4826 * _medians(np.abs(left), family))


class _System:
    """The normal equations, never written out."""

    def __init__(self, ends: Ends, hosts: int, units: int, reference: int, *, with_drift: bool) -> None:
        self.ends, self.hosts, self.units = ends, hosts, units
        self.span = max(1e-9, float(np.abs(ends.tau).max(initial=0.0)))
        self.tau = ends.tau / self.span
        free = np.ones(2 * hosts + units, np.bool_)
        free[reference] = free[hosts + reference] = False
        free[hosts : 2 * hosts] &= with_drift
        self.free = free

    def solve(self, weight: F64) -> Fit:
        hosts = self.hosts
        right = self._transposed(weight * self._centred(self.ends.end_ns, weight))
        diagonal = self._diagonal(weight)
        found = np.zeros(right.size)
        left = right.copy()
        precise = left / diagonal
        direction, norm = precise.copy(), float(left @ precise)
        enough = norm * _CG_TOLERANCE**2
        for _ in range(_CG_ROUNDS):
            if norm <= enough:
                break
            image = self._apply(direction, weight)
            length = norm / float(direction @ image)
            found += length * direction
            left -= length * image
            precise = left / diagonal
            following = float(left @ precise)
            direction = precise + (following / norm) * direction
            norm = following
        return Fit(found[:hosts], found[hosts : 2 * hosts] / self.span, found[2 * hosts :])

    def _apply(self, values: F64, weight: F64) -> F64:
        e, hosts = self.ends, self.hosts
        told = values[e.host] + values[hosts + e.host] * self.tau + values[2 * hosts + e.unit]
        image = self._transposed(weight * self._centred(told, weight))
        image[2 * hosts :] += values[2 * hosts :]
        return np.where(self.free, image, values)

    def _transposed(self, values: F64) -> F64:
        e = self.ends
        image = np.concatenate(
            [
                np.bincount(e.host, values, self.hosts),
                np.bincount(e.host, values * self.tau, self.hosts),
                np.bincount(e.unit, values, self.units),
            ]
        )
        return np.where(self.free, image, 0.0)

    def _diagonal(self, weight: F64) -> F64:
        e = self.ends
        found = np.concatenate(
            [
                np.bincount(e.host, weight, self.hosts) + 1e-9,
                np.bincount(e.host, weight * self.tau**2, self.hosts) + 1e-9,
                np.bincount(e.unit, weight, self.units) + 1.0,
            ]
        )
        return np.where(self.free, found, 1.0)

    def _centred(self, values: F64, weight: F64) -> F64:
        total = np.bincount(self.ends.instance, weight)
        mean = np.bincount(self.ends.instance, weight * values) / np.maximum(total, 1e-300)
        centred: F64 = values - mean[self.ends.instance]
        return centred
