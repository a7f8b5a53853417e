"""Loading data, between the step ranges or inside them: the same wall time, a different step.

between   |load| [range: micro-batch 1, micro-batch 2]    |load| [range ...
inside           [range: micro-batch 1, load, micro-batch 2] [range ...
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import CopyDirection, StreamSync
from critpath.sim.program import Job
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "Dataloader"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataloader(Options):
    """Options of `dataloader`."""

    layers: int = 6
    load_ms: float = 12.0
    inside: bool = False
    """Whether loading happens inside the step ranges."""


def job(options: Dataloader) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = []
    for rank in range(options.ranks):
        place = seat(rank, options.ranks)
        main = Script(Variation(options.seed, rank))
        for step in range(options.steps):
            if not options.inside:
                main.cpu("load batch", options.load_ms * 1_000)
            with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
                _micro_batch(main, place, options)
                if options.inside:
                    with main.range("load"):
                        main.cpu("load batch", options.load_ms * 1_000)
                _micro_batch(main, place, options)
        reports.append(rank_report(place, (main.thread(place.pid, "python", dispatch_ns=3_500),), seed=options.seed))
    return Job(tuple(reports), graph_trace=options.graph_trace)


def _micro_batch(main: Script, place: Seat, options: Dataloader) -> None:
    main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 1_048_576, gbps=24.0)
    main.kernels(place.compute, transformer.INPUT)
    for _ in range(options.layers):
        main.kernels(place.compute, transformer.ATTENTION)
        main.kernels(place.compute, transformer.MLP)
    main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
    main.add(StreamSync(place.compute))


SCENARIO = Scenario("dataloader", "loading between the step ranges, or inside them", Dataloader, job)
