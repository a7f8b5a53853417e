"""Overlap that isn't free: the same kernels run longer while a collective is on their GPU.

compute   [gemm][gemm][gemm ···][gemm ···][gemm ···][gemm]     factor 1.4 beside the collective
comm                  [all-reduce ..............]
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "Contention"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contention(Options):
    """Options of `contention`."""

    ranks: int = 2
    layers: int = 6
    factor: float = 1.4
    """How much longer compute kernels take beside communication."""
    all_reduce_us: float = 900.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.factor < 1:
            raise OptionValueError(f"factor must be at least 1, not {self.factor}")


def job(options: Contention) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    reports = tuple(_report(place, group, options) for place in seats)
    return Job(reports, graph_trace=options.graph_trace, mechanisms=Mechanisms(contention=options.factor))


def _report(place: Seat, group: Communicator, options: Contention) -> Report:
    main = Script(Variation(options.seed, place.rank, spread=0.004), EventPool())
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for layer in range(options.layers):
                main.kernels(place.compute, transformer.MLP_GRADIENT)
                # Every other layer has the device to itself, so that each kernel runs alone and beside.
                if layer % 2 == 0:
                    main.edge(place.compute, place.comm)
                    main.collective(place.comm, group, "all_reduce", 25_165_824, options.all_reduce_us)
            main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=1_500),), seed=options.seed)


SCENARIO = Scenario("contention", "kernels that run longer beside communication", Contention, job)
