"""Iteration windows: what of the device's time belongs to one step.

    host    |--- step 0 ---|--- step 1 ---|--- step 2 ---|
    compute      ####  ##      ####  ##        ####  ##
    period       |-------------|---------------|               window i ends where step i+1's compute begins
    range        |-------|     |-------|       |-------|       window i ends with its own last op

A step owns the ops whose launching API call, on any thread, began inside its range; backward passes are launched by
another thread. Steps at the capture's edges that hold profiler work, or differ from the rest, are left out and named
(P26); time between ranges is never the step's (P28).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, union
from critpath.base.stats import MAD_TO_SIGMA, median_absolute_deviation
from critpath.model.identity import NULL
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.cross_check import CrossCheck
from critpath.rank.launches import Launches
from critpath.rank.steps import OPEN_END_NS, Steps

__all__ = ["Dropped", "HostSteps", "Windows", "span_window", "step_windows"]

FLUSH_KIND = 3
"""Overhead type of a flush of the profiler's buffers."""

_PROFILER_CALLS = ("cudaProfilerStart", "cudaProfilerStop", "cuProfilerStart", "cuProfilerStop")
_CAPTURE_CALLS = ("cudaStreamBeginCapture", "cuStreamBeginCapture", "cudaGraphInstantiate", "cuGraphInstantiate")
_OUTLIER_SHARE = 0.1
_OUTLIER_SIGMAS = 6.0
_MOST_DROPPED = 0.5
_FEWEST_TO_COMPARE = 4
_SAME_SHARE = 0.02
"""Steps of one program differ by fewer kernels than this share."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A step that was found and left out: its place among all steps, and why."""

    index: int
    why: str


@dataclass(frozen=True, slots=True)
class HostSteps:
    """Every step that host ranges mark, dropped ones too, in order: text and host time, shape (m,)."""

    labels: tuple[str, ...]
    starts_ns: I64
    ends_ns: I64

    def of(self, instants_ns: I64) -> I64:
        """Step that each host instant lies in, -1 in none; shape of `instants_ns`."""
        at = np.searchsorted(self.starts_ns, instants_ns, side="right").astype(np.int64) - 1
        if not self.labels:
            return at
        return np.where((at >= 0) & (instants_ns < self.ends_ns[np.maximum(at, 0)]), at, -1)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a unit, in order.

    Attributes:
        kind, text: the anchor, as in the report.
        scope: `period` or `range`.
        labels: text of each window's step.
        index: place of each window among all steps found, shape (n,).
        starts_ns, ends_ns: device time on the report's axis, shape (n,).
        outside_ns: time between each window's end and the next step's first compute op, 0 with scope `period`; NULL
            where no step follows.
        dropped: steps left out.
        kept_boundary: whether steps were kept that would have been dropped, since nothing would have remained.
        confidence: how sure it is that these are steps: high, medium or low; `capture` windows are low.
        declared: whether the user said what the step is, or gave the span.
        cross_check: what a second anchor of another kind says, None where there is none.
        host_steps: the steps as the host marked them; None for anchors on the device timeline and for one span.
    """

    kind: str
    text: str
    scope: str
    labels: tuple[str, ...]
    index: I64
    starts_ns: I64
    ends_ns: I64
    outside_ns: I64
    dropped: tuple[Dropped, ...] = ()
    kept_boundary: bool = False
    confidence: str = "high"
    declared: bool = False
    cross_check: CrossCheck | None = None
    host_steps: HostSteps | None = None

    def __len__(self) -> int:
        return int(self.starts_ns.size)

    @property
    def lengths_ns(self) -> I64:
        """Length of each window [ns]."""
        return self.ends_ns - self.starts_ns

    @property
    def period_ns(self) -> int:
        """Median distance from one step's start to the next one's [ns]; the median length where none follows."""
        following = np.diff(self.index) == 1
        distances = np.diff(self.starts_ns)[following]
        return int(np.median(distances if distances.size else self.lengths_ns)) if len(self) else 0

    @property
    def is_material_disagreement(self) -> bool:
        """Whether a second anchor tells another step and nobody declared one: no verdict on a step then.

        The remedy is `--step REGEX` over the NVTX ranges of the step, or `--window A:B`.
        """
        return not self.declared and self.cross_check is not None and self.cross_check.is_material

    def of(self, instants_ns: I64) -> I64:
        """Window that each instant lies in: its place, -1 outside all; shape of `instants_ns`.

        Windows of scope `range` may overlap: then it is the latest-started one that hasn't ended.
        """
        at = np.searchsorted(self.starts_ns, instants_ns, side="right").astype(np.int64) - 1
        if not len(self):
            return at
        reach = np.concatenate([[NULL], np.maximum.accumulate(self.ends_ns)])
        while True:
            ended = (at >= 0) & (instants_ns >= self.ends_ns[np.maximum(at, 0)])
            # None of the earlier ones lasts that long, or the next earlier one may.
            at[ended] = np.where(instants_ns[ended] < reach[at[ended]], at[ended] - 1, -1)
            if not ended.any():
                return at

    def union(self) -> Intervals:
        """All windows together."""
        return union(self.starts_ns, self.ends_ns)


def span_window(start_ns: int, end_ns: int, *, kind: str, text: str) -> Windows:
    """One window of exactly the given span: the user's own, or the whole capture where nothing recurs."""
    return Windows(
        kind=kind,
        text=text,
        scope="range",
        labels=(text,),
        index=np.zeros(1, np.int64),
        starts_ns=np.array([start_ns], np.int64),
        ends_ns=np.array([end_ns], np.int64),
        outside_ns=np.full(1, NULL, np.int64),
        confidence="high" if kind == "explicit" else "low",
        declared=kind == "explicit",
    )


