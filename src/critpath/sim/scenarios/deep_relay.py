"""A collective whose consumer sits behind a chain of streams that only wait and record, with few event handles.

compute   [kernels]─e1                                            e2─[kernels]
comm               └─[all-reduce]─e2
relay 1                            └─ wait e2, record e1
relay 2                                             └─ wait e1, record e2 ...
copies                    [tiny copy]        ends just before the consumer starts, and has nothing to do with it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, StreamSync
from critpath.sim.program import Job, Report, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation
from critpath.sim.stream import Stream, StreamKind

__all__ = ["SCENARIO", "DeepRelay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepRelay(Options):
    """Options of `deep_relay`."""

    ranks: int = 2
    depth: int = 5
    """Relay streams between the collective and its consumer."""
    handles: int = 2
    """Event handles that all records share."""
    blocks: int = 6
    all_reduce_us: float = 420.0

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.depth < 1 or self.handles < 1:
            raise OptionValueError(f"depth and handles must be at least 1, not {self.depth} and {self.handles}")


def job(options: DeepRelay) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    return Job(tuple(_report(rank, group, options) for rank in range(options.ranks)), graph_trace=options.graph_trace)


def _report(rank: int, group: Communicator, options: DeepRelay) -> Report:
    place = seat(rank, options.ranks)
    relays = [Stream(place.device, 1, 40 + i, StreamKind.NON_BLOCKING) for i in range(options.depth)]
    place = replace(place, streams=(*place.streams, *relays))
    return rank_report(place, _threads(place, relays, group, options), seed=options.seed)


def _threads(place: Seat, relays: Sequence[Stream], group: Communicator, options: DeepRelay) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank), EventPool(size=options.handles))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.blocks):
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.compute, place.comm)
                main.edge(place.compute, place.copies_out)
                main.collective(place.comm, group, "all_reduce", 8_388_608, options.all_reduce_us)
                size = round(0.97 * options.all_reduce_us * 25_000)
                main.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, size, gbps=25.0)
                for ahead, behind in pairwise((place.comm, *relays, place.compute)):
                    main.edge(ahead, behind)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("deep_relay", "event chains through relay streams, with handles used again", DeepRelay, job)
