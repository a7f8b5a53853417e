"""The capture section of the report: what all inputs together can and can't support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from critpath.model.identity import UnitKey, pid_of
from critpath.model.report import (
    ApiFailure,
    Capture,
    CaptureWarning,
    GraphCoverage,
    MissingTable,
    Overhead,
    Partial,
    Process,
    Unit,
)
from critpath.model.report.words import GraphMode, Instrumentation, MetricsState
from critpath.model.values import NS_PER_MS, Unavailable
from critpath.pipeline.summaries import InputSummary, UnitSummary
from critpath.rank.capture import CaptureQuality, LinkRate
from critpath.rank.diagnostics import Message, Reach
from critpath.rank.summary import RankSummary

__all__ = ["capture_section", "capture_unavailable"]

_WARNING = frozenset({"warning", "error"})
_METRICS: dict[MetricsState | None, str] = {
    "present": "metric samples are not read by this version",
    "absent": "no metric was sampled",
    "denied": "the profiler was not permitted to read the GPU's counters",
    None: "no input could be read",
}
_SOURCES = {"injection": "Injection", "daemon": "Daemon", "analysis": "Analysis"}


@dataclass(frozen=True, slots=True)
class _Of:
    """One input that could be read: its place, its quality, its units' ids by process."""

    index: int
    summary: InputSummary
    quality: CaptureQuality
    units: Mapping[int, tuple[str, ...]]

    def concerned(self, processes: Sequence[int]) -> list[str]:
        """Units of the given processes; without any process, all of the input."""
        return [
            unit for process, units in self.units.items() if not processes or process in processes for unit in units
        ]


def capture_section(inputs: Sequence[InputSummary], ids: Mapping[UnitKey, str]) -> Capture:
    """What the inputs hold and lack; the units' own figures are told elsewhere.

    Args:
        inputs: all of them, in the report's order.
        ids: the report's id of every unit.
    """
    read = [_of(i, s, s.quality, ids) for i, s in enumerate(inputs) if s.quality is not None]
    found = [u.summary for s in inputs for u in s.units if u.summary is not None]
    qualities = [of.quality for of in read]
    return Capture(
        ranks_declared=_world_size(inputs),
        ranks_captured=len(found),
        graph_mode=_graph_mode(qualities),
        graph_coverage=_graph_coverage(qualities),
        event_trace=any(q.event_trace for q in qualities) if qualities else None,
        runtime_link_rate=_link_rate([q.runtime_links for q in qualities]),
        source_link_rate=_link_rate([q.source_links for q in qualities]),
        instrumentation=_instrumentation(qualities),
        metrics=_metrics(qualities),
        warnings=[row for of in read for row in _warnings(of, ids)],
        missing=[
            MissingTable(input=of.index, table=t.table, means=t.means, constrains=list(t.constrains))
            for of in read
            for t in of.quality.missing
        ],
        partial=[row for of in read for row in _partial(of)],
        profiler_overhead_recorded_ms=_profilers_own_ms(qualities, found),
        overhead=_overhead(found),
        processes=[row for of in read for row in _processes(of)],
        api_failures=[
            ApiFailure(
                input=of.index, function=f.function, code=f.code, name=f.name, fatal=f.fatal, calls=f.calls
            )
            for of in read
            for f in of.quality.failures
        ],
    )  # fmt: skip


def capture_unavailable(capture: Capture, units: Sequence[Unit]) -> list[Unavailable]:
    """Why the section's nulls are null, and those of units that it explains.

    Args:
        capture: the section.
        units: all units, in the report's order.
    """
    reasons = {
        "event_trace": ("no input could be read", []),
        "metrics": ("no input could be read", []),
        "runtime_link_rate": ("no device op was captured", ["--trace=cuda"]),
        "source_link_rate": ("no device op was captured", ["--trace=cuda"]),
        "profiler_overhead_recorded_ms": (
            "no overhead row was recorded, or there is no window to count it in; that is no proof of none",
            [],
        ),
    }
    found = [
        Unavailable(path=f"capture.{key}", reason=reason, needs=needs)
        for key, (reason, needs) in reasons.items()
        if getattr(capture, key) is None
    ]
    found += [
        Unavailable(
            path=f"units[{i}].host_sync",
            reason="the export has no table of synchronization; that is no proof that the host never waited",
            needs=["--trace=cuda"],
        )
        for i, unit in enumerate(units)
        if unit.budget is not None and unit.host_sync is None
    ]
    return [*found, Unavailable(path="units[].metrics", reason=_METRICS[capture.metrics])]


def _of(index: int, summary: InputSummary, quality: CaptureQuality, ids: Mapping[UnitKey, str]) -> _Of:
    units: dict[int, tuple[str, ...]] = {}
    for unit in summary.units:
        units[unit.key.process] = (*units.get(unit.key.process, ()), ids[unit.key])
    return _Of(index, summary, quality, units)


def _world_size(inputs: Sequence[InputSummary]) -> int | None:
    """The job's size, where every input with a rank from its environment states the same."""
    sizes = {dict(s.environment).get("WORLD_SIZE") for s in inputs if any(u.rank is not None for u in s.units)}
    stated = sizes.pop() if len(sizes) == 1 else None
    return int(stated) if stated else None


def _graph_mode(qualities: Sequence[CaptureQuality]) -> GraphMode:
    modes = {q.graphs.mode for q in qualities}
    told = modes & {"node", "graph", "mixed"}
    if len(told) == 1:
        return told.pop()
    if told:
        return "mixed"
    return "none" if modes == {"none"} else "unknown"


