"""Writes the instructions of a host thread the way a training script would, with seeded variation.

script = Script(Variation(seed=7, rank=0))
with script.range("iteration 0", step=0), script.range("forward"):
    script.kernel(stream, GEMM_NVJET, us=240)
thread = script.thread(tid=4242, name="python", dispatch_ns=4_000)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from critpath.sim.instructions import (
    Collective,
    Communicator,
    Copy,
    CopyDirection,
    CpuWork,
    EventRecord,
    HostMemory,
    Instruction,
    Kernel,
    KernelLaunch,
    RangePop,
    RangePush,
    Stream,
    StreamWait,
)
from critpath.sim.kernels import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, SEND_RECV
from critpath.sim.program import Thread

__all__ = ["EventPool", "Script", "Variation"]

_SAMPLES = 4_096
_EXTRAS_NS = (0, 0, 0, 200, 400, 900, 1_800)
_COLLECTIVES = {"all_reduce": ALL_REDUCE, "all_gather": ALL_GATHER, "reduce_scatter": REDUCE_SCATTER}
_API_NAMES = {"all_reduce": "ncclAllReduce", "all_gather": "ncclAllGather", "reduce_scatter": "ncclReduceScatter"}


class Variation:
    """Seeded spread of durations; a new draw from a fixed sequence each time, so a program is the same every time.

    Args:
        seed: the run's seed.
        rank: draws differ between ranks.
        spread: relative standard deviation of a duration.
    """

    def __init__(self, seed: int, rank: int, spread: float = 0.02) -> None:
        self._durations = random.Random(f"{seed}:{rank}")  # noqa: S311 - variation of durations, no secret
        self._extras = random.Random(f"{seed}:{rank}:calls")  # noqa: S311 - the same
        self._spread = spread
        # Drawn when first needed, since a job of a thousand short ranks needs few of each.
        self._factors: list[float] = []
        self._calls: list[int] = []
        self._drawn = self._called = -1

    def duration_ns(self, us: float) -> int:
        """A duration of about `us` microseconds [ns]."""
        self._drawn = place = (self._drawn + 1) % _SAMPLES
        if place == len(self._factors):
            self._factors.append(max(0.7, self._durations.gauss(1.0, self._spread)))
        return int(us * 1_000 * self._factors[place])

    def call_extra_ns(self) -> int:
        """What an API call takes beyond its least [ns]."""
        self._called = place = (self._called + 1) % _SAMPLES
        if place == len(self._calls):
            self._calls.append(
                _EXTRAS_NS[int(self._extras.random() * len(_EXTRAS_NS))] + int(self._extras.random() * 600)
            )
        return self._calls[place]


class EventPool:
    """Hands out event handles from a small set, again and again, as frameworks do."""

    def __init__(self, first: int = 1, size: int = 6) -> None:
        self._first = first
        self._size = size
        self._taken = 0

    def take(self) -> int:
        """The next handle; the one handed out longest ago."""
        self._taken += 1
        return self._first + (self._taken - 1) % self._size


class Script:
    """Collects the instructions of one thread.

    Args:
        variation: where durations get their spread from; None writes them exactly.
        events: where event handles come from.
        instructions: instructions to begin with.
    """

    def __init__(
        self,
        variation: Variation | None = None,
        events: EventPool | None = None,
        instructions: list[Instruction] | None = None,
    ) -> None:
        self.instructions: list[Instruction] = [] if instructions is None else instructions
        self._vary = variation
        self._events = events or EventPool()

    def add(self, *instructions: Instruction) -> None:
        """Append instructions as they are."""
        self.instructions.extend(instructions)

    def _duration_ns(self, us: float) -> int:
        return round(us * 1_000) if self._vary is None else self._vary.duration_ns(us)

    def _extra_ns(self) -> int:
        return 0 if self._vary is None else self._vary.call_extra_ns()

    def cpu(self, label: str, us: float) -> None:
        """Host work of about `us` microseconds."""
        self.instructions.append(CpuWork(label, self._duration_ns(us)))

    def kernel(self, stream: Stream, kernel: Kernel, us: float) -> None:
        """A kernel of about `us` microseconds."""
        extra_ns = self._extra_ns()
        self.instructions.append(
            KernelLaunch(stream, kernel, self._duration_ns(us), 3_600 + extra_ns, 5_200 + extra_ns // 2)
        )

    def kernels(self, stream: Stream, sequence: tuple[tuple[Kernel, float], ...]) -> None:
        """Several kernels in a row, each with its microseconds."""
        for kernel, us in sequence:
            self.kernel(stream, kernel, us)

    def copy(  # noqa: PLR0913 - a copy is all of these
        self,
        stream: Stream,
        direction: CopyDirection,
        size: int,
        *,
        gbps: float,
        memory: HostMemory = HostMemory.PINNED,
        blocking: bool = False,
    ) -> None:
        """A copy of `size` bytes at about `gbps` gigabytes a second, at least 1.2 µs."""
        us = max(1.2, size / gbps / 1_000)
        self.instructions.append(
            Copy(stream, direction, size, self._duration_ns(us), memory, blocking, 4_200 + self._extra_ns())
        )

    def collective(self, stream: Stream, communicator: Communicator, operation: str, size: int, us: float) -> None:
        """This rank's part in a collective of `size` bytes that moves in about `us` microseconds once all are there."""
        jitter_ns = self._extra_ns()
        part = Collective(communicator, operation, size, round(us * 1_000), jitter_ns)
        self.instructions += (
            RangePush(_API_NAMES[operation], domain=1, registered=True, payload=part),
            KernelLaunch(stream, _COLLECTIVES[operation], 0, 7_500 + self._extra_ns(), 8_500, part),
            RangePop(domain=1),
        )

    def rendezvous(  # noqa: PLR0913, PLR0917 - a meeting is all of these
        self, stream: Stream, kernel: Kernel, communicator: Communicator, operation: str, size: int, us: float
    ) -> None:
        """This rank's part in a meeting that a kernel of its own makes, without a library's range around its launch."""
        part = Collective(communicator, operation, size, self._duration_ns(us), self._extra_ns())
        self.instructions.append(KernelLaunch(stream, kernel, 0, 6_000 + self._extra_ns(), 7_000, part))

    def message(  # noqa: PLR0913, PLR0917 - a message is all of these
        self, stream: Stream, pair: Communicator, call: str, peer: int, size: int, us: float
    ) -> None:
        """One end of a message: `call` is "send" or "recv", `peer` the other rank."""
        part = Collective(pair, "send_recv", size, round(us * 1_000), self._extra_ns(), call, peer)
        self.instructions += (
            RangePush("ncclSend" if call == "send" else "ncclRecv", domain=1, registered=True, payload=part),
            KernelLaunch(stream, SEND_RECV, 0, 7_500 + self._extra_ns(), 8_500, part),
            RangePop(domain=1),
        )

    def edge(self, producer: Stream, consumer: Stream) -> None:
        """Make later work of `consumer` wait for all work of `producer` so far."""
        event = self._events.take()
        self.instructions += (EventRecord(producer, event), StreamWait(consumer, event))

    @contextmanager
    def range(self, text: str, *, step: int | None = None) -> Iterator[None]:
        """An NVTX range around what is written inside."""
        self.instructions.append(RangePush(text, step=step))
        yield
        self.instructions.append(RangePop())

    def thread(self, tid: int, name: str, dispatch_ns: int = 0) -> Thread:
        """The thread that runs what was written."""
        return Thread(tid, name, tuple(self.instructions), dispatch_ns)
