"""`critpath analyze`: from exports to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from critpath.adapters.executors import executor as workers
from critpath.adapters.output import Format, print_report, progress, write_report
from critpath.ingest.manifest import manifest_inputs, read_manifest
from critpath.ingest.rules import read_taxonomy
from critpath.ingest.source import find_inputs
from critpath.ingest.source_tree import read_source_tree
from critpath.model.manifest import StepSection
from critpath.pipeline.analyze import analysis
from critpath.pipeline.mapping import MapSettings
from critpath.pipeline.options import Options, step_options
from critpath.pipeline.options import rank_regex as rank_expression

__all__ = ["analyze"]


def analyze(
    inputs: tuple[str, ...] = (),
    /,
    *,
    step: str | None = None,
    scope: Literal["period", "range"] | None = None,
    window: str | None = None,
    manifest: Path | None = None,
    rank_regex: str | None = None,
    source: Path | None = None,
    taxonomy: Path | None = None,
    out: Path | None = None,
    format_: Annotated[Format, Parameter(name="--format")] = "text",
    strict: bool = False,
    executor: str | None = None,
) -> int:
    r"""Say where a step's time goes, from Nsight Systems exports of one or several ranks.

    Args:
        inputs: files, folders or globs: SQLite, Parquet or Arrow exports, and reports where nsys is installed. Without
            any, those that the manifest names.
        step: regular expression that an NVTX range's whole text must match, as 'iteration \d+'.
        scope: period (the default): a step ends where the next one's compute begins; range: with the last end of its
            own ops.
        window: one window A:B, in ns of the report's own axis, instead of steps.
        manifest: job.toml, which says what the job is and which report is which rank.
        rank_regex: expression whose only group, or group named rank, is the rank in an input's name.
        source: the source tree of what was profiled.
        taxonomy: your own kernel-name rules, asked before the bundled ones.
        out: folder for report.json and frames/*.parquet; created if absent. Its summaries/ lets a run after a crash go
            on where it stopped.
        format_: text for people, md for a page, json for programs.
        strict: stop at the first input that can't be read, instead of making it a row of the report.
        executor: serial, processes:N, or dask://HOST:PORT; by default processes, up to the cores.
    """
    job = None if manifest is None else read_manifest(manifest)
    options = Options(
        step=step_options(step=step, scope=scope, window=window, declared=job.step if job else None),
        taxonomy=read_taxonomy(taxonomy),
        strict=strict,
        # The step is settled above, where it is known what the command line says of it.
        manifest=None if job is None else replace(job, step=StepSection()),
        rank_regex=rank_expression(rank_regex),
        source=read_source_tree(source),
        frames=out is not None,
    )
    files = find_inputs(inputs) if inputs or job is None else manifest_inputs(job)
    with progress(len(files)) as advance, workers(executor, inputs=len(files)) as pool:
        kept = None if out is None else out / "summaries"
        made = analysis(files, options, MapSettings(executor=pool, cache=kept, progress=advance))
    if out is not None:
        write_report(made.report, out, made.frames)
    print_report(made.report, format_)
    return 0
