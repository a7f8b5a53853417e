"""Map: one input to a small picklable summary of it and of each of its units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from critpath.base.errors import CritpathError
from critpath.base.grouping import group_rows
from critpath.base.intervals import Intervals
from critpath.ingest.label import label
from critpath.ingest.source import InputFile
from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL, UnitKey, pid_of
from critpath.model.trace import Gpu, Trace, UnitTrace
from critpath.pipeline.absences import with_absences
from critpath.pipeline.options import Options
from critpath.pipeline.summaries import InputSummary, Note, SharedGpu, UnitSummary
from critpath.rank.capture import capture_quality
from critpath.rank.collective_ops import memberships
from critpath.rank.set_aside import Damage, without_damage
from critpath.rank.summary import StepOptions, ops_span, summarise
from critpath.rank.units import unit_keys, unit_trace

__all__ = ["InputSummary", "Note", "SharedGpu", "UnitSummary", "summarise_input"]

_DIGITS = re.compile(r"\d+")
_RANGES_TOLD = 5


def summarise_input(given: InputFile, report: int, options: Options) -> InputSummary:
    """Read and analyse one input; an unreadable one becomes a row with its error."""
    try:
        read = read_trace(given)
    except CritpathError as error:
        return InputSummary(path=label(given.path), error=error)
    trace, damage = without_damage(read)
    places = {(key.process, key.device) for key in unit_keys(trace, report)} | damage.devices()
    keys = [UnitKey(report, process, device) for process, device in sorted(places)]
    units = tuple(_unit_summary(trace, damage, key, keys, options) for key in keys)
    return InputSummary(
        path=label(given.path),
        source=trace.source,
        units=tuple(_compact(unit) for unit in with_absences(trace, _with_shared_gpus(units), options)),
        quality=capture_quality(read),
        environment=tuple(sorted(trace.environment.items())),
        notes=_notes(trace, damage),
    )


def _compact(unit: UnitSummary) -> UnitSummary:
    return unit if unit.summary is None else replace(unit, summary=unit.summary.compact())


def _unit_summary(trace: Trace, damage: Damage, key: UnitKey, keys: Sequence[UnitKey], options: Options) -> UnitSummary:
    rows = unit_trace(trace, key)
    found = summarise(rows, options.taxonomy, options.step)
    alone = sum(k.process == key.process for k in keys) == 1
    rank, rank_source = _rank(trace, key, alone=alone)
    null_streams, known = _null_streams(trace)
    damaged = damage.of(key.process, key.device)
    return UnitSummary(
        key=key,
        rank=rank,
        rank_source=rank_source,
        gpu=_gpu(trace, key, keys),
        damage=damaged,
        null_streams=frozenset((c, s) for p, c, s in null_streams if p == key.process),
        known_contexts=frozenset(c for p, c in known if p == key.process),
        summary=found,
        span_ns=ops_span(rows),
        failure=None if found else _failure(rows, damaged, options.step),
        memberships=memberships(trace.nccl_calls, key.process, key.device, alone=alone),
        ranges=() if found or options.step.step is None else _range_texts(rows),
    )


def _rank(trace: Trace, key: UnitKey, *, alone: bool) -> tuple[int | None, str]:
    """(rank, its source). What is stated of a process is its unit's only where the process used one device."""
    of_process = trace.rank_by_process.get(key.process) if alone else None
    of_device = trace.rank_by_device.get((key.process, key.device))
    if of_process is not None and trace.rank_source == "mpi":
        return of_process, "mpi"
    if of_device is not None:
        return of_device, "jax"
    return (None, "unknown") if of_process is None else (of_process, trace.rank_source or "unknown")


def _failure(rows: UnitTrace, damaged: Mapping[str, tuple[int, ...]], step: StepOptions) -> str:
    """Why nothing is said of a unit, what that means, and what to do."""
    span = ops_span(rows)
    if span is None:
        told = ", ".join(f"{sum(counts):,} {table}" for table, counts in sorted(damaged.items()))
        return (
            f"every device record of this unit is damaged ({told}); when its device worked is unknown; "
            "capture again, with a newer driver where there is one"
        )
    if step.span_ns is not None:
        start, end = step.span_ns
        return (
            f"no device op of this unit lies in {start}:{end}; whether its device was idle then or not captured is "
            f"unknown, so nothing is said of it; its ops lie in {span[0]}:{span[1]} ns"
        )
    if step.step is not None:
        return (
            f"no NVTX range of this unit matches '{step.step.pattern}' and launched compute work; "
            "its steps are unknown, so nothing is said of it; check the expression against its ranges"
        )
    return (
        "its device ops have no length, so there is no span of time to divide; nothing is said of it; "
        "capture a longer part of the run"
    )


