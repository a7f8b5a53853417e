"""A run that its own profiler slows down: the trainer's log has the steps that nobody profiled, and they are shorter.

trainer.log   29.4  29.3  29.4 │ 34.6  34.6  34.7 │ 29.4 ...        overhead rows add up to far less than the difference
                               └─ the capture ────┘
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import BufferFlush, Communicator, CopyDirection, StreamSync
from critpath.sim.program import Job, Report
from critpath.sim.recording import TrainerLog
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "PerturbedCapture"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedCapture(Options):
    """Options of `perturbed_capture`."""

    ranks: int = 2
    layers: int = 4
    slowdown: float = 1.177
    """How much longer profiled steps take than the others."""
    before: int = 9
    """Steps that the log has from before the capture."""
    after: int = 10
    unit: str = "ms"
    """Unit of the log's times: ms or s."""
    flush_us: float = 40.0
    """What the overhead rows of a step add up to [µs]."""
    all_reduce_us: float = 300.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.unit not in ("ms", "s") or self.slowdown <= 0:
            raise OptionValueError(f"unit is ms or s and slowdown above 0, not {self.unit!r} and {self.slowdown}")


def job(options: PerturbedCapture) -> Job:
    """One report a rank, and a log."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    log = TrainerLog(
        before=options.before,
        after=options.after,
        slowdown=options.slowdown,
        first_iteration=FIRST_ITERATION,
        unit=options.unit,
    )
    reports = tuple(_report(place, group, options) for place in seats)
    return Job(reports, graph_trace=options.graph_trace, log=log)


def _report(place: Seat, group: Communicator, options: PerturbedCapture) -> Report:
    main = Script(Variation(options.seed, place.rank), EventPool())
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            main.add(BufferFlush(round(options.flush_us * 1_000)))
            for _ in range(options.layers):
                main.kernels(place.compute, transformer.ATTENTION)
                main.kernels(place.compute, transformer.MLP)
            main.edge(place.compute, place.comm)
            main.collective(place.comm, group, "all_reduce", 25_165_824, options.all_reduce_us)
            main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=options.seed)


SCENARIO = Scenario("perturbed_capture", "a capture that slows its run, and the trainer's log", PerturbedCapture, job)
