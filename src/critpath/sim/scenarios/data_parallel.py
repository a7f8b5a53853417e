"""Data-parallel training: gradients are all-reduced in buckets on a side stream while backward goes on.

main      iteration ▸ forward ▸ ··· hands over ··· ▸ optimizer ▸ loss.item()
autograd              backward: kernels, and for each bucket: record → all-reduce stream waits → all-reduce
compute   [forward........][backward.....................] wait [optimizer]
comm                              [bucket 0]  [bucket 1] [last bucket: exposed]
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import (
    Communicator,
    CopyDirection,
    Memset,
    StreamSync,
    hand_over,
)
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "DataParallel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataParallel(Options):
    """Options of `data_parallel`."""

    ranks: int = 4
    layers: int = 12
    bucket_layers: int = 3
    """Layers whose gradients share one all-reduce."""
    bucket_ms: float = 2.2
    """Transfer time of a bucket's all-reduce [ms]."""
    slow_rank: int = -1
    """A rank whose compute kernels all run longer; -1 is none."""
    slowdown: float = 1.25
    """How much longer."""
    item: bool = True
    """Whether every step reads the loss back to the host."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not -1 <= self.slow_rank < self.ranks:
            raise OptionValueError(f"slow_rank must be -1 or a rank below {self.ranks}, not {self.slow_rank}")


def job(options: DataParallel) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    reports = tuple(_report(seat(rank, options.ranks), group, options) for rank in range(options.ranks))
    return Job(reports, graph_trace=options.graph_trace)


def _report(place: Seat, group: Communicator, options: DataParallel) -> Report:
    variation, events = Variation(options.seed, place.rank), EventPool()
    main, autograd = Script(variation, events), Script(variation, events)
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            (begin, end), awaited, done = hand_over(f"backward {step}")
            _forward(main, place, options)
            with main.range("backward"):
                main.add(begin, end)
            autograd.add(awaited)
            _backward(autograd, place, group, options)
            autograd.add(done)
            _optimizer(main, place, options)
    threads = (
        main.thread(place.pid, "python", dispatch_ns=3_500),
        autograd.thread(place.pid + 61, "pt_autograd_0", dispatch_ns=4_200),
    )
    slowdown = options.slowdown if place.rank == options.slow_rank else 1.0
    return rank_report(place, threads, seed=options.seed, device_slowdown=slowdown)


def _forward(main: Script, place: Seat, options: DataParallel) -> None:
    main.cpu("next batch", 180)
    main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 1_048_576, gbps=24.0)
    main.add(Memset(place.compute, 4_194_304, 3_100))
    with main.range("forward"):
        main.kernels(place.compute, transformer.INPUT)
        for _ in range(options.layers):
            main.kernels(place.compute, transformer.ATTENTION)
            main.kernels(place.compute, transformer.MLP)
        main.kernels(place.compute, transformer.HEAD)


def _backward(autograd: Script, place: Seat, group: Communicator, options: DataParallel) -> None:
    """Gradients from the last layer to the first; each full bucket is reduced behind the kernels that filled it."""
    autograd.kernels(place.compute, transformer.HEAD_GRADIENT)
    for layer in reversed(range(options.layers)):
        autograd.kernels(place.compute, transformer.MLP_GRADIENT)
        autograd.kernels(place.compute, transformer.ATTENTION_GRADIENT)
        if layer % options.bucket_layers == 0:
            autograd.edge(place.compute, place.comm)
            size = 25_165_824 * options.bucket_layers
            autograd.collective(place.comm, group, "all_reduce", size, options.bucket_ms * 1_000)


def _optimizer(main: Script, place: Seat, options: DataParallel) -> None:
    main.edge(place.comm, place.compute)
    with main.range("optimizer"):
        main.kernels(place.compute, transformer.NORM)
        for _ in range(max(1, options.layers // 3)):
            main.kernels(place.compute, transformer.OPTIMIZER)
    if options.item:
        main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
        main.add(StreamSync(place.compute))


SCENARIO = Scenario("data_parallel", "bucketed gradient all-reduce beside backward", DataParallel, job)
