"""Which gates an op passes before it runs: copy engines, shared hardware queues, kernels that share a GPU.

A gate takes an op whose dependencies and launch allow it to run, and lets it go when the resource does. Gates that
grant by time wait on the machine's heap until everything earlier has happened, so that first come is first served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from critpath.sim.executed import EdgeKind, Gate, Op, OpKind
from critpath.sim.instructions import Copy, CopyDirection
from critpath.sim.residency import Residency
from critpath.sim.stream import Stream
from critpath.sim.submission import hold_back

if TYPE_CHECKING:
    from critpath.sim.execute import Machine
    from critpath.sim.hosts import HostThread

__all__ = ["CopyEngine", "Gates", "HardwareQueue"]

_COMPUTE_ENGINE = (OpKind.COMPUTE, OpKind.COMMUNICATION, OpKind.MEMSET)
Gpu = tuple[str, int]
"""Hostname and GPU of the host."""


class CopyEngine:
    """One direction of one GPU: serves copies in the order in which they could have started."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._last: Op | None = None

    def enter(self, op: Op) -> Sequence[Op]:
        """Line up at the time at which the copy could start."""
        self._machine.at(op.start_ns, partial(self._serve, op))
        return ()

    def _serve(self, op: Op) -> None:
        last = self._last
        if last is not None and last.end_ns > op.start_ns:
            op.held_by(EdgeKind.COPY_ENGINE, last, last.end_ns)
        self._last = op
        self._machine.settle(op.admitted())


class HardwareQueue:
    """Streams that share a hardware queue: no op starts before the one issued before it has started."""

    def __init__(self) -> None:
        self._issued: deque[Op] = deque()
        self._ready: set[int] = set()
        self._last: Op | None = None

    def append(self, op: Op) -> None:
        """Give the op its place, at the time of its issue."""
        self._issued.append(op)

    def enter(self, op: Op) -> Sequence[Op]:
        """Let every op go at the head of the queue whose own dependencies are met."""
        self._ready.add(op.index)
        known: list[Op] = []
        while self._issued and self._issued[0].index in self._ready:
            head = self._issued.popleft()
            self._ready.discard(head.index)
            last = self._last
            if last is not None and last.start_ns > head.start_ns:
                head.held_by(EdgeKind.QUEUE_ORDER, last, last.start_ns)
            self._last = head
            known += head.admitted()
        return known


class Gates:
    """The gates of a machine, made when first needed."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._mechanisms = mechanisms = machine.job.mechanisms
        self._engines: dict[tuple[Gpu, CopyDirection], CopyEngine] = {}
        self._queues: dict[tuple[int, int, int], HardwareQueue] = {}
        self._slots: dict[Stream, int] = {}
        self._gpus: dict[Gpu, Residency] = {}
        self.any = bool(mechanisms.copy_engines or mechanisms.connections or mechanisms.batch or mechanisms.residency)

    def prepare(self, thread: HostThread, op: Op) -> None:
        """Put the gates that concern `op` before it; the first to pass is the last of the list."""
        mechanisms = self._mechanisms
        gates: list[Gate] = []
        if mechanisms.residency and op.kind <= OpKind.COMMUNICATION:
            gates.append(self._gpu(op))
        if mechanisms.connections and op.kind in _COMPUTE_ENGINE and op.graph is None:
            queue = self._queue(op)
            queue.append(op)
            gates.append(queue)
        if mechanisms.copy_engines and isinstance(op.what, Copy):
            gates.append(self._engine(op, op.what.direction))
        op.gates = gates
        if mechanisms.batch:
            hold_back(thread, op, mechanisms)

    def _gpu(self, op: Op) -> Residency:
        gpu = _gpu_of(op)
        if gpu not in self._gpus:
            self._gpus[gpu] = Residency(self._machine)
        return self._gpus[gpu]

    def _engine(self, op: Op, direction: CopyDirection) -> CopyEngine:
        key = (_gpu_of(op), direction)
        if key not in self._engines:
            self._engines[key] = CopyEngine(self._machine)
        return self._engines[key]

    def _queue(self, op: Op) -> HardwareQueue:
        """The queue of the op's stream: streams of a device take queues in turn, in the order of their first use."""
        stream = op.stream
        if stream not in self._slots:
            mates = sum(other.device == stream.device for other in self._slots if other in op.run.process.streams)
            self._slots[stream] = mates % self._mechanisms.connections
        key = (id(op.run), stream.device, self._slots[stream])
        return self._queues.setdefault(key, HardwareQueue())


def _gpu_of(op: Op) -> Gpu:
    """The physical GPU: engines and multiprocessors are its own, whoever uses it."""
    return op.run.report.hostname, op.run.process.visible_gpus[op.stream.device]