def _range_texts(rows: UnitTrace) -> tuple[str, ...]:
    """The most frequent kinds of NVTX ranges, each by one of its texts; ranges that differ in numbers are one kind."""
    first, group = group_rows(rows.nvtx_ranges.name)
    kinds: dict[str, tuple[int, str]] = {}
    for row, n in zip(first.tolist(), np.bincount(group, minlength=first.size).tolist(), strict=True):
        text = rows.strings[int(rows.nvtx_ranges.name[row])]
        kind = _DIGITS.sub("#", text)
        before, example = kinds.get(kind, (0, text))
        kinds[kind] = (before + n, example)
    return tuple(text for _, text in sorted(kinds.values(), key=lambda k: (-k[0], k[1]))[:_RANGES_TOLD])


def _notes(trace: Trace, damage: Damage) -> tuple[Note, ...]:
    """What was left out or is not known of the records."""
    totals = ("totals (lower bounds only)",)
    notes = [
        Note(f"{table}: {n:,} records name no device; they belong to no unit and are in no figure", totals)
        for table, n in damage.unplaced.items()
    ]
    notes += [
        Note(f"{table}: {n:,} host records have no time inside the capture; left out", ("absence of API calls",))
        for table, n in damage.host.items()
    ]
    notes += _launch_notes(trace)
    nobody = sum(int((t.process == NULL).sum()) for t in (trace.kernels, trace.copies, trace.memsets))
    if nobody:
        told = f"{nobody:,} device ops name no process; they are told as process 0, and join no API call"
        notes.append(Note(told, ("launch causes",)))
    sizeless = sum(int((t.bytes == NULL).sum()) for t in (trace.copies, trace.memsets))
    if sizeless:
        told = f"{sizeless:,} copies or memsets tell no usable size; bytes and rates are those of the others"
        notes.append(Note(told, totals))
    notes += [
        Note(f"{column}: {n:,} values are no integers; they were read as missing", totals)
        for column, n in sorted(trace.mistyped.items())
    ]
    return tuple(notes)


def _launch_notes(trace: Trace) -> list[Note]:
    """Why the time of a launch call may not be when its op was issued."""
    notes = []
    if trace.environment.get("CUDA_LAUNCH_BLOCKING") == "1":
        told = "CUDA_LAUNCH_BLOCKING=1: every launch waited for its kernel, so nothing is claimed of launch starvation"
        notes.append(Note(told, ("launch causes",)))
    if trace.source.batches_launches:
        told = "Windows or WSL submits launches in batches: when an op was issued is unknown, and stalls stay unknown"
        notes.append(Note(told, ("launch causes",)))
    return notes


def _gpu(trace: Trace, key: UnitKey, keys: Sequence[UnitKey]) -> Gpu | None:
    """The GPU behind a unit's ordinal.

    What a process saw is told by (pid, ordinal). The profiler's own list says which one it was only when there is
    a single GPU and no process used several; otherwise it can tell the model, where all are of one.
    """
    pid = pid_of(key.process)
    seen = [g for g in trace.gpus if g.pid == pid and g.device == key.device]
    if seen:
        return seen[0]
    listed = [g for g in trace.gpus if g.pid is None]
    if len(listed) == 1 and not any(k.process == key.process and k.device != key.device for k in keys):
        return listed[0]
    models = {g.name for g in listed}
    return Gpu(pid, key.device, models.pop(), None, None) if len(models) == 1 else None


def _null_streams(trace: Trace) -> tuple[set[tuple[int, int, int]], set[tuple[int, int]]]:
    found = {(c.process, c.context, c.null_stream) for c in trace.contexts if c.null_stream is not None}
    found |= {(s.process, s.context, s.stream) for s in trace.streams if s.flag == 3}
    return found, {(p, c) for p, c, _ in found}


def _with_shared_gpus(units: tuple[UnitSummary, ...]) -> tuple[UnitSummary, ...]:
    """Units of one input on one physical GPU, each with the union of all of them in its windows."""
    by_gpu: dict[str, list[UnitSummary]] = {}
    for unit in units:
        identity = unit.gpu and (unit.gpu.uuid or unit.gpu.bus)
        if identity and unit.summary is not None:
            by_gpu.setdefault(identity, []).append(unit)
    shared: dict[UnitKey, SharedGpu] = {}
    for group in by_gpu.values():
        busy = reduce(Intervals.union, [u.summary.busy for u in group if u.summary is not None])
        for unit in group if len(group) > 1 else ():
            assert unit.summary is not None  # noqa: S101  (grouped above)
            windows = unit.summary.windows
            others = tuple(u.key for u in group if u.key != unit.key)
            shared[unit.key] = SharedGpu(others, busy.clip(windows.starts_ns, windows.ends_ns))
    return tuple(replace(u, shared=shared.get(u.key)) for u in units)