def step_windows(
    unit: UnitTrace, launched: Launches, communication: npt.NDArray[np.bool_], steps: Steps, scope: str
) -> Windows:
    """The windows of the given steps.

    Args:
        unit: rows of the unit.
        launched: the issuing call of each of its ops.
        communication: which kernels are in the communication taxonomy: they don't begin a step.
        steps: host steps, in order.
        scope: `period` or `range`; steps marked on the device timeline have no end of their own and are periods.
    """
    if steps.marks_ns is not None:
        begin, scope = steps.marks_ns, "period"
    else:
        begin = _first_compute(unit, launched, communication, steps)
    last = _last_end(unit, launched, steps)
    dropped: dict[int, str] = {}
    for i in np.flatnonzero(begin == NULL).tolist():
        dropped[i] = "no compute op was launched in it"
    for i, times in steps.unlike:
        dropped[i] = f"it holds {times:.2f} times as many kernels as the median step: other work than the rest"
    following = np.append(begin[1:], NULL) if len(steps) else begin
    gone = _steps_without_range(launched, steps)
    following = np.where(gone > 0, NULL, following)
    if scope == "period" and len(steps) > 1:
        end = following
        for i in np.flatnonzero((begin != NULL) & (following == NULL)).tolist():
            dropped[i] = _why_open(i, len(steps), int(gone[i]))
    else:
        end = last
        for i in np.flatnonzero(steps.ends_ns == OPEN_END_NS).tolist():
            if len(steps) > 1:
                dropped.setdefault(i, "its range was still open when the capture ended")
    for i in np.flatnonzero((begin != NULL) & (end != NULL) & (end <= begin)).tolist():
        dropped.setdefault(i, "its device work does not follow its place among the steps")
    keep = np.array([i for i in range(len(steps)) if i not in dropped], np.int64)
    outside = np.where((following == NULL) | (end == NULL), NULL, np.maximum(following - end, 0))
    found = Windows(
        kind=steps.kind,
        text=steps.text,
        scope=scope,
        labels=tuple(steps.labels[i] for i in keep.tolist()),
        index=keep,
        starts_ns=begin[keep],
        ends_ns=end[keep],
        outside_ns=outside[keep],
        dropped=tuple(Dropped(i, why) for i, why in sorted(dropped.items())),
        confidence=steps.confidence,
        declared=steps.declared,
        host_steps=HostSteps(steps.labels, steps.starts_ns, steps.ends_ns) if steps.marks_ns is None else None,
    )
    return _steady(unit, steps, found)


def _why_open(step: int, steps: int, gone: int) -> str:
    """Why the period of a step has no end."""
    if gone:
        return (
            f"the kernels of {gone} more step{'s' * (gone > 1)} follow it without a range: its period would hold them"
        )
    if step == steps - 1:
        return "the last step: no step follows that would end its period"
    return "the next step launched no compute op, so its period has no end"


def _steps_without_range(launched: Launches, steps: Steps) -> I64:
    """How many steps whose ranges the capture lost follow each step, shape (n,).

    Lost ranges leave kernels that were launched between two ranges: as many as in whole steps, where between other
    ranges there are none or few. Other work between steps, such as an evaluation, has its own number of kernels.
    """
    gone = np.zeros(len(steps), np.int64)
    if steps.marks_ns is not None or len(steps) < _FEWEST_TO_COMPARE:
        return gone
    times = np.sort(launched.times_ns(launched.kernels))
    first = np.searchsorted(times, steps.starts_ns)
    end = np.searchsorted(times, steps.ends_ns)
    inside, after = end - first, np.append(first[1:], end[-1]) - end
    usual_after = np.median(after[:-1])
    usual = np.median(inside) + usual_after
    if not usual:
        return gone
    more = (inside + after - usual) / usual
    whole = np.rint(more).astype(np.int64)
    lost = (
        (whole > 0) & (np.abs(more - whole) <= _SAME_SHARE * (1 + whole)) & (after - usual_after >= whole * usual / 2)
    )
    gone[:-1] = np.where(lost, whole, 0)[:-1]
    return gone


