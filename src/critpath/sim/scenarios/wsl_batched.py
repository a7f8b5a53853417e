"""Launches that the driver holds back and hands over together: no call's time explains when its op ran.

host      L L L L L L L L L L L L ─ sync          calls return at once
queue     ················ handed over
compute                    [k][k][k][k][k]        the device waited for no launch call, and no producer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import CopyDirection, StreamSync
from critpath.sim.kernels import ELEMENTWISE_ADD, GELU, GEMM_NVJET, LAYER_NORM
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "WslBatched"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WslBatched(Options):
    """Options of `wsl_batched`."""

    blocks: int = 20
    """Groups of four kernels a step."""
    batch: int = 48
    """Calls that are handed over together."""
    cpu_us: float = 15.0
    """Host work before each kernel [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.batch < 1:
            raise OptionValueError(f"batch must be at least 1, not {self.batch}")


def job(options: WslBatched) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: _threads(place, options))
    return Job(reports, graph_trace=options.graph_trace, mechanisms=Mechanisms(batch=options.batch))


def _threads(place: Seat, options: WslBatched) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    block = ((LAYER_NORM, 6.0), (GEMM_NVJET, 22.0), (GELU, 5.0), (ELEMENTWISE_ADD, 4.0))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            for _ in range(options.blocks):
                for kernel, us in block:
                    main.cpu("python", options.cpu_us)
                    main.kernel(place.compute, kernel, us)
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python"),)


SCENARIO = Scenario("wsl_batched", "launches held back and handed over together", WslBatched, job)