def _graph_coverage(qualities: Sequence[CaptureQuality]) -> GraphCoverage | None:
    if not any(p.rows.api_rows for q in qualities for p in q.processes):
        return None
    rows = [row for q in qualities for row in q.graphs.coverage]
    return GraphCoverage(
        launches=sum(row.launches for row in rows),
        covered=sum(row.covered for row in rows),
        opaque=sum(row.opaque for row in rows),
        by_node=sum(row.by_node for row in rows),
    )


def _link_rate(rates: Sequence[LinkRate]) -> float | None:
    return LinkRate(sum(r.linked for r in rates), sum(r.device_ops for r in rates)).share


def _instrumentation(qualities: Sequence[CaptureQuality]) -> Instrumentation:
    modes: set[Instrumentation] = {q.instrumentation for q in qualities if q.processes}
    return modes.pop() if len(modes) == 1 else "unknown"


def _metrics(qualities: Sequence[CaptureQuality]) -> MetricsState | None:
    """Present where any input has samples; denied is told before absent, since it has a remedy."""
    states: set[MetricsState] = {q.metrics for q in qualities}
    order: tuple[MetricsState, ...] = ("present", "denied", "absent")
    return next((state for state in order if state in states), None)


def _warnings(of: _Of, ids: Mapping[UnitKey, str]) -> list[CaptureWarning]:
    """The messages that constrain something, those that nobody knows, and all that the profiler itself warned of."""
    told = [m for m in of.quality.messages if m.constrains or m.id == "unclassified" or m.severity in _WARNING]
    found = [_warning(of, message) for message in told]
    for note in of.summary.notes:
        found.append(_own(of, note.text, note.constrains, of.concerned(())))
    for unit in of.summary.units:
        text = _beyond_capture(unit)
        if text:
            found.append(_own(of, text, ("absence of device ops",), [ids[unit.key]]))
    return found


def _warning(of: _Of, message: Message) -> CaptureWarning:
    helper = message.reach is Reach.HELPER
    return CaptureWarning(
        input=of.index,
        severity=message.severity,
        source=_SOURCES.get(message.source, message.source),
        text=message.text,
        id=message.id,
        means=message.means,
        constrains=list(message.constrains),
        takes_away=message.takes_away and bool(message.constrains),
        scope=message.reach.value,
        pid=None if message.process is None else pid_of(message.process),
        units=[] if helper else of.concerned(() if message.process is None else (message.process,)),
        count=message.count,
    )


def _own(of: _Of, text: str, constrains: Sequence[str], units: Sequence[str]) -> CaptureWarning:
    return CaptureWarning(
        input=of.index,
        severity="warning",
        source="critpath",
        text=text,
        id="critpath",
        constrains=list(constrains),
        units=list(units),
    )


def _beyond_capture(unit: UnitSummary) -> str | None:
    """A note on a given span that reaches beyond the unit's device ops: nobody knows that its device idled there."""
    if unit.summary is None or unit.summary.windows.kind != "explicit":
        return None
    first, last = unit.summary.span_ns
    start, end = int(unit.summary.windows.starts_ns[0]), int(unit.summary.windows.ends_ns[0])
    if first <= start and end <= last:
        return None
    return (
        f"process {pid_of(unit.key.process)}, device {unit.key.device}: its device ops lie in {first}:{last} ns only; "
        f"the rest of the window {start}:{end} counts as idle, and may not have been captured"
    )


def _partial(of: _Of) -> list[Partial]:
    return [
        Partial(
            input=of.index,
            id=gap.id,
            what=gap.text,
            count=gap.count,
            of=gap.of,
            units=of.concerned(gap.processes),
            constrains=list(gap.constrains),
            takes_away=gap.takes_away,
            optional=gap.optional,
        )
        for gap in of.quality.gaps
    ]


def _profilers_own_ms(qualities: Sequence[CaptureQuality], found: Sequence[RankSummary]) -> float | None:
    windows = sum(len(f.windows) for f in found)
    if not windows or not any(q.overheads_recorded for q in qualities):
        return None
    return sum(f.profiler_overhead_ns for f in found) / windows / NS_PER_MS


def _overhead(found: Sequence[RankSummary]) -> list[Overhead]:
    windows = sum(len(f.windows) for f in found)
    walls: dict[tuple[str, str], int] = {}
    for row in (row for f in found for row in f.overheads):
        walls[row.label, row.owner] = walls.get((row.label, row.owner), 0) + row.wall_ns
    return [
        Overhead(kind=kind, owner=owner, ms=wall_ns / windows / NS_PER_MS)  # type: ignore[arg-type]
        for (kind, owner), wall_ns in sorted(walls.items(), key=lambda item: -item[1])
    ]


def _processes(of: _Of) -> list[Process]:
    return [
        Process(
            input=of.index,
            pid=p.rows.pid,
            name=p.rows.name,
            scope=p.rows.reach.value,
            units=list(of.units.get(p.rows.process, ())),
            device_rows=p.rows.device_rows,
            migrations=p.rows.migrations,
            api_rows=p.rows.api_rows,
            completeness=p.completeness.value,
            reasons=list(p.reasons),
            instrumentation=p.instrumentation,
            dropped=p.dropped,
        )
        for p in of.quality.processes
    ]
