"""A collective alone on the device, while the next kernel, which doesn't need it, has not been launched.

host      L L L [cpu ...............] L L L           the kernels behind the gap need only what came before it
compute   [kernels]                   [kernels]
comm               [reduce-scatter]                   alone in the gap; only a copy to the host waits for it
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, CopyDirection, StreamSync
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "LateLaunchCollective"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateLaunchCollective(Options):
    """Options of `late_launch_collective`."""

    ranks: int = 2
    blocks: int = 6
    late_us: float = 900.0
    """Host work between the collective and the next launch, beyond the kernels before it [µs]."""
    share: float = 0.9
    """Transfer time as a share of that."""


def job(options: LateLaunchCollective) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    return Job(tuple(_report(place, group, options) for place in seats), graph_trace=options.graph_trace)


def _report(place: Seat, group: Communicator, options: LateLaunchCollective) -> Report:
    main = Script(Variation(options.seed, place.rank, spread=0.01), EventPool())
    block_us = sum(us for _, us in transformer.MLP)
    # Ranks that start apart would wait for each other inside their collectives.
    main.collective(place.comm, group, "all_reduce", 8, 12)
    main.add(StreamSync(place.comm))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.blocks):
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.compute, place.comm)
                main.collective(place.comm, group, "reduce_scatter", 16_777_216, options.share * options.late_us)
                main.cpu("schedule", block_us + options.late_us)
            main.edge(place.comm, place.copies_out)
            main.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, 4_096, gbps=4.0)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python"),), seed=options.seed)


SCENARIO = Scenario(
    "late_launch_collective",
    "a collective alone in a gap whose next kernel was launched late",
    LateLaunchCollective,
    job,
)
