"""Samples of whole-device metrics beside operators that are alone, together, too short for a sample, or only waiting.

compute   [gemm ............]    [tiny]   [gemm ...]               tiny: shorter than the interval between samples
beside                                    [pointwise ...]          two operators share every sample
comm                                                     [all-reduce: waits ········ moves]    100 % active, 2 % issue
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.kernels import ELEMENTWISE_ADD, GELU, GEMM_BIAS, GEMM_NVJET
from critpath.sim.program import Job, Report
from critpath.sim.recording import Recording
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation
from critpath.sim.spoils import Diagnostic, Spoil

__all__ = ["SCENARIO", "GpuMetrics"]

_DENIED = "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMetrics(Options):
    """Options of `gpu_metrics`."""

    ranks: int = 2
    steps: int = 4
    period_us: float = 100.0
    """Time between samples [µs]."""
    tiny_us: float = 5.0
    wait_us: float = 900.0
    """How long the first rank waits in the collective [µs]."""
    denied: bool = False
    """Whether the profiler had no permission to sample."""


def job(options: GpuMetrics) -> Job:
    """One report a rank; each numbers its metrics in an order of its own."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    reports = tuple(_report(place, group, options) for place in seats)
    recording = Recording(metrics_period_ns=0 if options.denied else round(options.period_us * 1_000))
    spoils: tuple[Spoil, ...] = (Diagnostic(text=_DENIED, severity=2, scope="none"),) if options.denied else ()
    return Job(reports, graph_trace=options.graph_trace, recording=recording, spoils=spoils)


def _report(place: Seat, group: Communicator, options: GpuMetrics) -> Report:
    main = Script(Variation(options.seed, place.rank, spread=0.0), EventPool())
    # Ranks that start apart would wait for each other in every collective.
    main.collective(place.comm, group, "all_reduce", 8, 12)
    main.add(StreamSync(place.comm))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernel(place.compute, GEMM_NVJET, 1_200)
            main.cpu("alone", 1_400)
            main.kernel(place.compute, GELU, options.tiny_us)
            main.cpu("apart", 300)
            main.edge(place.compute, place.copies_in)
            main.kernel(place.compute, GEMM_BIAS, 800)
            main.kernel(place.copies_in, ELEMENTWISE_ADD, 800)
            if place.rank:
                main.kernel(place.compute, GEMM_NVJET, options.wait_us)
            main.edge(place.compute, place.comm)
            main.collective(place.comm, group, "all_reduce", 50_331_648, 400)
            main.edge(place.comm, place.compute)
            main.kernel(place.compute, ELEMENTWISE_ADD, 120)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=options.seed)


SCENARIO = Scenario("gpu_metrics", "device-wide samples beside operators of each kind", GpuMetrics, job)
