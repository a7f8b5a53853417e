"""Kernels on one GPU that change each other's pace: communication beside compute, and processes that share it.

alone       [compute 100 ...........]
beside      [compute ...............·······]        contention 1.4 while the communication kernel runs
comm               [...............]
sliced   A  [####----####----####]                  resident throughout, progress only in its own turns
         B      [####----####----####]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from critpath.sim.executed import UNKNOWN, Op, OpKind
from critpath.sim.mechanisms import Sharing

if TYPE_CHECKING:
    from critpath.sim.execute import Machine

__all__ = ["Residency"]

_DONE = 1e-6
"""Work left that is only rounding [ns]."""


class Residency:
    """The kernels on one GPU. Compute kernels progress at a pace that depends on who else is there.

    Communication kernels keep their own time: they wait for peers and links, not for multiprocessors.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._mechanisms = machine.job.mechanisms
        self._left_ns: dict[Op, float] = {}
        self._communicating = 0
        self._now_ns = 0
        self._plan = 0
        self._turn: int | None = None
        self._turn_ends_ns = 0

    def enter(self, op: Op) -> Sequence[Op]:
        """Come onto the GPU at the op's start. A communication kernel is only noted; it runs as it would."""
        self._machine.at(op.start_ns, partial(self._begin, op))
        return op.admitted() if op.kind is OpKind.COMMUNICATION else ()

    def _begin(self, op: Op) -> None:
        self._advance(op.start_ns)
        if op.kind is OpKind.COMMUNICATION:
            self._communicating += 1
            _Departure(self, self._machine, op)
        else:
            self._left_ns[op] = op.duration_ns
        self._replan()

    def leave(self, op: Op) -> None:
        """A communication kernel is gone."""
        self._advance(op.end_ns)
        self._communicating -= 1
        self._replan()

    def _processes(self) -> list[int]:
        """The processes with compute kernels here, in the order of their first."""
        return list(dict.fromkeys(id(op.run) for op in self._left_ns))

    def _pace(self, op: Op) -> float:
        """Progress of a compute kernel per time."""
        pace = 1.0 / self._mechanisms.contention if self._communicating else 1.0
        processes = self._processes()
        if self._mechanisms.sharing is Sharing.RESIDENT:
            pace /= len(processes)
        elif self._mechanisms.sharing is Sharing.SLICED and len(processes) > 1 and id(op.run) != self._turn:
            return 0.0
        return pace

    def _advance(self, now_ns: int) -> None:
        """Let everyone here progress until `now_ns`."""
        elapsed_ns = now_ns - self._now_ns
        if elapsed_ns and self._left_ns:
            paces = {op: self._pace(op) for op in self._left_ns}
            for op, pace in paces.items():
                self._left_ns[op] -= elapsed_ns * pace
        self._now_ns = now_ns

    def _replan(self) -> None:
        """Find out when something happens next: a kernel ends, or a turn does."""
        self._plan += 1
        if not self._left_ns:
            self._turn = None
            return
        moments = []
        processes = self._processes()
        if self._mechanisms.sharing is Sharing.SLICED:
            if self._turn not in processes:
                self._turn, self._turn_ends_ns = processes[0], self._now_ns + self._mechanisms.slice_ns
            if len(processes) > 1:
                self._turn_ends_ns = max(self._turn_ends_ns, self._now_ns)
                moments.append(self._turn_ends_ns)
        for op, left_ns in self._left_ns.items():
            pace = self._pace(op)
            if pace:
                moments.append(self._now_ns + math.ceil(max(0.0, left_ns) / pace - _DONE))
        self._machine.at(min(moments), partial(self._happen, self._plan, min(moments)))

    def _happen(self, plan: int, now_ns: int) -> None:
        if plan != self._plan:
            return
        self._advance(now_ns)
        done = [op for op, left_ns in self._left_ns.items() if left_ns <= _DONE]
        for op in done:
            del self._left_ns[op]
            op.end_ns = now_ns
        processes = self._processes()
        if self._turn in processes and len(processes) > 1 and now_ns >= self._turn_ends_ns:
            self._turn = processes[(processes.index(self._turn) + 1) % len(processes)]
            self._turn_ends_ns = now_ns + self._mechanisms.slice_ns
        self._replan()
        self._machine.settle(done)


class _Departure:
    """Waits for a communication kernel's end, to tell its GPU at that time."""

    def __init__(self, residency: Residency, machine: Machine, op: Op) -> None:
        self.missing = 0
        self._residency = residency
        self._machine = machine
        self._op = op
        if op.end_ns != UNKNOWN:
            self.proceed()
        else:
            self.missing = 1
            op.waiters = [*(op.waiters or ()), self]

    def proceed(self) -> Sequence[Op]:
        """The end is known: leave then."""
        self._machine.at(self._op.end_ns, partial(self._residency.leave, self._op))
        return ()
