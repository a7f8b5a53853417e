"""Context parallelism: keys and values go round a ring while attention works on those that are there.

compute  [block 0 ...][block 1 ...][block 2 ...]        a block waits for the keys that its rank received for it
send         [to the right]  [to the right]
recv         [from the left] [from the left]            exposed where a message takes longer than a block
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.kernels import ATTENTION_FORWARD, ELEMENTWISE_ADD
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "ContextParallel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParallel(Options):
    """Options of `context_parallel`."""

    ranks: int = 4
    steps: int = 4
    layers: int = 4
    block_us: float = 90.0
    """Attention on one rank's keys [µs]."""
    message_us: float = 120.0


def job(options: ContextParallel) -> Job:
    """One report a rank."""
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    return Job(tuple(_report(place, options) for place in seats), graph_trace=options.graph_trace)


def _report(place: Seat, options: ContextParallel) -> Report:
    main, ranks = Script(Variation(options.seed, place.rank), EventPool(size=8)), options.ranks
    right, left = (place.rank + 1) % ranks, (place.rank - 1) % ranks

    def pair(source: int, target: int) -> Communicator:
        return Communicator(f"cp:{source}>{target}", 2, parent="cp", parent_size=ranks)

    def attention() -> None:
        for block in range(ranks):
            if block < ranks - 1:
                # What goes on is what came in, but for the rank's own keys.
                main.edge(place.copies_in if block else place.compute, place.comm)
                main.message(place.comm, pair(place.rank, right), "send", right, 8_388_608, options.message_us)
                main.message(place.copies_in, pair(left, place.rank), "recv", left, 8_388_608, options.message_us)
            main.kernel(place.compute, ATTENTION_FORWARD, options.block_us)
            main.kernel(place.compute, ELEMENTWISE_ADD, 6)
            if block < ranks - 1:
                main.edge(place.copies_in, place.compute)

    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.layers):
                attention()
                main.kernels(place.compute, transformer.MLP)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=1_500),), seed=options.seed)


SCENARIO = Scenario("context_parallel", "keys and values sent round a ring beside attention", ContextParallel, job)
