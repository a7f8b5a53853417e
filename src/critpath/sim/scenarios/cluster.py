"""Where ranks sit: hosts of eight GPUs, one process and one report a rank, and the streams a training process has."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from critpath.sim.instructions import Stream, StreamKind
from critpath.sim.program import Clock, Process, Report, Thread
from critpath.sim.scenarios.scenario import Options

__all__ = ["START_NS", "Seat", "lone_ranks", "rank_report", "seat"]

GPUS_A_HOST = 8
START_NS = 10_000_000_000
"""True time at which processes begin their first step."""
_NULL_STREAM = 7
_FIRST_STREAM = 13
_UNUSED_STREAMS = 4


@dataclass(frozen=True, slots=True)
class Seat:
    """One rank's place: its host, process id, device and streams.

    `compute` is the legacy default stream, on which frameworks compute unless told otherwise; the others are
    non-blocking. Process ids repeat from host to host.
    """

    rank: int
    world: int
    hostname: str
    pid: int
    device: int
    compute: Stream
    comm: Stream
    copies_in: Stream
    copies_out: Stream
    streams: tuple[Stream, ...]


def seat(rank: int, world: int) -> Seat:
    """The place of `rank` in a job of `world` ranks."""
    local = rank % GPUS_A_HOST

    def stream(number: int, kind: StreamKind, priority: int = 0) -> Stream:
        return Stream(local, 1, number, kind, priority)

    compute = stream(_NULL_STREAM, StreamKind.LEGACY)
    comm = stream(_FIRST_STREAM, StreamKind.NON_BLOCKING, -5)
    copies_in = stream(_FIRST_STREAM + 1, StreamKind.NON_BLOCKING)
    copies_out = stream(_FIRST_STREAM + 2, StreamKind.NON_BLOCKING)
    unused = [stream(_FIRST_STREAM + 3 + place, StreamKind.NON_BLOCKING) for place in range(_UNUSED_STREAMS)]
    return Seat(
        rank=rank,
        world=world,
        hostname=f"node{rank // GPUS_A_HOST}",
        pid=91_186 + 137 * local,
        device=local,
        compute=compute,
        comm=comm,
        copies_in=copies_in,
        copies_out=copies_out,
        streams=(compute, comm, copies_in, copies_out, *unused),
    )


def lone_ranks(options: Options, threads: Callable[[Seat], Sequence[Thread]]) -> tuple[Report, ...]:
    """One report a rank for ranks that never meet, each with the threads that `threads` writes for its seat."""
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    return tuple(rank_report(place, threads(place), seed=options.seed) for place in seats)


def rank_report(  # noqa: PLR0913 - what differs between ranks
    place: Seat,
    threads: Sequence[Thread],
    *,
    seed: int,
    device_slowdown: float = 1.0,
    host_slowdown: float = 1.0,
    environment: Sequence[tuple[str, str]] = (),
) -> Report:
    """The report of one rank: its session began a little before its process, both at times of their own."""
    chance = random.Random(f"start:{seed}:{place.rank}")  # noqa: S311 - start skew, no secret
    start_ns = START_NS + chance.randrange(4_000_000)
    process = Process(
        pid=place.pid,
        name="python",
        rank=place.rank,
        streams=place.streams,
        threads=tuple(threads),
        start_ns=start_ns,
        device_slowdown=device_slowdown,
        host_slowdown=host_slowdown,
    )
    launcher = (
        ("RANK", str(place.rank)),
        ("LOCAL_RANK", str(place.rank % GPUS_A_HOST)),
        ("WORLD_SIZE", str(place.world)),
    )
    return Report(
        name=f"rank{place.rank}",
        hostname=place.hostname,
        processes=(process,),
        clock=Clock(start_ns - 2_900_000_000 - chance.randrange(300_000_000)),
        environment=(*launcher, *environment),
    )
