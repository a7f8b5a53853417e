"""Two asynchronous copies that look alike: one holds the host and every blocking stream, the other nobody.

compute (blocking)      [kernels]           [kernels] [kernels ...........]
default (legacy)                 [pageable]                                  waits for the kernels, and they for it
copies (non-blocking)                                   [pinned]             beside the kernels
host               L L L ─ held inside the call ─ L L L L L L
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from critpath.sim.instructions import CopyDirection, HostMemory, StreamSync
from critpath.sim.program import Job, Report, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation
from critpath.sim.stream import Stream, StreamKind

__all__ = ["SCENARIO", "PageableDefaultStream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageableDefaultStream(Options):
    """Options of `pageable_default_stream`."""

    rounds: int = 4
    bytes: int = 12_582_912
    """Size of either copy."""
    gbps: float = 12.0


def job(options: PageableDefaultStream) -> Job:
    """One process with one device a rank; ranks don't meet."""
    return Job(tuple(_report(rank, options) for rank in range(options.ranks)), graph_trace=options.graph_trace)


def _report(rank: int, options: PageableDefaultStream) -> Report:
    place = seat(rank, options.ranks)
    own = Stream(place.device, 1, 40, StreamKind.BLOCKING)
    place = replace(place, streams=(*place.streams, own))
    return rank_report(place, _threads(place, own, options), seed=options.seed)


def _threads(place: Seat, own: Stream, options: PageableDefaultStream) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    to_device, size, gbps = CopyDirection.HOST_TO_DEVICE, options.bytes, options.gbps
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(own, transformer.INPUT)
            for _ in range(options.rounds):
                main.kernels(own, transformer.MLP)
                main.copy(place.compute, to_device, size, gbps=gbps, memory=HostMemory.PAGEABLE)
                main.kernels(own, transformer.MLP)
                main.copy(place.copies_in, to_device, size, gbps=gbps)
                main.kernels(own, transformer.ATTENTION)
                main.kernels(own, transformer.MLP)
            main.add(StreamSync(own))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario(
    "pageable_default_stream",
    "a pageable copy on the default stream against a pinned one on its own",
    PageableDefaultStream,
    job,
)
