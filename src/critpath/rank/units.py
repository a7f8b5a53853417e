"""Which units a trace holds, and which rows are theirs."""

from __future__ import annotations

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import UnitKey
from critpath.model.tables import DeviceOps, SyncWaits
from critpath.model.trace import Trace, UnitTrace

__all__ = ["context_devices", "unit_keys", "unit_trace"]


def unit_keys(trace: Trace, report: int) -> list[UnitKey]:
    """Every (process, device) with device rows, in order."""
    pairs: set[tuple[int, int]] = set()
    for table in _device_tables(trace):
        first, _ = group_rows(table.process, table.device)
        pairs.update(zip(table.process[first].tolist(), table.device[first].tolist(), strict=True))
    return [UnitKey(report, process, device) for process, device in sorted(pairs)]


def unit_trace(trace: Trace, key: UnitKey) -> UnitTrace:
    """The rows of one unit; those of its process where any thread may launch here."""

    def on_device(table: DeviceOps) -> I64:
        return np.flatnonzero((table.process == key.process) & (table.device == key.device))

    waits = trace.sync_waits
    mine = (waits.process == key.process) & (_device_of(waits, trace) == key.device)
    calls, ranges, overheads = trace.runtime_calls, trace.nvtx_ranges, trace.overheads
    return UnitTrace(
        key=key,
        strings=trace.strings,
        kernels=trace.kernels.where(on_device(trace.kernels)),
        copies=trace.copies.where(on_device(trace.copies)),
        memsets=trace.memsets.where(on_device(trace.memsets)),
        graph_launches=trace.graph_launches.where(on_device(trace.graph_launches)),
        runtime_calls=calls.where(calls.process == key.process),
        sync_waits=waits.where(mine),
        nvtx_ranges=ranges.where(ranges.process == key.process),
        overheads=overheads.where(overheads.process == key.process),
        shares_process=any(
            ((t.process == key.process) & (t.device != key.device)).any() for t in _device_tables(trace)
        ),
    )


def context_devices(trace: Trace) -> dict[tuple[int, int], int]:
    """(process, context) → device, from what the export lists and from every device row.

    Synchronization rows carry device 0 whatever their device is, so this is the only way to it. Unified-memory
    migrations belong to no context (their context id is 0).
    """
    found = {(c.process, c.context): c.device for c in trace.contexts}
    for table in _device_tables(trace):
        first, _ = group_rows(table.process, table.context, table.device)
        rows = np.stack([table.process, table.context, table.device], axis=1)[first]
        found.update({(p, c): d for p, c, d in rows.tolist() if c != 0})
    return found


def _device_of(waits: SyncWaits, trace: Trace) -> I64:
    """The device of each synchronization row, -1 where its context has none."""
    device = np.full(len(waits), -1, np.int64)
    for (process, context), value in context_devices(trace).items():
        device[(waits.process == process) & (waits.context == context)] = value
    return device


def _device_tables(trace: Trace) -> tuple[DeviceOps, ...]:
    return trace.kernels, trace.copies, trace.memsets, trace.graph_launches