def _first_compute(unit: UnitTrace, launched: Launches, communication: npt.NDArray[np.bool_], steps: Steps) -> I64:
    """Start of the first compute op that each step launched, NULL where it launched none."""
    owner = steps.owner(launched.times_ns(launched.kernels))
    owned = (owner >= 0) & ~communication
    first = np.full(len(steps), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(first, owner[owned], unit.kernels.start_ns[owned])
    return np.where(first == np.iinfo(np.int64).max, NULL, first)


def _last_end(unit: UnitTrace, launched: Launches, steps: Steps) -> I64:
    """End of the last device op of any kind that each step launched, NULL where it launched none."""
    last = np.full(len(steps), NULL, np.int64)
    for ops, calls in launched.tables(unit):
        owner = steps.owner(launched.times_ns(calls))
        owned = owner >= 0
        np.maximum.at(last, owner[owned], ops.end_ns[owned])
    return last


def _steady(unit: UnitTrace, steps: Steps, windows: Windows) -> Windows:
    """The windows without boundary steps, unless nothing would remain (P26)."""
    reasons: dict[int, str] = {}
    _capturing(unit, steps, windows, reasons)
    if len(reasons) > _MOST_DROPPED * len(windows):
        reasons.clear()
    _profiler_at_edges(unit, steps, windows, reasons)
    _outliers_at_edges(windows, reasons)
    if len(reasons) >= len(windows):
        return replace(windows, kept_boundary=bool(len(windows)))
    keep = np.array([i for i in range(len(windows)) if i not in reasons], np.int64)
    fresh = [Dropped(int(windows.index[i]), why) for i, why in reasons.items()]
    return replace(
        windows,
        labels=tuple(windows.labels[i] for i in keep.tolist()),
        index=windows.index[keep],
        starts_ns=windows.starts_ns[keep],
        ends_ns=windows.ends_ns[keep],
        outside_ns=windows.outside_ns[keep],
        dropped=tuple(sorted((*windows.dropped, *fresh), key=lambda d: d.index)),
    )


def _calls_named(unit: UnitTrace, prefixes: tuple[str, ...]) -> I64:
    """Start times of the API calls whose name begins with one of the prefixes."""
    calls = unit.runtime_calls
    names = [i for i, text in unit.strings.of(calls.name).items() if text.startswith(prefixes)]
    return calls.start_ns[np.isin(calls.name, names)]


def _capturing(unit: UnitTrace, steps: Steps, windows: Windows, reasons: dict[int, str]) -> None:
    """Steps that captured a stream or instantiated a graph: their launches ran nothing, or set-up ran in them."""
    at = steps.owner(_calls_named(unit, _CAPTURE_CALLS))
    for i in np.flatnonzero(np.isin(windows.index, at[at >= 0])).tolist():
        reasons[i] = "a stream was captured or a graph instantiated in it"


def _profiler_at_edges(unit: UnitTrace, steps: Steps, windows: Windows, reasons: dict[int, str]) -> None:
    """First and last windows in which the profiler started, stopped or wrote its buffers."""
    overheads = unit.overheads
    labelled = [i for i, text in unit.strings.of(overheads.name).items() if "flush" in text.lower()]
    is_flush = (overheads.kind == FLUSH_KIND) | ((overheads.kind == NULL) & np.isin(overheads.name, labelled))
    flushes = overheads.where(is_flush).union()
    switches = _calls_named(unit, _PROFILER_CALLS)
    for i in {0, len(windows) - 1} if len(windows) else ():
        step = int(windows.index[i])
        start = min(int(windows.starts_ns[i]), int(steps.starts_ns[step]))
        host_end = int(steps.ends_ns[step])
        end = max(int(windows.ends_ns[i]), host_end if host_end != OPEN_END_NS else 0)
        if ((switches >= start) & (switches < end)).any():
            reasons.setdefault(i, "the profiler was started or stopped in it")
        elif flushes.clip(np.array([start]), np.array([end]))[0] > 0:
            reasons.setdefault(i, "the profiler wrote its buffers in it")


def _outliers_at_edges(windows: Windows, reasons: dict[int, str]) -> None:
    """Windows at either edge that differ from the rest, going inwards while they do.

    An outlier in the middle stays: it is the run's own. At most a quarter of the windows go at either edge.
    """
    lengths = windows.lengths_ns
    most = max(1, len(windows) // 4)
    for order in (range(len(windows)), range(len(windows) - 1, -1, -1)):
        for i in list(order)[:most]:
            rest = np.array([n for j, n in enumerate(lengths.tolist()) if j != i and j not in reasons], np.int64)
            if i in reasons:
                continue
            if rest.size < 3 or not _is_outlier(int(lengths[i]), rest):
                break
            ratio = float(lengths[i] / np.median(rest))
            reasons[i] = f"at the capture's edge, and {ratio:.2f} times as long as the median of the rest"


def _is_outlier(length: int, rest: I64) -> bool:
    middle = float(np.median(rest))
    allowed = max(_OUTLIER_SHARE * middle, _OUTLIER_SIGMAS * MAD_TO_SIGMA * median_absolute_deviation(rest))
    return abs(length - middle) > allowed
