"""A capture whose own edges lengthen the steps at them: profiler start in the first, a buffer flush in the last.

first: [kernels ─ profiler start ─ kernels]   then steady steps   last: [kernels ─ flush ─ kernels], profiler stop
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import BufferFlush, CopyDirection, ProfilerStart, ProfilerStop, StreamSync
from critpath.sim.program import Job
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "BoundaryFlush"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryFlush(Options):
    """Options of `boundary_flush`."""

    steps: int = 8
    layers: int = 8
    start_ms: float = 15.0
    """Length of the profiler's start inside the first step [ms]."""
    flush_ms: float = 40.0
    """Length of the buffer flush [ms]."""
    flush_step: int = -1
    """The step that the flush falls into, from the end when negative."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not -self.steps <= self.flush_step < self.steps:
            raise OptionValueError(f"flush_step must name one of {self.steps} steps, not {self.flush_step}")


def job(options: BoundaryFlush) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = []
    for rank in range(options.ranks):
        place = seat(rank, options.ranks)
        main = Script(Variation(options.seed, rank))
        for step in range(options.steps):
            with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
                main.kernels(place.compute, transformer.INPUT)
                if step == 0:
                    main.add(ProfilerStart(round(options.start_ms * 1_000_000)))
                for layer in range(options.layers):
                    main.kernels(place.compute, transformer.ATTENTION)
                    main.kernels(place.compute, transformer.MLP)
                    if layer == options.layers // 2 and step == options.flush_step % options.steps:
                        main.add(BufferFlush(round(options.flush_ms * 1_000_000)))
                main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
                main.add(StreamSync(place.compute))
        main.add(ProfilerStop())
        reports.append(rank_report(place, (main.thread(place.pid, "python", dispatch_ns=3_500),), seed=options.seed))
    return Job(tuple(reports), graph_trace=options.graph_trace)


SCENARIO = Scenario("boundary_flush", "the profiler lengthens the steps at the capture's edges", BoundaryFlush, job)
