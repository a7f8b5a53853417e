"""A small copy that compute needs, behind a large one that it doesn't: one engine serves both.

compute     [kernels]          ···············[kernels]       waits for the small copy
prefetch       [large copy ...................]
input                      ready ···          [small]         could have run at once
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.instructions import CopyDirection, StreamSync
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "CopyEngineQueue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyEngineQueue(Options):
    """Options of `copy_engine_queue`."""

    rounds: int = 4
    large_bytes: int = 33_554_432
    small_bytes: int = 1_048_576
    gbps: float = 24.0
    engines: bool = True
    """Whether copies of one direction share an engine at all."""


def job(options: CopyEngineQueue) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: _threads(place, options))
    return Job(reports, graph_trace=options.graph_trace, mechanisms=Mechanisms(copy_engines=options.engines))


def _threads(place: Seat, options: CopyEngineQueue) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank), EventPool())
    to_device, gbps = CopyDirection.HOST_TO_DEVICE, options.gbps
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.rounds):
                main.edge(place.compute, place.copies_out)
                main.edge(place.compute, place.copies_in)
                main.copy(place.copies_out, to_device, options.large_bytes, gbps=gbps)
                main.copy(place.copies_in, to_device, options.small_bytes, gbps=gbps)
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.copies_in, place.compute)
                main.kernels(place.compute, transformer.ATTENTION)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("copy_engine_queue", "a small copy that waits for an engine", CopyEngineQueue, job)
