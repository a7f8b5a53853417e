"""Damaged records: told apart, counted, and left out of every figure.

CUPTI writes start = end = 0 where no time could be taken, sentinels in place of times, and now and then records of
another time altogether. One such record would stretch a capture to decades or fill a window that was idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import NULL, join_index
from critpath.model.tables import DeviceOps, RuntimeCalls, Spans
from critpath.model.trace import Trace

__all__ = ["Damage", "Envelope", "capture_envelope", "without_damage"]

_DEVICE_TABLES = ("kernels", "copies", "memsets", "graph_launches")
_HOST_TABLES = ("runtime_calls", "sync_waits", "nvtx_ranges", "overheads")

_MARGIN_NS = 60_000_000_000
_FAR_NS = 3_600_000_000_000
"""Records further from all others than this may be of another time; a pause of an hour is rarer than damage."""
_KEPT_SHARE = 0.25
"""Of the largest group of records, what a group beyond such a pause must have to count as the capture's own."""
_EARLY_NS = 1_000_000_000
"""An op that began longer than this before its own launch is damaged: clocks of one export agree to microseconds."""
_REACH_NS = 2**62
"""Beyond this no instant lies: differences would overflow."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where records of a capture can lie [ns, report axis]; anything beyond is far outside."""

    start_ns: int
    end_ns: int

    def holds(self, times_ns: I64) -> Mask:
        """Which instants lie inside; NULL never does."""
        inside: Mask = (times_ns >= self.start_ns) & (times_ns <= self.end_ns) & (times_ns != NULL)
        return inside


@dataclass(frozen=True, slots=True)
class Damage:
    """Records set aside, by what is wrong with them, and by table and process.

    Attributes:
        by_table: (canonical table, process, device) → (zero, negative, outside).
        unplaced: canonical table → device records that name no device, so that they belong to no unit.
        host: canonical table → host records without a time inside the capture.
    """

    by_table: Mapping[tuple[str, int, int], tuple[int, int, int]] = field(default_factory=dict)
    unplaced: Mapping[str, int] = field(default_factory=dict)
    host: Mapping[str, int] = field(default_factory=dict)

    def of(self, process: int, device: int) -> dict[str, tuple[int, int, int]]:
        """The counts of one unit by table; tables without damage are left out."""
        return {t: counts for (t, p, d), counts in self.by_table.items() if (p, d) == (process, device)}

    def devices(self) -> set[tuple[int, int]]:
        """(process, device) of every unit with damaged records, even where it has no others."""
        return {(process, device) for _, process, device in self.by_table}


def capture_envelope(trace: Trace) -> Envelope | None:
    """Where records can lie: around the host's API calls, which survive when device times don't.

    Without calls the session's own length serves, else the bulk of the device records. None without any of them.
    A margin of a minute and of the capture's own length on each side lets work launched before the capture, and
    clocks that need alignment, pass.
    """
    duration = trace.source.duration_ns or 0
    session = (0, duration) if 0 < duration < _REACH_NS and not trace.source.utc_axis else None
    spans = [span for span in (_bulk(trace.runtime_calls.start_ns), session) if span is not None]
    if not spans:
        starts = [_table(trace, name).start_ns[_timed(_table(trace, name))] for name in _DEVICE_TABLES]
        bulk = _bulk(np.concatenate(starts))
        if bulk is None:
            return None
        spans.append(bulk)
    start, end = min(s for s, _ in spans), max(e for _, e in spans)
    margin = _MARGIN_NS + (end - start)
    return Envelope(max(start - margin, -_REACH_NS), min(end + margin, _REACH_NS))


def without_damage(trace: Trace) -> tuple[Trace, Damage]:
    """The trace without damaged records, and what was set aside.

    A graph row whose launch also has node rows is no damage, but the same work twice: it is left out silently.
    """
    envelope = capture_envelope(trace) or Envelope(-_REACH_NS, _REACH_NS)
    host, lost = _host_tables(trace, envelope)
    calls: RuntimeCalls = host["runtime_calls"]  # type: ignore[assignment]
    counts: dict[tuple[str, int, int], tuple[int, int, int]] = {}
    unplaced: dict[str, int] = {}
    device: dict[str, DeviceOps] = {}
    for name in _DEVICE_TABLES:
        table = _table(trace, name)
        nowhere = table.device == NULL
        if nowhere.any():
            unplaced[name] = int(nowhere.sum())
            table = table.where(~nowhere)
        faults = _faults(table, envelope, calls)
        bad = np.logical_or.reduce(faults)
        if bad.any():
            counts |= {(name, *unit): found for unit, found in _by_unit(table, bad, faults).items()}
            table = table.where(~bad)
        device[name] = table
    nodes = (device["kernels"], device["copies"], device["memsets"])
    device["graph_launches"] = _without_traced_nodes(device["graph_launches"], nodes)
    return replace(trace, **host, **device), Damage(counts, unplaced, lost)  # type: ignore[arg-type]


