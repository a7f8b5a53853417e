"""What each process of a capture left behind: device rows, calls, and how many of them find their counterpart.

Absence is counted where it can be seen: a launch call without kernel, an op without call, a wait without record. That
nothing is missing can't be seen from any count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.base.redaction import redacted
from critpath.model.identity import NULL, join_index, pid_of
from critpath.model.tables import Copies, CopyKind, DeviceOps, SyncShape
from critpath.model.trace import Trace
from critpath.rank.api_calls import KERNEL_LAUNCH, calls_of, stream_capture_spans, succeeded
from critpath.rank.diagnostics import Reach, device_tables, process_reaches

__all__ = ["ProcessRows", "process_rows"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProcessRows:
    """Counts of one process that has device rows or CUDA calls.

    Attributes:
        process: process key; pid is a label for people.
        name: of its executable, folders hidden.
        reach: `unit` with device rows, else `api-only`.
        device_rows: kernels, copies, memsets and graph rows, unified-memory migrations included.
        migrations: those of them that are migrations: no call issues them.
        linked: device rows that join their API call; says nothing of source (P22).
        with_stack: device rows whose API call has a call stack.
        kernel_launches: calls that launched a kernel without error, outside stream capture where without row.
        launches_without_row: those without kernel row, before the last one that has one.
        launches_cut_off: those without kernel row after it: the capture ended first.
        launches_captured: calls without kernel row during stream capture: they ran nothing, and lack nothing.
        event_waits: synchronization rows that name an event: stream waits, event waits and queries.
        waits_without_record: those whose event has no record row.
    """

    process: int
    pid: int
    name: str | None
    reach: Reach
    device_rows: int
    kernels: int
    migrations: int
    linked: int
    with_stack: int
    api_rows: int
    kernel_launches: int
    launches_without_row: int
    launches_cut_off: int
    launches_captured: int
    event_waits: int
    waits_without_record: int

    @property
    def ops_without_call(self) -> int:
        """Device rows whose API call isn't in the capture; migrations have none to begin with."""
        return max(0, self.device_rows - self.migrations - self.linked)


def process_rows(trace: Trace) -> tuple[ProcessRows, ...]:
    """The counts of every process with CUDA rows, those with device rows first, then by key."""
    names = {p.key: p.name for p in trace.processes}
    counts = {**_device_counts(trace), **_launch_counts(trace), **_wait_counts(trace)}
    counts["api_rows"] = _count(trace.runtime_calls.process)
    found = [
        ProcessRows(
            process=process,
            pid=pid_of(process),
            name=redacted(name) if (name := names.get(process)) else None,
            reach=reach,
            **{column: by_process.get(process, 0) for column, by_process in counts.items()},
        )
        for process, reach in process_reaches(trace).items()
    ]
    return tuple(sorted(found, key=lambda rows: (rows.reach is not Reach.UNIT, rows.process)))


def _count(processes: I64, mask: Mask | None = None) -> dict[int, int]:
    """Rows by process; those that the mask selects."""
    selected = processes if mask is None else processes[mask]
    first, group = group_rows(selected)
    return dict(zip(selected[first].tolist(), np.bincount(group, minlength=first.size).tolist(), strict=True))


def _added(parts: Iterable[dict[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for part in parts:
        for process, count in part.items():
            total[process] = total.get(process, 0) + count
    return total


def _device_counts(trace: Trace) -> dict[str, dict[int, int]]:
    calls = trace.runtime_calls
    rows, linked, stacks, migrations = [], [], [], []
    for table in device_tables(trace):
        call = join_index((table.process, table.correlation), (calls.process, calls.correlation))
        joined = call >= 0
        rows.append(_count(table.process))
        linked.append(_count(table.process, joined))
        stacked = joined.copy()
        stacked[joined] = calls.callchain[call[joined]] != NULL
        stacks.append(_count(table.process, stacked))
        migrations.append(_count(table.process, _is_migration(table)))
    return {
        "device_rows": _added(rows),
        "kernels": rows[0],
        "migrations": _added(migrations),
        "linked": _added(linked),
        "with_stack": _added(stacks),
    }


def _is_migration(table: DeviceOps) -> Mask:
    if isinstance(table, Copies):
        return np.isin(table.kind, CopyKind.UVM)
    return np.zeros(len(table), np.bool_)


def _launch_counts(trace: Trace) -> dict[str, dict[int, int]]:
    calls = trace.runtime_calls
    launching = calls.where(calls_of(calls, trace.strings, KERNEL_LAUNCH) & succeeded(calls))
    kernels = trace.kernels
    row = join_index((launching.process, launching.correlation), (kernels.process, kernels.correlation))
    captured, late = np.zeros(row.size, np.bool_), np.zeros(row.size, np.bool_)
    for process, spans in stream_capture_spans(calls, trace.strings).items():
        captured |= (launching.process == process) & (row < 0) & spans.contains(launching.start_ns)
    for process in np.unique(launching.process[row >= 0]).tolist():
        mine = launching.process == process
        late |= mine & (launching.start_ns > launching.start_ns[mine & (row >= 0)].max())
    missing = (row < 0) & ~captured
    return {
        "kernel_launches": _count(launching.process, ~captured),
        "launches_without_row": _count(launching.process, missing & ~late),
        "launches_cut_off": _count(launching.process, missing & late),
        "launches_captured": _count(launching.process, captured),
    }


def _wait_counts(trace: Trace) -> dict[str, dict[int, int]]:
    """Waits for events, and those without record: neither their sync id nor their handle was ever recorded."""
    waits, records = trace.sync_waits, trace.event_records
    named = waits.where(np.isin(waits.shape, (SyncShape.STREAM_WAIT, SyncShape.EVENT)))
    by_sync = join_index((named.process, named.event_sync), (records.process, records.event_sync))
    # A handle of 0 is a real one, and 0 joins nothing.
    by_handle = join_index((named.process, named.event + 1), (records.process, records.event + 1))
    return {
        "event_waits": _count(named.process),
        "waits_without_record": _count(named.process, (by_sync < 0) & (by_handle < 0)),
    }
