"""A host far ahead of its device: launch calls block because the queue is full, and nothing is late.

host      L L L L L L L L [L ─ full ──][L ─ full ──] ...   long calls, yet the device never waits for one
compute   [k][k][k][k][k][k][k][k][k][k][k][k][k][k] ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import StreamSync
from critpath.sim.kernels import GELU, GEMM_NVJET, LAYER_NORM
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "QueueFull"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFull(Options):
    """Options of `queue_full`."""

    steps: int = 4
    kernels: int = 240
    capacity: int = 64
    """Launches that the device holds."""
    kernel_us: float = 40.0
    sync_every: int = 0
    """Steps between synchronizations; 0 is never."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.capacity < 1 or self.kernels < 1:
            raise OptionValueError(f"capacity and kernels must be at least 1: {self}")


def job(options: QueueFull) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: _threads(place, options))
    mechanisms = Mechanisms(launch_queue=options.capacity)
    return Job(reports, graph_trace=options.graph_trace, mechanisms=mechanisms)


def _threads(place: Seat, options: QueueFull) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    cycle = (LAYER_NORM, GEMM_NVJET, GELU)
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            for place_in_step in range(options.kernels):
                main.kernel(place.compute, cycle[place_in_step % len(cycle)], options.kernel_us)
            if options.sync_every and step % options.sync_every == 0:
                main.add(StreamSync(place.compute))
    main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=1_500),)


SCENARIO = Scenario("queue_full", "launch calls that block because the device's queue is full", QueueFull, job)
