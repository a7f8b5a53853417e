"""Tensor-parallel training: every block ends in an all-reduce that the next kernel needs.

compute   [attention]        [mlp]        [attention] ...
comm                 [ar]         [ar]                      both edges are events: record → wait
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, StreamSync, hand_over
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "TensorParallel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorParallel(Options):
    """Options of `tensor_parallel`."""

    ranks: int = 4
    layers: int = 8
    all_reduce_us: float = 190.0
    """Transfer time of one all-reduce [µs]."""
    slow_rank: int = -1
    """A rank whose compute kernels all run longer; -1 is none."""
    slowdown: float = 1.25

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not -1 <= self.slow_rank < self.ranks:
            raise OptionValueError(f"slow_rank must be -1 or a rank below {self.ranks}, not {self.slow_rank}")


def job(options: TensorParallel) -> Job:
    """One report a rank; the layers are split over all ranks."""
    group = Communicator("tp", options.ranks)
    reports = tuple(_report(seat(rank, options.ranks), group, options) for rank in range(options.ranks))
    return Job(reports, graph_trace=options.graph_trace)


def _report(place: Seat, group: Communicator, options: TensorParallel) -> Report:
    variation, events = Variation(options.seed, place.rank), EventPool()
    main, autograd = Script(variation, events), Script(variation, events)

    def reduced(script: Script, kernels: transformer.Sequence) -> None:
        script.kernels(place.compute, transformer.scaled(kernels, 2 / options.ranks))
        script.edge(place.compute, place.comm)
        script.collective(place.comm, group, "all_reduce", 33_554_432, options.all_reduce_us)
        script.edge(place.comm, place.compute)

    for step in range(options.steps):
        (begin, end), awaited, done = hand_over(f"backward {step}")
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.cpu("next batch", 150)
            main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 262_144, gbps=24.0)
            with main.range("forward"):
                main.kernels(place.compute, transformer.INPUT)
                for _ in range(options.layers):
                    reduced(main, transformer.ATTENTION)
                    reduced(main, transformer.MLP)
                main.kernels(place.compute, transformer.scaled(transformer.HEAD, 1 / options.ranks))
            with main.range("backward"):
                main.add(begin, end)
            autograd.add(awaited)
            autograd.kernels(place.compute, transformer.scaled(transformer.HEAD_GRADIENT, 1 / options.ranks))
            for _ in range(options.layers):
                reduced(autograd, transformer.MLP_GRADIENT)
                reduced(autograd, transformer.ATTENTION_GRADIENT)
            autograd.add(done)
            with main.range("optimizer"):
                main.kernels(place.compute, transformer.NORM)
                main.kernels(place.compute, transformer.OPTIMIZER)
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            main.add(StreamSync(place.compute))
    threads = (
        main.thread(place.pid, "python", dispatch_ns=3_000),
        autograd.thread(place.pid + 61, "pt_autograd_0", dispatch_ns=3_500),
    )
    slowdown = options.slowdown if place.rank == options.slow_rank else 1.0
    return rank_report(place, threads, seed=options.seed, device_slowdown=slowdown)


SCENARIO = Scenario("tensor_parallel", "all-reduces on the critical path of every block", TensorParallel, job)
