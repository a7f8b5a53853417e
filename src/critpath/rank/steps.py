"""Host-side steps: instances of an anchor in time, before they become windows on the device.

The step is the user's to define. Without a definition, NVTX ranges that recur are candidates; the outermost whose
launches own most device time is taken, and what was chosen is always printed (P28).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.base.stats import relative_spread
from critpath.model.identity import NULL
from critpath.model.tables import NvtxRanges
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.spellings import ELIGIBLE, Role, Spellings, bare, bare_texts
from critpath.rank.launches import Launches

__all__ = ["OPEN_END_NS", "Steps", "declared_steps", "detected_steps"]

OPEN_END_NS = 2**62
"""End of a range that was still open when the capture ended."""

_MAX_CANDIDATES = 64
_MOST_PATTERNS_READ = 5_000
_MOST_STEPS = 20_000
_MIN_OWNED = 0.5
_MIN_OWNED_NAMED = 0.2
_MAX_SPREAD = 0.35
_MAX_LENGTH_SPREAD = 0.5
_AS_MUCH = 0.02


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of a process as its host saw them, disjoint and in order.

    Attributes:
        kind: what they come from; an `AnchorKind` of the report.
        text: the text, or pattern of texts, of the anchor.
        labels: text of each step.
        starts_ns, ends_ns: host time, shape (n,); `OPEN_END_NS` where the range never closed.
        marks_ns: device time at which each begins, for anchors on the device timeline; None for host ranges, whose
            steps begin with the first compute op that they launched.
        confidence: high, medium or low.
        declared: whether the user said that this is the step.
        unlike: (place, times) of steps that hold that many times the kernels of the median one: other work than the
            rest, known for anchors on the device timeline only.
    """

    kind: str
    text: str
    labels: tuple[str, ...]
    starts_ns: I64
    ends_ns: I64
    marks_ns: I64 | None = None
    confidence: str = "high"
    declared: bool = False
    unlike: tuple[tuple[int, float], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def owner(self, times_ns: I64) -> I64:
        """The step in which each host instant lies, -1 in none; a NULL time lies in none."""
        if not len(self):
            return np.full(times_ns.size, -1, np.int64)
        step = np.searchsorted(self.starts_ns, times_ns, side="right").astype(np.int64) - 1
        inside = (step >= 0) & (times_ns < self.ends_ns[np.maximum(step, 0)])
        return np.where(inside, step, -1)


@dataclass(frozen=True, slots=True)
class _Work:
    """Device work by the time at which it was issued, to be summed over spans.

    Attributes:
        issued_ns: in order, shape (n,).
        before_ns: work issued before each of them, and all of it at the end; shape (n + 1,).
    """

    issued_ns: I64
    before_ns: I64

    @classmethod
    def of(cls, unit: UnitTrace, launched: Launches) -> _Work:
        issued = launched.times_ns(launched.kernels)
        known = issued != NULL
        order = np.argsort(issued[known], kind="stable")
        work = unit.kernels.durations_ns[known][order]
        return cls(issued[known][order], np.concatenate([np.zeros(1, np.int64), np.cumsum(work)]))

    def share_in(self, steps: Steps) -> float:
        """The share of it that was issued inside one of the steps."""
        first = np.searchsorted(self.issued_ns, steps.starts_ns)
        last = np.searchsorted(self.issued_ns, steps.ends_ns)
        total = int(self.before_ns[-1])
        return int((self.before_ns[last] - self.before_ns[first]).sum()) / total if total else 0.0


def declared_steps(unit: UnitTrace, pattern: re.Pattern[str], launched: Launches) -> Steps:
    """Ranges whose whole text the user's expression matches; inner matches of the same expression are not steps."""
    names = np.array(
        [i for i, text in unit.strings.of(unit.nvtx_ranges.name).items() if pattern.fullmatch(text)], np.int64
    )
    ranges = unit.nvtx_ranges.where(np.isin(unit.nvtx_ranges.name, names))
    chosen = _on_launching_threads(ranges, unit, launched)
    return _merged(chosen, unit, pattern.pattern, declared=True)


def detected_steps(unit: UnitTrace, launched: Launches) -> Steps | None:
    """The recurring ranges that are most plausibly the step, or None.

    Candidates are texts that agree once digits and instance suffixes are stripped, recur with a stable period, and
    own most of the unit's device time. What is spelled like a step wins over what no spelling knows, and both over
    an evaluation step; parts of a step and what surrounds many never win. Then the outermost wins.
    """
    work = _Work.of(unit, launched)
    candidates = []
    for role, pattern, ranges in _recurring(unit):
        named = role != "unknown"
        steps = _merged(_on_launching_threads(ranges, unit, launched), unit, pattern)
        owned = work.share_in(steps)
        if owned >= (_MIN_OWNED_NAMED if named else _MIN_OWNED) and _recurs(steps, named=named):
            confidence = "high" if role in {"step", "warm-up"} else "medium"
            candidates.append((ELIGIBLE.index(role), owned, replace(steps, confidence=confidence)))
    if not candidates:
        return None
    best = min(role for role, _, _ in candidates)
    most = max(owned for role, owned, _ in candidates if role == best)
    alike = [steps for role, owned, steps in candidates if role == best and owned >= most - _AS_MUCH]
    return max(alike, key=_median_length)


def _recurring(unit: UnitTrace) -> Iterator[tuple[Role, str, NvtxRanges]]:
    """(role, pattern, ranges) of texts that recur and may be steps, longest total host time first."""
    ranges = unit.nvtx_ranges
    if not len(ranges):
        return
    first, row_name = group_rows(ranges.name)
    texts = [unit.strings[i] for i in ranges.name[first].tolist()]
    patterns, name_pattern = _patterns(texts)
    row_pattern = name_pattern[row_name]
    closed = np.maximum(ranges.end_ns, ranges.start_ns)
    total = np.bincount(row_pattern, weights=(closed - ranges.start_ns).astype(np.float64), minlength=len(patterns))
    count = np.bincount(row_pattern, minlength=len(patterns))
    example = np.empty(len(patterns), np.intp)
    example[name_pattern] = np.arange(len(texts))
    recurring = np.flatnonzero((count >= 2) & (count <= _MOST_STEPS))
    spellings = Spellings.bundled()
    given = 0
    for i in recurring[np.argsort(-total[recurring], kind="stable")][:_MOST_PATTERNS_READ].tolist():
        role = spellings.role(texts[example[i]])
        if role in ELIGIBLE:
            yield role, patterns[i], ranges.where(np.flatnonzero(row_pattern == i))
            given += 1
            if given == _MAX_CANDIDATES:
                return


def _patterns(texts: list[str]) -> tuple[list[str], I64]:
    """(patterns, pattern of each text): texts with numbers and suffixes stripped, by an engine fit for millions."""
    stripped = bare_texts(pl.Series(texts, dtype=pl.String)).str.replace_all("[0-9]+", "#")
    distinct = stripped.unique(maintain_order=True)
    code = stripped.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int64)
    return distinct.to_list(), code


