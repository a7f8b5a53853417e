"""Damaged device records: told apart, counted, and left out of every figure.

CUPTI writes start = end = 0 where no time could be taken, sentinels in place of times, and now and then records of
another time altogether. One such record would stretch a capture to decades or fill a window that was idle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.model.tables import DeviceOps
from critpath.model.trace import Trace

__all__ = ["Damage", "Envelope", "capture_envelope", "without_damage"]

_MARGIN_NS = 60_000_000_000
_TAIL = 0.001


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where records of a capture can lie [ns, report axis]; anything beyond is far outside."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Damage:
    """Records set aside, by what is wrong with them, and by table and process.

    Attributes:
        by_table: (canonical table, process, device) → (zero, negative, outside).
    """

    by_table: dict[tuple[str, int, int], tuple[int, int, int]]

    def of(self, process: int, device: int) -> dict[str, tuple[int, int, int]]:
        """The counts of one unit by table; tables without damage are left out."""
        return {t: counts for (t, p, d), counts in self.by_table.items() if (p, d) == (process, device)}


def capture_envelope(trace: Trace) -> Envelope | None:
    """Where records can lie: around the host's API calls, which survive when device times don't.

    Without calls the session's own length serves, else the bulk of the device records. None without any of them.
    A margin of a minute and of the capture's own length on each side lets work launched before the capture, and
    clocks that need alignment, pass.
    """
    spans = []
    calls = trace.runtime_calls.start_ns
    if calls.size:
        spans.append(_bulk(calls))
    if trace.source.duration_ns and not trace.source.utc_axis:
        spans.append((0, trace.source.duration_ns))
    if not spans:
        starts = np.concatenate([t.start_ns[_timed(t)] for t in (trace.kernels, trace.copies, trace.memsets)])
        if not starts.size:
            return None
        spans.append(_bulk(starts))
    start, end = min(s for s, _ in spans), max(e for _, e in spans)
    margin = _MARGIN_NS + (end - start)
    return Envelope(start - margin, end + margin)


def without_damage(trace: Trace) -> tuple[Trace, Damage]:
    """The trace without damaged device records, and what was set aside.

    A graph row whose launch also has node rows is no damage, but the same work twice: it is left out silently.
    """
    envelope = capture_envelope(trace)
    counts: dict[tuple[str, int, int], tuple[int, int, int]] = {}
    kept = {}
    for name in ("kernels", "copies", "memsets", "graph_launches"):
        table: DeviceOps = getattr(trace, name)
        zero, negative, outside = _faults(table, envelope)
        bad = zero | negative | outside
        if bad.any():
            damaged = table.where(bad)
            first, _ = group_rows(damaged.process, damaged.device)
            for process, device in zip(damaged.process[first].tolist(), damaged.device[first].tolist(), strict=True):
                mine = (table.process == process) & (table.device == device)
                counts[name, process, device] = (
                    int((zero & mine).sum()),
                    int((negative & mine).sum()),
                    int((outside & mine).sum()),
                )
            kept[name] = table.where(~bad)
        else:
            kept[name] = table
    kept["graph_launches"] = _without_traced_nodes(
        kept["graph_launches"], (kept["kernels"], kept["copies"], kept["memsets"])
    )
    return replace(trace, **kept), Damage(counts)  # type: ignore[arg-type]


def _bulk(times: I64) -> tuple[int, int]:
    """Where all but a thousandth of the times at either end lie."""
    times = times[times != NULL]
    if not times.size:
        return 0, 0
    low, high = np.quantile(times.astype(np.float64), [_TAIL, 1 - _TAIL])
    return int(low), int(high)


def _timed(table: DeviceOps) -> npt.NDArray[np.bool_]:
    timed: npt.NDArray[np.bool_] = (table.start_ns != NULL) & (table.start_ns != 0) & (table.end_ns >= table.start_ns)
    return timed


def _faults(table: DeviceOps, envelope: Envelope | None) -> tuple[npt.NDArray[np.bool_], ...]:
    start, end = table.start_ns, table.end_ns
    zero = (start == 0) & (end == 0)
    negative = ~zero & (end < start)
    outside = ~zero & ~negative & ((start == NULL) | (end == NULL))
    if envelope is not None:
        outside |= ~zero & ~negative & ((start < envelope.start_ns) | (end > envelope.end_ns))
    return zero, negative, outside


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
