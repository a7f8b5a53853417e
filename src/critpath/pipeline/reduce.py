"""Reduce: the summaries of all inputs to one guarded report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from critpath import __version__
from critpath.base.redaction import redacted
from critpath.guards.registry import guard_all
from critpath.model.identity import UnitKey, pid_of
from critpath.model.report import (
    ABOUT,
    Capture,
    CaptureWarning,
    Input,
    MissingTable,
    Process,
    Report,
    RuleFile,
    TaxonomyUsed,
    Tool,
    Unit,
    Workload,
)
from critpath.model.values import NS_PER_MS, Unavailable
from critpath.pipeline.inputs import InputSummary, UnitSummary
from critpath.pipeline.options import Options
from critpath.pipeline.units import report_unit
from critpath.pipeline.verdict import limits, verdict

__all__ = ["report_of"]

_SEVERITIES = {1: "info", 2: "warning", 3: "error", 4: "verbose"}
_SOURCES = {1: "Injection", 2: "Daemon", 3: "Analysis"}

_NOT_ANALYSED = (
    ("units[].absent", "why compute was absent is not analysed by this version"),
    ("units[].communication.blocking_ms", "dependencies are not resolved by this version"),
    ("units[].communication.blocking_transfer_ms", "collectives are not matched by this version"),
    ("units[].communication.blocking_peer_wait_ms", "collectives are not matched by this version"),
    ("units[].communication.by_dimension", "parallel dimensions are not read by this version"),
    ("units[].communication.matched", "collectives are not matched by this version"),
    ("units[].communication.unmatched", "collectives are not matched by this version"),
    ("units[].communication.transfer_proxy_ms", "collectives are not matched by this version"),
    ("units[].communication.jitter_wait_ms", "collectives are not matched by this version"),
    ("units[].communication.collectives[].bytes", "message sizes are not read by this version"),
    ("units[].transfers[].blocking_ms", "dependencies are not resolved by this version"),
    ("units[].transfers[].verdict", "a verdict on copies needs their dependencies, which are not resolved"),
    ("units[].metrics", "metric samples are not read by this version"),
    ("units[].mfu", "model FLOPs are not computed by this version"),
    ("capture.metrics", "metric samples are not read by this version"),
    ("capture.source_link_rate", "call stacks are not read by this version"),
    ("capture.perturbation", "no trainer step times were given"),
    ("ranks", "units are not compared by this version"),
    ("combined_ceiling", "ceilings are not computed by this version"),
)


def report_of(inputs: Sequence[InputSummary], options: Options) -> Report:
    """One report of all inputs, guarded."""
    keys = [unit.key for source in inputs for unit in source.units]
    ids = {key: f"u{i}" for i, key in enumerate(keys)}
    units = [report_unit(unit, source, ids) for source in inputs for unit in source.units]
    units, doubted = _without_duplicate_ranks(units)
    report = Report(
        tool=Tool(version=__version__),
        inputs=[_input(source, ids) for source in inputs],
        verdict=verdict(units, nothing_because=_nothing_because(inputs, units)),
        capture=_capture(inputs, units),
        workload=Workload(step_definition=_step_definition(units)),
        taxonomy=TaxonomyUsed(
            files=[RuleFile(name=f.name, sha256=f.sha256) for f in options.taxonomy.files],
            sha256=options.taxonomy.sha256,
        ),
        units=units,
        unavailable=[*_unavailable(units), *doubted],
        about=ABOUT,
    )
    rows = guard_all(report)
    guarded = report.verdict.model_copy(update={"limits": limits(rows)})
    return report.model_copy(update={"guards": rows, "verdict": guarded})


def _input(source: InputSummary, ids: dict[UnitKey, str]) -> Input:
    told = source.source
    if told is None:
        return Input(path=source.path, status="failed", error=str(source.error))
    return Input(
        path=source.path,
        kind=told.kind,  # type: ignore[arg-type]
        bytes=told.bytes,
        nsys_version=told.nsys_version,
        schema_version=told.schema_version,
        hostname=told.hostname,
        session_start_utc_ns=told.session_start_utc_ns,
        units=[ids[u.key] for u in source.units],
    )


def _without_duplicate_ranks(units: list[Unit]) -> tuple[list[Unit], list[Unavailable]]:
    """Units that state one rank contradict one another: none is believed, and the report says so."""
    stated = Counter(u.rank for u in units if u.rank is not None)
    kept, doubted = [], []
    for i, unit in enumerate(units):
        if unit.rank is None or stated[unit.rank] == 1:
            kept.append(unit)
            continue
        others = ", ".join(u.id for u in units if u.rank == unit.rank and u.id != unit.id)
        reason = f"{unit.rank_source} states rank {unit.rank}, which {others} states too; neither is believed"
        doubted.append(Unavailable(path=f"units[{i}].rank", reason=reason))
        kept.append(unit.model_copy(update={"rank": None, "rank_source": "unknown"}))
    return kept, doubted


def _nothing_because(inputs: Sequence[InputSummary], units: Sequence[Unit]) -> str:
    failed = [s for s in inputs if s.error]
    if failed and len(failed) == len(inputs):
        return "no input could be read."
    if units:
        return f"none of {len(units)} units could be analysed; {units[0].id}: {units[0].error}."
    api = sum(p.api_rows for s in inputs for p in s.processes)
    if api:
        return (
            f"{api:,} CUDA API calls were captured and not one device op, so whether the device worked is unknown; "
            "this is no idle device."
        )
    return "the capture holds neither CUDA API calls nor device ops; CUDA was not traced, or not used."


def _capture(inputs: Sequence[InputSummary], units: Sequence[Unit]) -> Capture:
    found = [u.summary for s in inputs for u in s.units if u.summary is not None]
    ops = sum(f.links.device_ops for f in found)
    windows = sum(len(f.windows) for f in found)
    overhead = sum(f.profiler_overhead_ns for f in found)
    return Capture(
        ranks_declared=_world_size(inputs),
        ranks_captured=sum(u.budget is not None for u in units),
        graph_mode=_graph_mode(inputs, sum(f.links.graph_launch_calls for f in found)),  # type: ignore[arg-type]
        event_trace=any(dict(s.rows).get("CUPTI_ACTIVITY_KIND_CUDA_EVENT", 0) > 0 for s in inputs),
        runtime_link_rate=sum(f.links.linked for f in found) / ops if ops else None,
        warnings=_warnings(inputs),
        missing=[MissingTable(input=i, table=t) for i, s in enumerate(inputs) for t in s.missing_tables],
        profiler_overhead_recorded_ms=overhead / windows / NS_PER_MS if windows else None,
        processes=[
            Process(input=i, pid=pid_of(p.process), name=p.name, device_rows=p.device_rows, api_rows=p.api_rows)
            for i, s in enumerate(inputs)
            for p in s.processes
        ],
    )


def _world_size(inputs: Sequence[InputSummary]) -> int | None:
    """The job's size, where every input with a rank from its environment states the same."""
    sizes = {dict(s.environment).get("WORLD_SIZE") for s in inputs if any(u.rank is not None for u in s.units)}
    stated = sizes.pop() if len(sizes) == 1 else None
    return int(stated) if stated else None