def _table(trace: Trace, name: str) -> DeviceOps:
    table: DeviceOps = getattr(trace, name)
    return table


def _bulk(times: I64) -> tuple[int, int] | None:
    """First and last of the times, those aside that lie far from all others and are few; None without any."""
    times = times[(times > -_REACH_NS) & (times < _REACH_NS)]
    if not times.size:
        return None
    low, high = int(times.min()), int(times.max())
    if high - low <= _FAR_NS:
        return low, high
    times = np.sort(times)
    breaks = np.flatnonzero(np.diff(times) > _FAR_NS)
    first, last = np.append(0, breaks + 1), np.append(breaks, times.size - 1)
    rows = last - first + 1
    kept = np.flatnonzero(rows >= _KEPT_SHARE * rows.max())
    return int(times[first[kept[0]]]), int(times[last[kept[-1]]])


def _timed(table: DeviceOps) -> Mask:
    timed: Mask = (table.start_ns != NULL) & (table.start_ns != 0) & (table.end_ns >= table.start_ns)
    return timed


def _host_tables(trace: Trace, envelope: Envelope) -> tuple[dict[str, Spans], dict[str, int]]:
    """Host tables without rows of another time; a row still open at the capture's end has no end and stays."""
    kept: dict[str, Spans] = {}
    lost: dict[str, int] = {}
    for name in _HOST_TABLES:
        table: Spans = getattr(trace, name)
        usable = envelope.holds(table.start_ns) & (envelope.holds(table.end_ns) | (table.end_ns == NULL))
        if not usable.all():
            lost[name] = int((~usable).sum())
            table = table.where(usable)
        kept[name] = table
    return kept, lost


def _faults(table: DeviceOps, envelope: Envelope, calls: RuntimeCalls) -> tuple[Mask, Mask, Mask]:
    start, end = table.start_ns, table.end_ns
    zero = (start == 0) & (end == 0)
    untimed = (start == NULL) | (end == NULL)
    negative = ~untimed & (end < start)
    rest = ~zero & ~negative
    outside = rest & ~(envelope.holds(start) & envelope.holds(end))
    return zero, negative, outside | (rest & ~outside & _before_launch(table, calls))


def _before_launch(table: DeviceOps, calls: RuntimeCalls) -> Mask:
    """Ops that began long before their own launch, unless most did: then the clocks differ and no record is damaged."""
    call = join_index((table.process, table.correlation), (calls.process, calls.correlation))
    linked = call >= 0
    if not linked.any():
        return linked
    # Halved, the two can't overflow, however far apart they lie.
    early = linked & (table.start_ns // 2 < calls.start_ns[np.maximum(call, 0)] // 2 - _EARLY_NS // 2)
    return early if 2 * early.sum() <= linked.sum() else np.zeros(len(table), np.bool_)


def _by_unit(
    table: DeviceOps, bad: Mask, faults: tuple[Mask, Mask, Mask]
) -> dict[tuple[int, int], tuple[int, int, int]]:
    damaged = table.where(bad)
    first, _ = group_rows(damaged.process, damaged.device)
    found = {}
    for process, device in zip(damaged.process[first].tolist(), damaged.device[first].tolist(), strict=True):
        mine = (table.process == process) & (table.device == device)
        zero, negative, outside = (int((fault & mine).sum()) for fault in faults)
        found[process, device] = (zero, negative, outside)
    return found


def _without_traced_nodes(graphs: DeviceOps, nodes: tuple[DeviceOps, ...]) -> DeviceOps:
    if not len(graphs):
        return graphs
    traced = np.zeros(len(graphs), np.bool_)
    for table in nodes:
        inside = table.graph_node != NULL
        for process in np.unique(graphs.process).tolist():
            ids = table.correlation[inside & (table.process == process)]
            traced |= (graphs.process == process) & np.isin(graphs.correlation, ids)
    return graphs.where(~traced)
