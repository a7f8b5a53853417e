"""What a user may ask of an analysis, checked before anything is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from critpath.base.errors import OptionError
from critpath.model.manifest import Manifest, StepSection
from critpath.model.report import SourceTree
from critpath.model.taxonomy import Taxonomy
from critpath.rank.summary import StepOptions

__all__ = ["Options", "rank_regex", "step_options"]

_SPAN = re.compile(r"(-?\d[\d_]*):(-?\d[\d_]*)")


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyse.

    Attributes:
        step: the user's definition of the step, if any.
        taxonomy: how kernel names are read.
        strict: whether an unreadable input stops everything, instead of being a row of the report.
        manifest: what the user says of the job; its step holds where `step` says nothing.
        rank_regex: expression that finds a rank in an input's name; see `rank_regex`.
        source: the source tree given beside the capture.
        frames: whether rows of gaps, edges and windows are kept for the frames beside the report.
    """

    step: StepOptions = field(default_factory=StepOptions)
    taxonomy: Taxonomy = field(default_factory=Taxonomy.bundled)
    strict: bool = False
    manifest: Manifest | None = None
    rank_regex: re.Pattern[str] | None = None
    source: SourceTree = field(default_factory=SourceTree)
    frames: bool = False


def step_options(
    *,
    step: str | None = None,
    scope: str | None = None,
    window: str | None = None,
    declared: StepSection | None = None,
) -> StepOptions:
    """The user's definition of the step.

    Args:
        step: regular expression that the whole text of an NVTX range must match.
        scope: `period` or `range`; `period` where nobody says.
        window: `A:B` in ns of the report's own axis.
        declared: the manifest's definition, which holds for what is not given otherwise.

    Raises:
        OptionError: the expression, the scope or the span can't be what was meant, or two definitions were given.
    """
    if step is not None and window is not None:
        raise OptionError(
            "both a step and a window were given",
            where="--step, --window",
            meaning="They define different things: a recurring range, or one fixed span.",
            remedy="Give one of them.",
        )
    if scope not in (None, "period", "range"):
        raise OptionError.unknown(str(scope), ("period", "range"), kind="scope", where="--scope")
    said = declared or StepSection()
    scope = scope or said.scope or "period"
    if step is None and window is None:
        return StepOptions(step=said.nvtx, scope=scope, span_ns=said.window)
    return StepOptions(step=_pattern(step), scope=scope, span_ns=_span(window))


def rank_regex(text: str | None) -> re.Pattern[str] | None:
    r"""The expression that finds a rank in an input's name, as `_r(\d+)\.`: in its group `rank`, or in its only one.

    Raises:
        OptionError: it is no expression, or doesn't say where the rank is.
    """
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as fault:
        raise _no_rank_regex(f"{text!r} is no regular expression: {fault}") from fault
    if pattern.groups != 1 and "rank" not in pattern.groupindex:
        raise _no_rank_regex(f"{text!r} has {pattern.groups or 'no'} groups, and none is named rank")
    return pattern


def _no_rank_regex(what: str) -> OptionError:
    return OptionError(
        what,
        where="--rank-regex",
        meaning="No rank could be read from a name, so nothing was analysed.",
        remedy=r"Put parentheses around the rank: --rank-regex '_rank(\d+)', or '(?P<rank>\d+)' beside other groups.",
    )


def _pattern(step: str | None) -> re.Pattern[str] | None:
    if step is None:
        return None
    try:
        return re.compile(step)
    except re.error as fault:
        raise OptionError(
            f"{step!r} is no regular expression: {fault}",
            where="--step",
            meaning="No step could be looked for, so nothing was analysed.",
            remedy="It must match the range's whole text, as --step 'iteration \\d+'; escape ( ) [ ] . * + ?",
        ) from fault


def _span(window: str | None) -> tuple[int, int] | None:
    if window is None:
        return None
    match = _SPAN.fullmatch(window.strip())
    start, end = (int(match.group(1)), int(match.group(2))) if match else (0, 0)
    if match is None or end <= start or max(abs(start), abs(end)) >= 2**62:
        raise OptionError(
            f"{window!r} is no span of time",
            where="--window",
            meaning="No window could be made, so nothing was analysed.",
            remedy="Give start and end in ns of the report's own axis, start first: --window 1500000000:2500000000",
        )
    return start, end
