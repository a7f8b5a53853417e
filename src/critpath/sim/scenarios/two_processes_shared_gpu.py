"""Two processes on one GPU that take turns or share it: each one's kernels last longer than they would alone.

training    [####----####----####----]    resident for the whole time, progress in its own turns only
other           [####----####----####]
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import StreamSync
from critpath.sim.mechanisms import Mechanisms, Sharing
from critpath.sim.program import Clock, Job, Process, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import START_NS, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "SharedGpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedGpu(Options):
    """Options of `two_processes_shared_gpu`; `ranks` is the number of processes."""

    ranks: int = 2
    layers: int = 6
    sharing: str = "sliced"
    """How they share it: sliced, resident or free."""
    slice_us: float = 400.0
    """How long a turn lasts [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.sharing not in list(Sharing):
            raise OptionValueError(f"sharing is one of {list(Sharing)}, not {self.sharing!r}")


def job(options: SharedGpu) -> Job:
    """One report with every process."""
    processes = tuple(_process(rank, options) for rank in range(options.ranks))
    report = Report("node0", "node0", processes, Clock(START_NS - 2_500_000_000), (("WORLD_SIZE", "1"),))
    mechanisms = Mechanisms(sharing=Sharing(options.sharing), slice_ns=round(options.slice_us * 1_000))
    return Job((report,), graph_trace=options.graph_trace, mechanisms=mechanisms)


def _process(rank: int, options: SharedGpu) -> Process:
    place = seat(0, 1)
    main = Script(Variation(options.seed, rank))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.layers):
                main.kernels(place.compute, transformer.ATTENTION)
                main.kernels(place.compute, transformer.MLP)
            main.add(StreamSync(place.compute))
    pid = place.pid + 137 * rank
    return Process(
        pid=pid,
        name="python",
        rank=None,
        streams=place.streams,
        threads=(main.thread(pid, "python", dispatch_ns=2_500),),
        start_ns=START_NS + 700_000 * rank,
        visible_gpus=(0,),
    )


SCENARIO = Scenario("two_processes_shared_gpu", "two processes that share one GPU", SharedGpu, job)
