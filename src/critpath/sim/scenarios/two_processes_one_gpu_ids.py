"""Two processes in one report whose every id is equal: correlations, contexts, streams, events, device ordinals.

Each process sees one GPU of its own and calls it device 0, so nothing but the process tells their rows apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from critpath.sim.instructions import Communicator
from critpath.sim.program import Clock, Job, Process, Report
from critpath.sim.scenarios.cluster import START_NS, seat
from critpath.sim.scenarios.reduced_layers import ReducedLayers, reduced_layers
from critpath.sim.scenarios.scenario import Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "TwoProcesses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoProcesses(ReducedLayers):
    """Options of `two_processes_one_gpu_ids`; `ranks` is the number of processes."""

    ranks: int = 2
    all_reduce_us: float = 700.0
    slowdown: float = 1.3
    """How much longer the last process's compute kernels run."""


def job(options: TwoProcesses) -> Job:
    """One report with every process."""
    group = Communicator("dp", options.ranks)
    processes = tuple(_process(rank, group, options) for rank in range(options.ranks))
    environment = (("WORLD_SIZE", str(options.ranks)), ("MASTER_PORT", "29500"))
    report = Report("node0", "node0", processes, Clock(START_NS - 2_500_000_000), environment)
    return Job((report,), graph_trace=options.graph_trace)


def _process(rank: int, group: Communicator, options: TwoProcesses) -> Process:
    place = seat(0, options.ranks)
    main = Script(Variation(options.seed, rank), EventPool(size=2))
    reduced_layers(main, place, group, options)
    pid = place.pid + 137 * rank
    last = rank == options.ranks - 1
    process = Process(
        pid=pid,
        name="python",
        rank=rank,
        streams=place.streams,
        threads=(main.thread(pid, "python", dispatch_ns=3_500),),
        start_ns=START_NS + 400_000 * rank,
        visible_gpus=(rank,),
    )
    return replace(process, device_slowdown=options.slowdown) if last else process


SCENARIO = Scenario(
    "two_processes_one_gpu_ids", "two processes in one report with equal ids throughout", TwoProcesses, job
)
