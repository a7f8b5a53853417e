"""Where the time of each window went, to the nanosecond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, overlap, union
from critpath.model.identity import join_index
from critpath.model.tables import DeviceOps, Spans, SyncShape
from critpath.model.trace import UnitTrace
from critpath.rank.launches import Launches
from critpath.rank.occupancy import Occupancy

__all__ = [
    "Budget",
    "HostSync",
    "WorkVolume",
    "budget",
    "clipped_sum",
    "host_sync",
    "starts_inside",
    "work_volume",
]

_QUERIES = ("EventQuery", "StreamQuery")


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of each window [ns], arrays of shape (n,).

    `compute <= noncomm <= device_busy <= iteration`, and busy and idle add up to the iteration exactly.
    """

    iteration_ns: I64
    device_busy_ns: I64
    noncomm_busy_ns: I64
    comm_busy_ns: I64
    compute_busy_ns: I64
    exposed_ns: I64

    @property
    def device_idle_ns(self) -> I64:
        """Iteration minus device busy [ns]."""
        return self.iteration_ns - self.device_busy_ns

    @property
    def compute_absent_ns(self) -> I64:
        """Iteration minus compute busy [ns]."""
        return self.iteration_ns - self.compute_busy_ns

    @property
    def occupied_not_computing_ns(self) -> I64:
        """Device busy without compute [ns]; what occupied it is not thereby its cause (P08)."""
        return self.device_busy_ns - self.compute_busy_ns


@dataclass(frozen=True, slots=True)
class WorkVolume:
    """A volume of work over all windows, never wall time (P01).

    Attributes:
        kernel_sum_ns: durations of all kernels, clipped to the windows and added up; concurrent kernels count each.
        kernel_union_ns: time in the windows with at least one kernel.
        kernels: kernels that start in a window.
        linked_kernels: those of them that join an API call by (process, correlation id).
    """

    kernel_sum_ns: int
    kernel_union_ns: int
    kernels: int
    linked_kernels: int


@dataclass(frozen=True, slots=True)
class HostSync:
    """Host threads waiting for this device in each window [ns], arrays of shape (n,); see P11."""

    host_ns: I64
    while_device_idle_ns: I64


def budget(occupied: Occupancy, starts_ns: I64, ends_ns: I64) -> Budget:
    """The budget of windows that may be any spans."""
    exposed = occupied.communication.subtract(occupied.other_than_communication)
    return Budget(
        iteration_ns=ends_ns - starts_ns,
        device_busy_ns=occupied.busy.clip(starts_ns, ends_ns),
        noncomm_busy_ns=occupied.noncomm.clip(starts_ns, ends_ns),
        comm_busy_ns=occupied.communication.clip(starts_ns, ends_ns),
        compute_busy_ns=occupied.compute.clip(starts_ns, ends_ns),
        exposed_ns=exposed.clip(starts_ns, ends_ns),
    )


def work_volume(unit: UnitTrace, launched: Launches, starts_ns: I64, ends_ns: I64) -> WorkVolume:
    """The volume of kernel work in the windows."""
    kernels = unit.kernels
    inside = starts_inside(kernels, starts_ns, ends_ns)
    return WorkVolume(
        kernel_sum_ns=clipped_sum(kernels, starts_ns, ends_ns),
        kernel_union_ns=int(kernels.union().clip(starts_ns, ends_ns).sum()),
        kernels=int(inside.sum()),
        linked_kernels=int((launched.kernels[inside] >= 0).sum()),
    )


def host_sync(unit: UnitTrace, busy: Intervals, starts_ns: I64, ends_ns: I64) -> HostSync:
    """Time in which at least one host thread waited for this device, and its part while the device was idle.

    A stream wait returns at once, and a query waits for nothing: neither is a host wait (P11). Rows whose API call
    is missing count as waits, by their shape.
    """
    waits = unit.sync_waits
    calls = unit.runtime_calls
    query_names = [i for i, name in unit.strings.of(calls.name).items() if any(q in name for q in _QUERIES)]
    call = join_index((waits.correlation,), (calls.correlation,))
    is_query = (call >= 0) & np.isin(calls.name[np.maximum(call, 0)], query_names) if len(calls) else call >= 0
    waiting = waits.where((waits.shape != SyncShape.STREAM_WAIT) & ~is_query).union()
    return HostSync(
        host_ns=waiting.clip(starts_ns, ends_ns),
        while_device_idle_ns=waiting.subtract(busy).clip(starts_ns, ends_ns),
    )


def starts_inside(ops: DeviceOps, starts_ns: I64, ends_ns: I64) -> npt.NDArray[np.bool_]:
    """Which ops start in one of the windows, which may overlap."""
    return union(starts_ns, ends_ns).contains(ops.start_ns)


def clipped_sum(ops: Spans, starts_ns: I64, ends_ns: I64) -> int:
    """Durations of all ops, clipped to each window and added up [ns]: a volume of work, never wall time (P01)."""
    return int(overlap(ops.start_ns, ops.end_ns, starts_ns, ends_ns).sum())
