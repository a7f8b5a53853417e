"""The budget of a window, by walking over every boundary once with a counter for each kind of activity.

compute   ####    ##          busy     ########
nccl         #####            exposed      ###     nccl while nothing else runs
sync            ########      idle sync       ####
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

from critpath.sim.executed import OpKind

__all__ = ["Budget", "Running", "Span", "budgets"]

Span = tuple[int, int]
"""First instant and first instant after [ns]."""

_SYNC = 5
_MARK = 6
_LANES = 8
"""Lanes below _SYNC are op kinds. A boundary is packed as `(time * _LANES + lane) * 2 + opens`, so that sorting
boundaries is sorting integers."""


class Running(Protocol):
    """A span of time in which a device does something."""

    @property
    def start_ns(self) -> int:
        """Its first instant."""
        ...

    @property
    def end_ns(self) -> int:
        """The first instant after."""
        ...

    @property
    def kind(self) -> OpKind:
        """What is done."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """How a window splits [ns], all unions over all streams of the unit, clipped to the window."""

    iteration_ns: int
    device_busy_ns: int
    """At least one device op of any kind."""
    device_idle_ns: int
    noncomm_busy_ns: int
    """Compute kernels, memsets and graph rows."""
    comm_busy_ns: int
    compute_busy_ns: int
    """Compute kernels."""
    compute_absent_ns: int
    exposed_comm_ns: int
    """Communication kernels while no other device op runs."""
    host_sync_while_idle_ns: int
    """Event, stream or device synchronization while no device op runs."""

    def as_dict(self) -> dict[str, int]:
        """The same by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def budgets(windows: Iterable[Span], ops: Sequence[Running], syncs: Iterable[Span]) -> list[Budget]:
    """The budget of each window; windows may overlap.

    Args:
        windows: spans, in the same time as all else.
        ops: the traced device ops of one unit.
        syncs: host synchronization calls of the unit, stream waits and event queries left out.
    """
    wanted = list(windows)
    boundaries = [((edge * _LANES) + _MARK) * 2 for window in wanted for edge in window]
    boundaries += [(op.start_ns * _LANES + op.kind) * 2 + 1 for op in ops]
    boundaries += [(op.end_ns * _LANES + op.kind) * 2 for op in ops]
    for start_ns, end_ns in syncs:
        boundaries.append((start_ns * _LANES + _SYNC) * 2 + 1)
        boundaries.append((end_ns * _LANES + _SYNC) * 2)
    boundaries.sort()
    sums = _sums_at_marks(boundaries)
    return [_between(window, sums[window[0]], sums[window[1]]) for window in wanted]


def _sums_at_marks(boundaries: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Time spent in each state up to each mark: busy, non-communication, communication, compute, exposed, idle sync."""
    busy = noncomm = comm = compute = exposed = idle_sync = before = 0
    active = [0] * _LANES
    at: dict[int, tuple[int, ...]] = {}
    for packed in boundaries:
        now, lane = divmod(packed >> 1, _LANES)
        part = now - before
        if part:
            before = now
            kernels, comms, copies, memsets, graphs, syncs = active[:_MARK]
            if kernels or memsets or graphs:
                noncomm += part
            if kernels:
                compute += part
            if comms:
                comm += part
                if not (kernels or copies or memsets or graphs):
                    exposed += part
            if kernels or comms or copies or memsets or graphs:
                busy += part
            elif syncs:
                idle_sync += part
        if lane == _MARK:
            at[now] = (busy, noncomm, comm, compute, exposed, idle_sync)
        else:
            active[lane] += 1 if packed & 1 else -1
    return at


def _between(window: Span, first: tuple[int, ...], last: tuple[int, ...]) -> Budget:
    """The budget from the sums at a window's two edges."""
    busy, noncomm, comm, compute, exposed, idle_sync = (b - a for a, b in zip(first, last, strict=True))
    iteration = window[1] - window[0]
    return Budget(
        iteration_ns=iteration,
        device_busy_ns=busy,
        device_idle_ns=iteration - busy,
        noncomm_busy_ns=noncomm,
        comm_busy_ns=comm,
        compute_busy_ns=compute,
        compute_absent_ns=iteration - compute,
        exposed_comm_ns=exposed,
        host_sync_while_idle_ns=idle_sync,
    )
