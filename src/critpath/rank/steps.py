"""Host-side steps: instances of an anchor in time, before they become windows on the device.

The step is the user's to define. Without a definition, NVTX ranges that recur are candidates; the outermost whose
launches own most device time is taken, and what was chosen is always printed (P28).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, union
from critpath.base.stats import relative_spread
from critpath.model.identity import NULL
from critpath.model.tables import NvtxRanges
from critpath.model.trace import UnitTrace
from critpath.rank.launches import Launches

__all__ = ["OPEN_END_NS", "Steps", "declared_steps", "detected_steps"]

OPEN_END_NS = 2**62
"""End of a range that was still open when the capture ended."""

_DIGITS = re.compile(r"\d+")
_SUFFIX = re.compile(r",\s*(?:op_id|seq|sizes|shapes|input_op_ids)\s*=.*$", re.DOTALL)
_STEP_WORDS = re.compile(
    r"(?i)(?:^|[^a-z])(?:train(?:ing)?[ _\-]?)?(?:global[ _\-]?)?"
    r"(?:step|iter(?:ation)?|profilerstep|train_batch|training_step|train_step)(?:[^a-z]|$)"
)
_MAX_CANDIDATES = 64
_MIN_OWNED = 0.5
_MIN_OWNED_NAMED = 0.2
_MAX_SPREAD = 0.35


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of a process as its host saw them, disjoint and in order.

    Attributes:
        kind: what they come from; an `AnchorKind` of the report.
        text: the text, or pattern of texts, of the anchor.
        labels: text of each step.
        starts_ns, ends_ns: host time, shape (n,); `OPEN_END_NS` where the range never closed.
    """

    kind: str
    text: str
    labels: tuple[str, ...]
    starts_ns: I64
    ends_ns: I64

    def __len__(self) -> int:
        return len(self.labels)

    def owner(self, times_ns: I64) -> I64:
        """The step in which each host instant lies, -1 in none; a NULL time lies in none."""
        if not len(self):
            return np.full(times_ns.size, -1, np.int64)
        step = np.searchsorted(self.starts_ns, times_ns, side="right").astype(np.int64) - 1
        inside = (step >= 0) & (times_ns < self.ends_ns[np.maximum(step, 0)])
        return np.where(inside, step, -1)


def declared_steps(unit: UnitTrace, pattern: re.Pattern[str], launched: Launches) -> Steps:
    """Ranges whose whole text the user's expression matches; inner matches of the same expression are not steps."""
    names = np.array(
        [i for i, text in unit.strings.of(unit.nvtx_ranges.name).items() if pattern.fullmatch(text)], np.int64
    )
    ranges = unit.nvtx_ranges.where(np.isin(unit.nvtx_ranges.name, names))
    chosen = _on_launching_threads(ranges, unit, launched)
    return _merged(chosen, unit.strings.__getitem__, pattern.pattern)


def detected_steps(unit: UnitTrace, launched: Launches) -> Steps | None:
    """The recurring ranges that are most plausibly the step, or None.

    Candidates are texts that agree once digits and instance suffixes are stripped, recur with a stable period, don't
    overlap one another, and own most of the unit's device time. A name that says step or iteration wins over one
    that doesn't; then the outermost wins.
    """
    issued = launched.times_ns(launched.kernels)
    known = issued != NULL
    issued, weight = issued[known], unit.kernels.durations_ns[known]
    candidates = []
    for pattern, rows in _recurring(unit.nvtx_ranges, unit.strings.__getitem__):
        ranges = _on_launching_threads(unit.nvtx_ranges.where(rows), unit, launched)
        named = bool(_STEP_WORDS.search(pattern))
        owned = _owned_share(ranges, issued, weight)
        if owned < (_MIN_OWNED_NAMED if named else _MIN_OWNED):
            continue
        steps = _merged(ranges, unit.strings.__getitem__, pattern)
        if _recurs(steps, named=named):
            length = float((np.minimum(steps.ends_ns, steps.starts_ns[-1]) - steps.starts_ns)[:-1].mean())
            candidates.append(((named, round(owned, 2), length), steps))
    return max(candidates, key=lambda c: c[0])[1] if candidates else None


