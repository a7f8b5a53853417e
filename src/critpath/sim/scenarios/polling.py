"""A host that asks for an event again and again instead of waiting for it, and launches only after a yes.

host      L L L  q q q q q q q q q q q(yes) [cpu] L L L      600 each time until the copy has ended
copies           [results to host ....]
compute   [kernels]                               [kernels]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.host_instructions import EventPoll, MappedSpin
from critpath.sim.instructions import CopyDirection, EventRecord, StreamSync
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "Polling"]

_DONE = 77
"""The one handle that is polled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling(Options):
    """Options of `polling`."""

    rounds: int = 5
    bytes: int = 16_777_216
    """Results copied to the host before the host goes on."""
    pause_us: float = 8.0
    """Between two queries [µs]."""
    mapped: bool = False
    """Whether the host reads a flag in mapped memory instead, which leaves no rows at all."""


def job(options: Polling) -> Job:
    """One process with one device a rank; ranks don't meet."""
    return Job(lone_ranks(options, lambda place: _threads(place, options)), graph_trace=options.graph_trace)


def _threads(place: Seat, options: Polling) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank), EventPool())
    poll = EventPoll(_DONE, place.copies_out, pause_ns=round(options.pause_us * 1_000))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            for _ in range(options.rounds):
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.compute, place.copies_out)
                main.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, options.bytes, gbps=25.0)
                main.add(EventRecord(place.copies_out, _DONE))
                main.add(MappedSpin(place.copies_out) if options.mapped else poll)
                main.cpu("look at results", 30)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("polling", "a host that polls an event before it launches on", Polling, job)
