"""Matched collectives of devices with wrong clocks, and the true clocks beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.rank.collective_ops import CollectiveOps
from critpath.rank.windows import HostSteps, Windows
from critpath.run.units import RunUnit

UTC = 1_780_000_000_000_000_000


@dataclass(frozen=True)
class World:
    """`ahead(unit, t)`: what the unit's rebased clock is ahead of true time [ns]."""

    units: list[RunUnit]
    offset_ns: npt.NDArray[np.float64]
    drift: npt.NDArray[np.float64]
    start: float

    def ahead(self, unit: int, true_s: float) -> float:
        return float(self.offset_ns[unit] + self.drift[unit] * true_s * 1e9)


def windows(edges: I64, labels: tuple[str, ...] | None = None) -> Windows:
    n = edges.size - 1
    return Windows(
        kind="nvtx",
        text="iteration #",
        scope="period",
        labels=labels or tuple(f"iteration {i}" for i in range(n)),
        index=np.arange(n, dtype=np.int64),
        starts_ns=edges[:-1],
        ends_ns=edges[1:],
        outside_ns=np.zeros(n, np.int64),
        host_steps=HostSteps(labels or tuple(f"iteration {i}" for i in range(n)), edges[:-1], edges[1:]),
    )


def collectives(
    start: I64,
    end: I64,
    communicator: I64,
    steps: Windows,
    kinds: tuple[str, ...] = ("all_reduce",),
    kind: I64 | None = None,
) -> CollectiveOps:
    n = start.size
    order = np.argsort(start, kind="stable")
    return CollectiveOps(
        start_ns=start[order],
        end_ns=end[order],
        window=steps.of(start[order]).astype(np.int32),
        step=steps.of(start[order]).astype(np.int32),
        kind=(np.zeros(n) if kind is None else kind[order]).astype(np.int16),
        kinds=kinds,
        name=np.zeros(n, np.int16),
        names=("ncclDevKernel_AllReduce_Sum_bf16_RING_LL",),
        lane=np.unique(communicator[order], return_inverse=True)[1].astype(np.int16),
        communicator=communicator[order],
        bytes=np.full(n, NULL, np.int64),
        calls=np.ones(n, np.int32),
        peer=np.full(n, NULL, np.int64),
        sends=np.zeros(n, np.bool_),
        blocking_ns=np.zeros(n, np.int64),
        nccl=np.ones(n, np.bool_),
    )


def unit(place: int, host: str, ops: CollectiveOps, steps: Windows, **more: object) -> RunUnit:
    told: dict[str, object] = {
        "id": f"u{place}", "place": place, "rank": place, "part": None, "host": host, "zero_ns": UTC,
        "shared_clock": True, "windows": steps, "collectives": ops, "memberships": (), "counts": {"gemm": 10.0},
        "totals": {}, "kernels": {},
    }  # fmt: skip
    return RunUnit(**(told | more))  # type: ignore[arg-type]


def world(
    seed: int, *, hosts: int = 4, gpus: int = 4, seconds: float = 3.0, steps: int = 20, a_step: int = 14,
    ntp_ms: float = 50.0, drift_ppm: float = 30.0, bias_us: float = 12.0, ring_us: float = 12.0, exit_us: float = 3.0,
    outliers: float = 0.005,
) -> World:  # fmt: skip
    """Tensor-parallel groups on each host, data-parallel groups across, and one of all: `a_step` of each a step."""
    rng = np.random.default_rng(seed)
    n = hosts * gpus
    host = np.arange(n) // gpus
    offset = rng.uniform(-ntp_ms, ntp_ms, hosts)[host] * 1e6 + rng.normal(0, bias_us * 1e3, n)
    drift = rng.uniform(-drift_ppm, drift_ppm, hosts)[host] * 1e-6
    groups = [np.flatnonzero(host == h) for h in range(hosts)]
    groups += [np.flatnonzero(np.arange(n) % gpus == g) for g in range(gpus)]
    groups.append(np.arange(n))
    starts: list[list[float]] = [[] for _ in range(n)]
    ends: list[list[float]] = [[] for _ in range(n)]
    who: list[list[int]] = [[] for _ in range(n)]
    edges = np.linspace(0, seconds * 1e9, steps + 1)
    for c, group in enumerate(groups):
        if group.size < 2:
            continue
        ring = rng.uniform(0, ring_us * 1e3, group.size)
        # Instances of one communicator follow each other.
        times = (np.arange(steps * a_step) + rng.uniform(0.1, 0.9, steps * a_step)) * (seconds * 1e9 / (steps * a_step))
        arrive = times[:, None] + rng.exponential(30e3, (times.size, group.size))
        done = arrive.max(axis=1) + rng.uniform(25e3, 200e3, times.size)
        left = done[:, None] + ring + rng.exponential(exit_us * 1e3, arrive.shape)
        late = rng.random(arrive.shape) < outliers
        left = left + late * rng.uniform(50e3, 2_000e3, arrive.shape)
        for i, u in enumerate(group.tolist()):
            starts[u] += arrive[:, i].tolist()
            ends[u] += left[:, i].tolist()
            who[u] += [c + 1] * times.size

    def local(u: int, true: npt.NDArray[np.float64]) -> I64:
        return np.rint(true * (1 + drift[u]) + offset[u]).astype(np.int64)

    units = []
    for u in range(n):
        w = windows(local(u, edges))
        ops = collectives(local(u, np.array(starts[u])), local(u, np.array(ends[u])), np.array(who[u], np.int64), w)
        units.append(unit(u, f"node{host[u]}", ops, w))
    return World(units, offset, drift, seconds)
