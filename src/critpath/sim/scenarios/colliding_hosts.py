"""Two hosts whose captures have every id in common: process, threads, streams, correlations, event syncs.

Only host names, clocks and GPU UUIDs differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from critpath.sim.instructions import Communicator
from critpath.sim.program import Job, Report
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.scenarios.reduced_layers import ReducedLayers, reduced_layers
from critpath.sim.scenarios.scenario import Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "CollidingHosts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollidingHosts(ReducedLayers):
    """Options of `colliding_hosts`; every rank has a host of its own."""

    ranks: int = 2
    slowdown: float = 1.3
    """How much longer the last rank's compute kernels run."""


def job(options: CollidingHosts) -> Job:
    """One report a host."""
    group = Communicator("dp", options.ranks)
    return Job(tuple(_report(rank, group, options) for rank in range(options.ranks)), graph_trace=options.graph_trace)


def _report(rank: int, group: Communicator, options: CollidingHosts) -> Report:
    place = replace(seat(0, options.ranks), rank=rank, hostname=f"node{rank}")
    main = Script(Variation(options.seed, rank), EventPool(size=2))
    reduced_layers(main, place, group, options)
    slowdown = options.slowdown if rank == options.ranks - 1 else 1.0
    threads = (main.thread(place.pid, "python", dispatch_ns=2_500),)
    return rank_report(place, threads, seed=options.seed, device_slowdown=slowdown)


SCENARIO = Scenario("colliding_hosts", "two hosts whose captures share every id", CollidingHosts, job)
