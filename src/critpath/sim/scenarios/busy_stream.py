"""A step that no stream's span shows: the busiest covers part of it, a sparse one more than all of it.

step      |─────────────────────────────|────────
stream 7   [kernels: 60 % of the step]
stream 14  ▪                           [▪▪▪▪▪]     first to last: more than a step
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import StreamSync
from critpath.sim.kernels import ADAM, GELU, GEMM_NVJET
from critpath.sim.program import Job
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "BusyStream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyStream(Options):
    """Options of `busy_stream`."""

    step_ms: float = 40.0
    busy_share: float = 0.6
    """Part of the step that the busiest stream spans."""
    tail_ms: float = 4.0
    """How far the sparse stream reaches into the next step [ms]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0 < self.busy_share < 1:
            raise OptionValueError(f"busy_share must be between 0 and 1, not {self.busy_share}")


def job(options: BusyStream) -> Job:
    """One process with one device a rank; ranks don't meet."""
    busy_us = options.step_ms * options.busy_share * 1_000
    idle_us = options.step_ms * 1_000 - busy_us
    reports = []
    for rank in range(options.ranks):
        place = seat(rank, options.ranks)
        main = Script(Variation(options.seed, rank, spread=0.002))
        for step in range(options.steps):
            with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
                main.kernel(place.compute, GEMM_NVJET, busy_us / 24)
                if step % 2:
                    main.kernel(place.copies_in, GELU, 100)
                for _ in range(23):
                    main.kernel(place.compute, GEMM_NVJET, busy_us / 24)
                main.add(StreamSync(place.compute))
                main.cpu("evaluate", idle_us)
                if step % 2:
                    main.kernel(place.copies_in, ADAM, options.tail_ms * 1_000)
        reports.append(rank_report(place, (main.thread(place.pid, "python"),), seed=options.seed))
    return Job(tuple(reports), graph_trace=options.graph_trace)


SCENARIO = Scenario("busy_stream", "the busiest stream covers part of the step, a sparse one more", BusyStream, job)
