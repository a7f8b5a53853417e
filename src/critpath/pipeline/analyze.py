"""From inputs to a report."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from critpath.base.errors import SelectionError
from critpath.ingest.manifest import manifest_inputs
from critpath.ingest.source import InputFile, find_inputs, input_file
from critpath.model.report import Report
from critpath.pipeline.job import ranks_in_names, with_named_rank, with_nccl_ranks, with_rows
from critpath.pipeline.mapping import MapSettings, map_inputs
from critpath.pipeline.options import Options, step_options
from critpath.pipeline.rank_frames import rank_frames
from critpath.pipeline.reduce import report_of
from critpath.pipeline.summaries import InputSummary, UnitSummary
from critpath.rank.summary import StepOptions

__all__ = ["Analysis", "analysis", "analyze"]

Input = str | Path | InputFile
"""An input as callers name it."""

_RANGES_TOLD = 5
_LONGEST_TOLD = 60


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report, and the frames with the rows behind it: none unless `Options.frames` is set."""

    report: Report
    frames: Mapping[str, pl.LazyFrame]


def analyze(inputs: Sequence[Input], options: Options | None = None, how: MapSettings | None = None) -> Report:
    """The report of one or several inputs; see `analysis`."""
    return analysis(inputs, options, how).report


def analysis(inputs: Sequence[Input], options: Options | None = None, how: MapSettings | None = None) -> Analysis:
    """The report of one or several inputs, and its frames.

    Args:
        inputs: files and folders of any kind; one that doesn't exist becomes a failed row. Without any, those that the
            manifest names.
        options: how to analyse.
        how: who analyses the inputs, and what is kept; by default this process, one after the other, and nothing.

    Raises:
        InputError: no input could be read, or one couldn't and `options.strict` is set.
        OptionError: what the user says of ranks can't be true of the inputs.
        SelectionError: what was asked for selects nothing in any input.
    """
    chosen = options or Options()
    manifest = chosen.manifest
    if manifest is not None and chosen.step == StepOptions():
        chosen = replace(chosen, step=step_options(declared=manifest.step))
    files = _files(inputs) if inputs or manifest is None else manifest_inputs(manifest)
    ranks = [None] * len(files) if chosen.rank_regex is None else ranks_in_names(files, chosen.rank_regex)
    found = map_inputs(files, chosen, how or MapSettings())
    summaries = [
        with_rows(with_named_rank(summary, rank), file.path, manifest.reports if manifest else ())
        for summary, file, rank in zip(found, files, ranks, strict=True)
    ]
    summaries = with_nccl_ranks(summaries, manifest.job.ranks if manifest else None)
    _refuse_unreadable(summaries)
    _refuse_empty_selection(summaries, chosen)
    report, facts = report_of(summaries, chosen)
    together = rank_frames(facts) if chosen.frames and facts is not None else {}
    return Analysis(report, _frames(summaries) | together)


def _frames(summaries: Sequence[InputSummary]) -> dict[str, pl.LazyFrame]:
    """Every frame over all units, the unit's id first."""
    parts: dict[str, list[pl.LazyFrame]] = {}
    for i, unit in enumerate(unit for source in summaries for unit in source.units):
        for name, frame in unit.lazy_frames().items():
            parts.setdefault(name, []).append(frame.select(pl.lit(f"u{i}").alias("unit"), pl.all()))
    return {name: pl.concat(frames) for name, frames in parts.items()}


def _files(inputs: Sequence[Input]) -> list[InputFile]:
    """The inputs, with folders of inputs looked into."""
    found: list[InputFile] = []
    for given in inputs:
        if isinstance(given, InputFile):
            found.append(given)
        elif Path(given).exists():
            found.extend(find_inputs([str(given)]))
        else:
            found.append(input_file(Path(given)))
    return found


def _refuse_unreadable(summaries: Sequence[InputSummary]) -> None:
    faults = [s.error for s in summaries if s.error is not None]
    if faults and len(faults) == len(summaries):
        raise faults[0]


def _refuse_empty_selection(summaries: Sequence[InputSummary], options: Options) -> None:
    """A span without ops, or a step that no range matches, must not read as an idle device."""
    units = [u for s in summaries for u in s.units]
    spans = [u.span_ns for u in units if u.span_ns is not None]
    if not spans or any(u.summary is not None for u in units):
        return
    if options.step.span_ns is not None:
        start, end = options.step.span_ns
        raise SelectionError(
            f"no device op lies in {start}:{end}",
            where="--window",
            meaning="An empty window would read as an idle device, so nothing was analysed.",
            remedy=f"Device ops lie in {min(s for s, _ in spans)}:{max(e for _, e in spans)} ns of the report's axis.",
        )
    if options.step.step is not None:
        raise SelectionError(
            _no_step(options.step.step, units),
            where="--step",
            meaning="Without a step there is nothing to divide, so nothing was analysed.",
            remedy=_ranges_there(units),
        )


def _no_step(step: re.Pattern[str], units: Sequence[UnitSummary]) -> str:
    if any(step.fullmatch(text) for unit in units for text in unit.ranges):
        return f"of the NVTX ranges that match '{step.pattern}', no two in a row launched compute work"
    return f"no NVTX range that launched compute work matches '{step.pattern}'"


def _ranges_there(units: Sequence[UnitSummary]) -> str:
    texts = list(dict.fromkeys(text for unit in units for text in unit.ranges))[:_RANGES_TOLD]
    if not texts:
        return "The capture holds no NVTX ranges: analyse without --step, or capture again with --trace=cuda,nvtx."
    told = ", ".join(repr(t if len(t) <= _LONGEST_TOLD else f"{t[:_LONGEST_TOLD]}…") for t in texts)
    return f"It must match a range's whole text, as 'iteration \\d+'. Ranges here are {told}."
