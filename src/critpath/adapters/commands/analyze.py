"""`critpath analyze`: from exports to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from critpath.adapters.output import Format, print_report, progress, write_report
from critpath.ingest.rules import read_taxonomy
from critpath.ingest.source import find_inputs
from critpath.pipeline.analyze import analyze as analyze_paths
from critpath.pipeline.options import Options, step_options

__all__ = ["analyze"]


def analyze(
    inputs: list[str],
    /,
    *,
    step: str | None = None,
    scope: Literal["period", "range"] = "period",
    window: str | None = None,
    taxonomy: Path | None = None,
    out: Path | None = None,
    format_: Annotated[Format, Parameter(name="--format")] = "text",
    strict: bool = False,
) -> int:
    r"""Say where a step's time goes, from Nsight Systems exports of one or several ranks.

    Args:
        inputs: files, folders or globs of exports made with `nsys export --type sqlite`.
        step: regular expression that an NVTX range's whole text must match, as 'iteration \d+'.
        scope: period: a step ends where the next one's compute begins; range: with the last end of its own ops.
        window: one window A:B, in ns of the report's own axis, instead of steps.
        taxonomy: your own kernel-name rules, asked before the bundled ones.
        out: folder for report.json; created if absent.
        format_: text for people, json for programs.
        strict: stop at the first input that can't be read, instead of making it a row of the report.
    """
    options = Options(
        step=step_options(step=step, scope=scope, window=window), taxonomy=read_taxonomy(taxonomy), strict=strict
    )
    paths = find_inputs(inputs)
    with progress(len(paths)) as advance:
        report = analyze_paths(paths, options, progress=advance)
    if out is not None:
        write_report(report, out)
    print_report(report, format_)
    return 0
