"""A copy fills the gap in compute while the kernel behind the gap waits for a collective.

compute   [kernels]                    [kernels]      waits for the all-reduce, and for nothing else
comm               [all-reduce .......]
copies             [checkpoint to host]               as long as the gap, nobody waits for it
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, CopyDirection, StreamSync
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "CopyGap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyGap(Options):
    """Options of `copy_gap`."""

    ranks: int = 2
    blocks: int = 6
    all_reduce_us: float = 800.0
    copy_share: float = 0.96
    """Length of the copy as a share of the all-reduce's."""
    gbps: float = 24.0


def job(options: CopyGap) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    return Job(tuple(_report(place, group, options) for place in seats), graph_trace=options.graph_trace)


def _report(place: Seat, group: Communicator, options: CopyGap) -> Report:
    main = Script(Variation(options.seed, place.rank, spread=0.01), EventPool())
    size = round(options.copy_share * options.all_reduce_us * options.gbps * 1_000)
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.blocks):
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.compute, place.comm)
                main.edge(place.compute, place.copies_out)
                main.collective(place.comm, group, "all_reduce", 16_777_216, options.all_reduce_us)
                main.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, size, gbps=options.gbps)
                main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=options.seed)


SCENARIO = Scenario("copy_gap", "a copy in a gap whose waiter needed a collective", CopyGap, job)