def _on_launching_threads(ranges: NvtxRanges, unit: UnitTrace, launched: Launches) -> NvtxRanges:
    """With several devices in a process, the ranges on threads that launch to this one, where there are any."""
    if not unit.shares_process or not len(ranges):
        return ranges
    launching = np.unique(launched.threads(launched.kernels))
    own = np.isin(ranges.thread, launching) | np.isin(ranges.end_thread, launching[launching != NULL])
    return ranges.where(own) if own.any() else ranges


def _merged(ranges: NvtxRanges, unit: UnitTrace, anchor: str, *, declared: bool = False) -> Steps:
    """Instances in order: equal text on several threads at a time is one step, a range inside another is none.

    Where instances overlap otherwise, the later one begins a step and ends the one before. A range that never closed
    ends where the next one begins.
    """
    _, name = group_rows(ranges.name)
    names = ranges.name[group_rows(ranges.name)[0]].tolist()
    # A text may have two ids, one of the export's and one of an inline spelling.
    known: dict[str, int] = {}
    text = np.array([known.setdefault(bare(unit.strings[i]), len(known)) for i in names], np.int64)[name]
    starts, ends, text = _joined(ranges.start_ns, _closed_ends(ranges, text), text)
    order = np.lexsort((-ends, starts))
    starts, ends, text = starts[order], ends[order], text[order]
    reach = np.maximum.accumulate(ends)
    outer = np.append(True, ends[1:] > reach[:-1]) if ends.size else np.zeros(0, np.bool_)
    starts, ends, text = starts[outer], ends[outer], text[outer]
    if starts.size:
        ends[:-1] = np.minimum(ends[:-1], starts[1:])
    spelled = list(known)
    return Steps("nvtx", anchor, tuple(spelled[i] for i in text.tolist()), starts, ends, declared=declared)


