"""All streams in one hardware queue (`CUDA_DEVICE_MAX_CONNECTIONS=1`): a blocked head delays what is issued behind it.

compute   [kernels]             ·······[kernels]       issued behind a collective that cannot start yet
copies    [from the host ....]
comm                          [all-reduce]             waits for the copy, at the head of the queue
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, StreamSync
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "OneConnection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneConnection(Options):
    """Options of `one_connection`."""

    ranks: int = 2
    rounds: int = 5
    connections: int = 1
    """Hardware queues; only 1 is set in the environment, others alias without a word, 0 is one a stream."""
    copy_us: float = 900.0
    all_reduce_us: float = 160.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.connections < 0:
            raise OptionValueError(f"connections must be at least 0, not {self.connections}")


def job(options: OneConnection) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    reports = tuple(_report(place, group, options) for place in seats)
    return Job(reports, graph_trace=options.graph_trace, mechanisms=Mechanisms(connections=options.connections))


def _report(place: Seat, group: Communicator, options: OneConnection) -> Report:
    main = Script(Variation(options.seed, place.rank), EventPool())
    side = place.copies_in
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.rounds):
                main.edge(place.compute, side)
                size = round(options.copy_us * 24_000)
                main.copy(side, CopyDirection.HOST_TO_DEVICE, size, gbps=24.0)
                main.kernels(place.compute, transformer.MLP)
                main.edge(side, place.comm)
                main.collective(place.comm, group, "all_reduce", 4_194_304, options.all_reduce_us)
                main.kernels(place.compute, transformer.ATTENTION)
            main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    environment = (("CUDA_DEVICE_MAX_CONNECTIONS", "1"),) if options.connections == 1 else ()
    threads = (main.thread(place.pid, "python", dispatch_ns=1_500),)
    return rank_report(place, threads, seed=options.seed, environment=environment)


SCENARIO = Scenario("one_connection", "streams that share a hardware queue", OneConnection, job)
