"""Two streams that always run together, and a kernel that straddles the edge between steps.

stream 13  [a][a][a][a] sync  [a][a][a][a] sync          kernels add up to twice the wall time
stream 14  [b][b][b][b.....straddles.....][b] ...
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import StreamSync
from critpath.sim.kernels import GEMM_BIAS, GEMM_NVJET
from critpath.sim.program import Job
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "OverlappingStreams"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlappingStreams(Options):
    """Options of `overlapping_streams`."""

    kernels: int = 10
    kernel_us: float = 1_000.0
    straddle_us: float = 600.0
    """How far the second stream lags behind the first [µs]."""


def job(options: OverlappingStreams) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = []
    for rank in range(options.ranks):
        place = seat(rank, options.ranks)
        main = Script(Variation(options.seed, rank, spread=0.0))
        main.kernel(place.copies_in, GEMM_BIAS, options.straddle_us)
        for step in range(options.steps):
            with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
                for _ in range(options.kernels):
                    main.kernel(place.comm, GEMM_NVJET, options.kernel_us)
                    main.kernel(place.copies_in, GEMM_BIAS, options.kernel_us)
                main.add(StreamSync(place.comm))
        reports.append(rank_report(place, (main.thread(place.pid, "python"),), seed=options.seed))
    return Job(tuple(reports), graph_trace=options.graph_trace)


SCENARIO = Scenario(
    "overlapping_streams", "two streams in parallel, one kernel across the step's edge", OverlappingStreams, job
)