def _joined(starts_ns: I64, ends_ns: I64, text: I64) -> tuple[I64, I64, I64]:
    """Spans of one text that overlap as one; spans that only touch stay two, for a step may begin where one ends."""
    if not starts_ns.size:
        return starts_ns, ends_ns, text
    order = np.lexsort((starts_ns, text))
    starts, ends, text = starts_ns[order], ends_ns[order], text[order]
    # Ranks of ends, lifted above those of earlier texts, make one running maximum serve all texts.
    values, rank = np.unique(ends, return_inverse=True)
    reach = values[np.maximum.accumulate(text * values.size + rank) % values.size]
    first = np.append(True, (starts[1:] >= reach[:-1]) | (text[1:] != text[:-1]))
    last = np.append(np.flatnonzero(first)[1:] - 1, starts.size - 1)
    return starts[first], reach[last], text[first]


def _recurs(steps: Steps, *, named: bool) -> bool:
    """Whether there are enough instances, regular ones, to call one a step."""
    if len(steps) < (2 if named else 3):
        return False
    closed = steps.ends_ns < OPEN_END_NS
    lengths = (steps.ends_ns - steps.starts_ns)[closed]
    if not named and lengths.size >= 3 and not relative_spread(lengths) <= _MAX_LENGTH_SPREAD:
        return False
    return len(steps) == 2 or relative_spread(np.diff(steps.starts_ns)) <= _MAX_SPREAD


def _median_length(steps: Steps) -> float:
    closed = steps.ends_ns < OPEN_END_NS
    return float(np.median((steps.ends_ns - steps.starts_ns)[closed])) if closed.any() else 0.0


def _closed_ends(ranges: NvtxRanges, text: I64) -> I64:
    """End of each range; one that never closed ends where its thread begins the next, else where another text does."""
    starts = ranges.start_ns
    is_open = (ranges.end_ns == NULL) | (ranges.end_ns < starts)
    if not is_open.any():
        return ranges.end_ns
    order = np.lexsort((starts, ranges.thread))
    here, there = order[:-1], order[1:]
    same_thread = ranges.thread[here] == ranges.thread[there]
    following = np.full(starts.size, OPEN_END_NS, np.int64)
    following[here[same_thread]] = starts[there[same_thread]]
    other_text = _next_run(text, np.argsort(starts, kind="stable"), starts)
    following = np.where(following < OPEN_END_NS, following, other_text)
    return np.where(is_open, following, ranges.end_ns)


def _next_run(value: I64, order: I64, starts_ns: I64) -> I64:
    """For each row, the start of the next row in `order` that has another value; `OPEN_END_NS` where none has."""
    ordered = value[order]
    heads = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    begin = np.append(starts_ns[order][heads[1:]], OPEN_END_NS)
    result = np.empty(order.size, np.int64)
    result[order] = np.repeat(begin, np.diff(np.append(heads, order.size)))
    return result
