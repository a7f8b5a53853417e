"""Intervals without compute, added up over windows for `truth.json` and listed for `truth_gaps.json`."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from critpath.sim.absence import AbsentInterval, UnitAbsence
from critpath.sim.absence_walk import Bucket, Part
from critpath.sim.executed import Execution, Op
from critpath.sim.program import Clock
from critpath.sim.sweep import Span
from critpath.sim.traced import traced_ops

__all__ = ["AbsentTotals", "WindowedAbsence", "gap_record"]

_SCHEMA = "critpath.sim.truth_gaps/1"
_LAUNCH_PARTS = ("joint_with_producer", "host_wait", "launch_latency", "recoverable")


@dataclass(frozen=True, slots=True)
class AbsentTotals:
    """Absent compute of one window by bucket, label and host cause [ns]. All buckets add up to it exactly."""

    labels: Counter[tuple[Bucket, str]] = field(default_factory=Counter)
    host_causes: Counter[str] = field(default_factory=Counter)
    """All of launch-starved by what the thread did; "host-sync:<class>" names what held it."""

    def add(self, part: Part, duration_ns: int) -> None:
        """Count `duration_ns` of a part."""
        self.labels[part.bucket, part.label] += duration_ns
        if part.cause is not None:
            self.host_causes[part.cause if part.waits_on is None else f"{part.cause}:{part.waits_on}"] += duration_ns

    def bucket_ns(self, bucket: Bucket) -> int:
        """Time of one bucket [ns]."""
        return sum(self._of(bucket).values())

    def _of(self, bucket: Bucket) -> dict[str, int]:
        return {label: ns for (found, label), ns in sorted(self.labels.items()) if found is bucket}

    def as_dict(self) -> dict[str, object]:
        """The totals as `truth.json` holds them; classes, reasons and causes without time are left out."""
        launch = self._of(Bucket.LAUNCH_STARVED)
        return {
            **{f"{bucket.value}_ns": self.bucket_ns(bucket) for bucket in Bucket},
            "launch_starved": {
                **{f"{part}_ns": ns for part, ns in ({**dict.fromkeys(_LAUNCH_PARTS, 0), **launch}).items()},
                "by_host_cause": dict(sorted(self.host_causes.items())),
            },
            "blocking": {"by_class": self._of(Bucket.BLOCKING)},
            "dependency_stalled": {"by_reason": self._of(Bucket.DEPENDENCY_STALLED)},
        }


class WindowedAbsence:
    """A unit's absent compute, to be clipped to windows."""

    def __init__(self, unit: UnitAbsence) -> None:
        self._parts = [part for interval in unit.intervals for part in interval.parts]
        self._ends = [part.end_ns for part in self._parts]

    def totals(self, window: Span) -> AbsentTotals:
        """What of the unit's absent compute lies in `window`, in true time."""
        totals = AbsentTotals()
        begin_ns, end_ns = window
        for place in range(bisect_right(self._ends, begin_ns), len(self._parts)):
            part = self._parts[place]
            if part.start_ns >= end_ns:
                break
            totals.add(part, min(part.end_ns, end_ns) - max(part.start_ns, begin_ns))
        return totals


def gap_record(execution: Execution, units: Sequence[UnitAbsence]) -> dict[str, object]:
    """Everything `truth_gaps.json` holds: for each unit its intervals and their parts as columns.

    Times are on the report's own axis; ops are named by their place in the ops of `truth_ops.json`, -1 where there is
    none or the capture doesn't show it.
    """
    trace = execution.job.graph_trace
    shown = (op for run in execution.runs for op in traced_ops(run, trace))
    places = {op.index: place for place, op in enumerate(shown)}
    return {"schema": _SCHEMA, "units": [_unit(unit, places) for unit in units]}


def _unit(unit: UnitAbsence, places: dict[int, int]) -> dict[str, object]:
    clock = unit.run.report.clock
    return {
        "file": f"{unit.run.report.name}.sqlite",
        "pid": unit.run.process.pid,
        "device": unit.device,
        "rank": unit.run.process.rank,
        "gaps": _gaps(unit.intervals, clock, places),
        "parts": _parts(unit.intervals, clock, places),
    }


def _gaps(intervals: Sequence[AbsentInterval], clock: Clock, places: dict[int, int]) -> dict[str, list[object]]:
    return {
        "start_ns": [clock.at(gap.start_ns) for gap in intervals],
        "end_ns": [clock.at(gap.end_ns) for gap in intervals],
        "kernel": [_place(gap.kernel, places) for gap in intervals],
        "producer": [_place(gap.producer, places) for gap in intervals],
        "ready_ns": [None if gap.ready_ns is None else clock.at(gap.ready_ns) for gap in intervals],
    }


def _parts(intervals: Sequence[AbsentInterval], clock: Clock, places: dict[int, int]) -> dict[str, list[object]]:
    """`gap` is the place of a part's interval; `part`, `class` and `reason` are its label, by its bucket."""
    numbered = [(gap, part) for gap, interval in enumerate(intervals) for part in interval.parts]
    parts = [part for _, part in numbered]
    return {
        "gap": [gap for gap, _ in numbered],
        "start_ns": list(clock.all_at(map(attrgetter("start_ns"), parts))),
        "end_ns": list(clock.all_at(map(attrgetter("end_ns"), parts))),
        "bucket": [part.bucket.value for part in parts],
        "part": [_label(part, Bucket.LAUNCH_STARVED) for part in parts],
        "class": [_label(part, Bucket.BLOCKING) for part in parts],
        "reason": [_label(part, Bucket.DEPENDENCY_STALLED) for part in parts],
        "cause": [part.cause for part in parts],
        "waits_on": [part.waits_on for part in parts],
        "op": [_place(part.op, places) for part in parts],
    }


def _label(part: Part, bucket: Bucket) -> str | None:
    return part.label if part.bucket is bucket else None


def _place(op: Op | None, places: dict[int, int]) -> int:
    return -1 if op is None else places.get(op.index, -1)
