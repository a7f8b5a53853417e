"""Eight processes in one report, each with one GPU that it calls device 0.

Process ids differ and so do the GPUs behind device 0; every other id repeats.
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator
from critpath.sim.program import Clock, Job, Process, Report
from critpath.sim.scenarios.cluster import GPUS_A_HOST, START_NS, seat
from critpath.sim.scenarios.reduced_layers import ReducedLayers, reduced_layers
from critpath.sim.scenarios.scenario import Scenario
from critpath.sim.script import EventPool, Script, Variation
from critpath.sim.spoils import LostProcess, Spoil

__all__ = ["SCENARIO", "EightProcesses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EightProcesses(ReducedLayers):
    """Options of `eight_processes`; `ranks` is the number of processes."""

    ranks: int = 8
    steps: int = 4
    layers: int = 2
    all_reduce_us: float = 400.0
    uncaptured: int = 0
    """How many processes, the last ones, have no device rows."""

    def __post_init__(self) -> None:
        ReducedLayers.__post_init__(self)
        if self.ranks > GPUS_A_HOST or not 0 <= self.uncaptured < self.ranks:
            raise OptionValueError(f"at most {GPUS_A_HOST} processes, at least one of them captured: {self}")


def job(options: EightProcesses) -> Job:
    """One report with every process."""
    group = Communicator("dp", options.ranks)
    processes = tuple(_process(rank, group, options) for rank in range(options.ranks))
    environment = (("WORLD_SIZE", str(options.ranks)), ("MASTER_PORT", "29500"))
    report = Report("node0", "node0", processes, Clock(START_NS - 2_500_000_000), environment)
    lost = processes[options.ranks - options.uncaptured :]
    spoils: tuple[Spoil, ...] = tuple(LostProcess(report="node0", pid=process.pid) for process in lost)
    return Job((report,), graph_trace=options.graph_trace, spoils=spoils)


def _process(rank: int, group: Communicator, options: EightProcesses) -> Process:
    place = seat(0, options.ranks)
    main = Script(Variation(options.seed, rank), EventPool(size=4))
    reduced_layers(main, place, group, options)
    pid = place.pid + 137 * rank
    return Process(
        pid=pid,
        name="python",
        rank=rank,
        streams=place.streams,
        threads=(main.thread(pid, "python", dispatch_ns=1_500),),
        start_ns=START_NS + 150_000 * rank,
        visible_gpus=(rank,),
    )


SCENARIO = Scenario("eight_processes", "eight processes in one report, each with its own device 0", EightProcesses, job)