def _graph_mode(inputs: Sequence[InputSummary], launch_calls: int) -> str:
    graph = any(s.graph_rows for s in inputs)
    node = any(s.node_rows for s in inputs)
    if graph and node:
        return "mixed"
    if graph or node:
        return "graph" if graph else "node"
    return "unknown" if launch_calls else "none"


def _warnings(inputs: Sequence[InputSummary]) -> list[CaptureWarning]:
    found = []
    for i, source in enumerate(inputs):
        for d in source.diagnostics:
            if d.severity in (2, 3):
                found.append(
                    CaptureWarning(
                        input=i,
                        severity=_SEVERITIES[d.severity],
                        source=_SOURCES.get(d.source, "unknown"),
                        text=redacted(d.text),
                    )
                )
        found += [_own(i, note) for note in source.notes]
        found += [_own(i, note) for note in map(_beyond_capture, source.units) if note]
        for column, n in source.mistyped:
            found.append(_own(i, f"{column}: {n:,} values are no integers; they were read as missing"))
    return found


def _own(index: int, text: str) -> CaptureWarning:
    return CaptureWarning(input=index, severity="warning", source="critpath", text=text)


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


def _step_definition(units: Sequence[Unit]) -> str:
    windows = [u.window for u in units if u.window is not None]
    if not windows:
        return "none: no unit was analysed"
    kinds = Counter((w.anchor.kind, w.anchor.text, w.scope) for w in windows)
    (kind, text, scope), n = kinds.most_common(1)[0]
    which = f"{n} of {len(windows)} units: " if len(kinds) > 1 else ""
    if kind == "capture":
        return f"{which}no step was found; one window over all device work, which is not a step"
    if kind == "explicit":
        return f"{which}the span {text} ns of the report's axis, as given; it is not known to be a step"
    ends = (
        "from the first compute op that a range launched to that of the next range, so that windows tile"
        if scope == "period"
        else "from the first compute op that a range launched to the last end of its own ops; time between is outside"
    )
    return f"{which}{kind} {text!r}, {ends}"


def _unavailable(units: Sequence[Unit]) -> list[Unavailable]:
    found = [Unavailable(path=path, reason=reason) for path, reason in _NOT_ANALYSED]
    for i, unit in enumerate(units):
        if unit.budget is None:
            found.append(Unavailable(path=f"units[{i}]", reason=unit.error or "the unit could not be analysed"))
    if not units:
        for path in ("capture.runtime_link_rate", "capture.profiler_overhead_recorded_ms"):
            found.append(Unavailable(path=path, reason="no device op was captured", needs=["--trace=cuda"]))
    return found
