"""From inputs to a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from critpath.base.errors import SelectionError
from critpath.model.report import Report
from critpath.pipeline.inputs import InputSummary, summarise_input
from critpath.pipeline.options import Options
from critpath.pipeline.reduce import report_of

__all__ = ["analyze"]


def analyze(
    paths: Sequence[Path], options: Options | None = None, *, progress: Callable[[int, int], None] | None = None
) -> Report:
    """The report of one or several exports.

    Args:
        paths: existing inputs, as `ingest.source.find_inputs` gives them.
        options: how to analyse.
        progress: called with (inputs done, inputs in all) after each.

    Raises:
        InputError: no input could be read, or one couldn't and `options.strict` is set.
        SelectionError: what was asked for selects nothing in any input.
    """
    chosen = options or Options()
    summaries = []
    for i, path in enumerate(paths):
        summaries.append(summarise_input(path, i, chosen))
        if progress is not None:
            progress(i + 1, len(paths))
    _refuse_unreadable(summaries)
    _refuse_empty_selection(summaries, chosen)
    return report_of(summaries, chosen)


def _refuse_unreadable(summaries: Sequence[InputSummary]) -> None:
    faults = [s.error for s in summaries if s.error is not None]
    if faults and len(faults) == len(summaries):
        raise faults[0]


def _refuse_empty_selection(summaries: Sequence[InputSummary], options: Options) -> None:
    """A span outside the capture, or a step that no range matches, must not read as an idle device."""
    units = [u for s in summaries for u in s.units]
    if not units:
        return
    if options.step.span_ns is not None:
        start, end = options.step.span_ns
        spans = [u.summary.span_ns for u in units if u.summary is not None]
        if not any(s < end and start < e for s, e in spans):
            first, last = min(s for s, _ in spans), max(e for _, e in spans)
            raise SelectionError(
                f"no device op lies in {start}:{end}",
                where="--window",
                meaning="An empty window would read as an idle device, so nothing was analysed.",
                remedy=f"Device ops lie in {first}:{last} ns of the report's axis.",
            )
    if options.step.step is not None and all(u.summary is None for u in units):
        raise SelectionError(
            f"no NVTX range that launched compute work matches {options.step.step.pattern!r}",
            where="--step",
            meaning="Without a step there is nothing to divide, so nothing was analysed.",
            remedy="It must match a range's whole text, as 'iteration \\d+'; without --step a step is sought.",
        )
