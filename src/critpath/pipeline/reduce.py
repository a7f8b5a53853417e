"""Reduce: the summaries of all inputs to one guarded report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from critpath import __version__
from critpath.guards.registry import guard_all
from critpath.model.identity import UnitKey
from critpath.model.report import (
    ABOUT,
    Input,
    Report,
    RuleFile,
    TaxonomyUsed,
    Tool,
    Unit,
)
from critpath.model.values import Unavailable
from critpath.pipeline.capture import capture_section, capture_unavailable
from critpath.pipeline.job import without_duplicate_ranks
from critpath.pipeline.matched_units import with_matches
from critpath.pipeline.options import Options
from critpath.pipeline.ranks import JobFacts, job_facts
from critpath.pipeline.report_ranks import report_ranks
from critpath.pipeline.summaries import InputSummary
from critpath.pipeline.units import report_unit
from critpath.pipeline.verdict import limits, verdict
from critpath.pipeline.workload import declared, workload

__all__ = ["report_of"]

_UNMATCHED = "none of its collectives was matched with those of another captured unit"
_NO_SIZES = (
    "NCCL's payloads, which tell sizes, were not exported for every call: nsys export --include-blobs=true; kernels of "
    "other libraries tell none"
)
_NOT_ANALYSED = (
    ("units[].absent.launch_starved.by_host_cause[].nvtx", "ranges are not projected by this version"),
    ("units[].absent.dependency_stalled.by_reason.copy_engine", "compute ops hold no copy engine"),
    (
        "units[].absent.dependency_stalled.by_reason.queue_order",
        "hardware queues are told apart only where all streams are known to share one",
    ),
    ("units[].absent.dependency_stalled.by_reason.host_callback", "host callbacks leave no rows"),
    ("units[].communication.blocking_transfer_ms", _UNMATCHED),
    ("units[].communication.blocking_peer_wait_ms", _UNMATCHED),
    (
        "units[].communication.by_dimension",
        "no matched communicator of the unit fits one declared parallel dimension alone; sizes are declared in the "
        "manifest's [parallel], ranks in its [[report]] rows",
    ),
    ("units[].communication.matched", "the unit's kernels could not be told"),
    ("units[].communication.unmatched", "the unit's kernels could not be told"),
    ("units[].communication.transfer_proxy_ms", _UNMATCHED),
    ("units[].communication.jitter_wait_ms", _UNMATCHED),
    ("units[].communication.collectives[].bytes", _NO_SIZES),
    ("ranks.collectives.communicators[].bytes", _NO_SIZES),
    ("units[].mfu", "model FLOPs are not computed by this version"),
    ("capture.perturbation", "no trainer step times were given"),
    ("ranks.critical_path", "no step is in the windows of all analysed units, or the windows are no steps"),
    ("ranks.step", "no step is in the windows of all analysed units, or the windows are no steps"),
    ("ranks.collectives.communicators[].transfer_proxy_ms", "no instance lies in the windows of all its participants"),
    ("ranks.collectives.communicators[].jitter_wait_ms", "no instance lies in the windows of all its participants"),
    ("combined_ceiling", "ceilings are not computed by this version"),
)


def report_of(inputs: Sequence[InputSummary], options: Options) -> tuple[Report, JobFacts | None]:
    """One report of all inputs, guarded, and what units know together."""
    keys = [unit.key for source in inputs for unit in source.units]
    ids = {key: f"u{i}" for i, key in enumerate(keys)}
    units = [report_unit(unit, source, ids) for source in inputs for unit in source.units]
    units, doubted = without_duplicate_ranks(units)
    facts = job_facts(inputs, ids, options.manifest)
    if facts is not None:
        units = with_matches(units, [facts.place.get(key) for key in keys], facts)
    ranks = None if facts is None else report_ranks(facts)
    capture = declared(capture_section(inputs, ids), options.source, options.manifest)
    report = Report(
        tool=Tool(version=__version__),
        inputs=[_input(source, ids) for source in inputs],
        verdict=verdict(units, ranks, nothing_because=_nothing_because(inputs, units)),
        capture=capture,
        workload=workload(options.manifest, step_definition=_step_definition(units)),
        taxonomy=TaxonomyUsed(
            files=[RuleFile(name=f.name, sha256=f.sha256) for f in options.taxonomy.files],
            sha256=options.taxonomy.sha256,
        ),
        units=units,
        ranks=ranks,
        unavailable=[*_unavailable(units), *capture_unavailable(capture, units), *doubted],
        about=ABOUT,
    )
    rows = guard_all(report)
    guarded = report.verdict.model_copy(update={"limits": limits(rows)})
    return report.model_copy(update={"guards": rows, "verdict": guarded}), facts


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
    return f"{which}{kind} '{text}', {ends}"


def _unavailable(units: Sequence[Unit]) -> list[Unavailable]:
    found = [Unavailable(path=path, reason=reason) for path, reason in _NOT_ANALYSED]
    for i, unit in enumerate(units):
        if unit.budget is None:
            found.append(Unavailable(path=f"units[{i}]", reason=unit.error or "the unit could not be analysed"))
    if all(unit.budget is None for unit in units):
        found.append(Unavailable(path="ranks", reason="no unit could be analysed"))
    return found