def _recurring(ranges: NvtxRanges, text: Callable[[int], str]) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """(pattern, row mask) of the texts that occur at least twice, longest total host time first."""
    first, row_name = group_rows(ranges.name)
    patterns: dict[str, int] = {}
    names = ranges.name[first].tolist()
    name_pattern = np.array([patterns.setdefault(_pattern(text(i)), len(patterns)) for i in names], np.intp)
    row_pattern = name_pattern[row_name]
    closed = np.where(ranges.end_ns == NULL, ranges.start_ns, ranges.end_ns)
    total = np.bincount(row_pattern, weights=(closed - ranges.start_ns).astype(np.float64), minlength=len(patterns))
    count = np.bincount(row_pattern, minlength=len(patterns))
    best = [i for i in np.argsort(-total, kind="stable").tolist() if count[i] >= 2][:_MAX_CANDIDATES]
    spelled = list(patterns)
    return [(spelled[i], row_pattern == i) for i in best]


def _pattern(text: str) -> str:
    return _DIGITS.sub("#", _SUFFIX.sub("", text))


def _on_launching_threads(ranges: NvtxRanges, unit: UnitTrace, launched: Launches) -> NvtxRanges:
    """With several devices in a process, the ranges on threads that launch to this one, where there are any."""
    if not unit.shares_process:
        return ranges
    own = np.isin(ranges.thread, np.unique(launched.threads(launched.kernels)))
    return ranges.where(own) if own.any() else ranges


def _merged(ranges: NvtxRanges, text: Callable[[int], str], anchor: str) -> Steps:
    """Instances in order: equal text on several threads at a time is one step, a range inside another is none.

    Where instances overlap otherwise, the later one begins a step and ends the one before.
    """
    starts = ranges.start_ns
    ends = _closed_ends(ranges)
    order = np.lexsort((starts, ranges.name))
    spans: list[tuple[int, int, str]] = []
    for group in np.split(order, np.flatnonzero(np.diff(ranges.name[order])) + 1):
        spans.extend((s, e, text(int(ranges.name[group[0]]))) for s, e in _joined(starts[group], ends[group]))
    spans.sort(key=lambda span: (span[0], -span[1]))
    outer = _outermost(spans)
    begin = np.array([s for s, _, _ in outer], np.int64)
    end = np.array([e for _, e, _ in outer], np.int64)
    if begin.size:
        end[:-1] = np.minimum(end[:-1], begin[1:])
    return Steps("nvtx", anchor, tuple(label for _, _, label in outer), begin, end)


def _joined(starts_ns: I64, ends_ns: I64) -> list[tuple[int, int]]:
    """Spans that overlap as one; spans that only touch stay two, for a step may begin where the last one ends."""
    if not starts_ns.size:
        return []
    reach = np.maximum.accumulate(ends_ns)
    first = np.append(True, starts_ns[1:] >= reach[:-1])
    last = np.append(np.flatnonzero(first)[1:] - 1, starts_ns.size - 1)
    return list(zip(starts_ns[first].tolist(), reach[last].tolist(), strict=True))


def _outermost(spans: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    kept: list[tuple[int, int, str]] = []
    reach = -(2**62)
    for span in spans:
        if span[1] > reach:
            kept.append(span)
            reach = span[1]
    return kept


def _owned_share(ranges: NvtxRanges, issued_ns: I64, weight_ns: I64) -> float:
    """The share of device work, by length, whose launch began inside one of the ranges."""
    total = int(weight_ns.sum())
    inside = union(ranges.start_ns, _closed_ends(ranges)).contains(issued_ns)
    return int(weight_ns[inside].sum()) / total if total else 0.0


def _recurs(steps: Steps, *, named: bool) -> bool:
    """Whether there are enough instances, regular ones, to call one a step."""
    if len(steps) < (2 if named else 3):
        return False
    return len(steps) == 2 or relative_spread(np.diff(steps.starts_ns)) <= _MAX_SPREAD


def _closed_ends(ranges: NvtxRanges) -> I64:
    return np.where((ranges.end_ns == NULL) | (ranges.end_ns < ranges.start_ns), OPEN_END_NS, ranges.end_ns)
