"""A long host synchronization that is hardly a stall: the device works for nearly all of it.

host      L L L ──────────── sync: 30 ms ────────────
compute   [ kernels: 28 ms ...................]          idle only while the host wakes up late
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import EventQuery, EventRecord, StreamSync, StreamWait
from critpath.sim.kernels import GEMM_NVJET
from critpath.sim.program import Costs, Job
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "HostSync"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSync(Options):
    """Options of `host_sync`."""

    busy_ms: float = 28.0
    wake_ms: float = 2.0
    """How late the host notices that the device is done [ms]."""
    queries: int = 5
    """Event queries before the sync, none of which waits."""


def job(options: HostSync) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = []
    for rank in range(options.ranks):
        place = seat(rank, options.ranks)
        main = Script(Variation(options.seed, rank, spread=0.0))
        for step in range(options.steps):
            with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
                for _ in range(7):
                    main.kernel(place.compute, GEMM_NVJET, options.busy_ms / 7 * 1_000)
                main.add(EventRecord(place.compute, 1), StreamWait(place.copies_out, 1))
                main.add(*(EventQuery(1, place.compute) for _ in range(options.queries)))
                main.add(StreamSync(place.compute))
        reports.append(rank_report(place, (main.thread(place.pid, "python"),), seed=options.seed))
    costs = Costs(sync_wake_ns=round(options.wake_ms * 1_000_000))
    return Job(tuple(reports), costs, graph_trace=options.graph_trace)


SCENARIO = Scenario("host_sync", "a 30 ms synchronization while the device is busy for 28 of it", HostSync, job)
