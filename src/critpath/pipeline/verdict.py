"""What the report says first: the largest cost of a step on the slowest unit, and what the capture can't say."""

from __future__ import annotations

from collections.abc import Sequence

from critpath.model.report import Absent, Dominant, GuardRow, Limit, Ranks, Unit, Verdict, Window
from critpath.model.report.words import Bucket, ProofStatus
from critpath.model.values import figure, percent

__all__ = ["limits", "slowest", "verdict"]


def slowest(units: Sequence[Unit]) -> Unit | None:
    """The analysed unit with the longest mean step; None without any."""
    analysed = [u for u in units if u.budget is not None]
    return max(analysed, key=lambda u: u.budget.iteration.mean_ms if u.budget else 0.0) if analysed else None


def verdict(units: Sequence[Unit], ranks: Ranks | None, *, nothing_because: str) -> Verdict:
    """The verdict on the captured units only.

    Args:
        units: all units.
        ranks: what they tell together.
        nothing_because: why there is nothing to say, for a report without an analysed unit.
    """
    unit = slowest(units)
    if unit is None:
        return Verdict(
            headline=f"Nothing can be said of a step: {nothing_because}",
            dominant=Dominant(bucket="inconclusive"),
            status="unverified",
        )
    dominant = _dominant(unit)
    headline = f"{_headline(unit, dominant, len(units))} {_late(units, ranks)}".rstrip()
    return Verdict(headline=headline, dominant=dominant, status=_status(dominant))


def _late(units: Sequence[Unit], ranks: Ranks | None) -> str:
    """Whom the others wait for, where one is late again and again: that is no cost of the network's."""
    found = ranks.straggler if ranks is not None else None
    if found is None or found.verdict not in ("persistent", "rotating") or found.late_ms is None:
        return ""
    if found.unit is None:
        return f"In most steps the others wait for a late rank, another one each time ({figure(found.late_ms)} ms)."
    named = next((f"rank {u.rank}" if u.rank is not None else u.id for u in units if u.id == found.unit), found.unit)
    return f"The others wait for {named}, which arrives {figure(found.late_ms)} ms late a step."


def limits(rows: Sequence[GuardRow]) -> list[Limit]:
    """What the guards found that can't be claimed."""
    return [Limit(guard=row.id, text=row.evidence) for row in rows if row.outcome == "limited"]


def _dominant(unit: Unit) -> Dominant:
    """The largest of compute busy, the buckets without compute and the time outside; opaque graphs are inconclusive."""
    if unit.budget is None or unit.window is None or unit.absent is None:
        return Dominant(bucket="inconclusive")
    if _disputed(unit.window):
        return Dominant(bucket="inconclusive", unit=unit.id)
    absent, outside = unit.absent, unit.window.outside_step_ms
    times: dict[Bucket, float] = {
        "compute": unit.budget.compute_busy.mean_ms,
        "launch_starved": absent.launch_starved_ms,
        "blocking": absent.blocking_ms,
        "dependency_stalled": absent.dependency_stalled_ms,
        "inconclusive": absent.opaque_graph_ms,
        "outside_step": outside,
    }
    bucket = max(times, key=lambda name: times[name])
    whole = unit.budget.iteration.mean_ms + outside
    # A graph launch without any row ran at a time that nobody knows, and its time reads as absent.
    if bucket == "inconclusive" or not whole or (_uncovered(unit) and bucket not in ("compute", "outside_step")):
        return Dominant(bucket="inconclusive", unit=unit.id)
    return Dominant(
        bucket=bucket,
        class_=_largest_inside(absent, bucket),
        unit=unit.id,
        ms=times[bucket],
        share=times[bucket] / whole,
    )


def _uncovered(unit: Unit) -> int:
    return unit.graphs.uncovered if unit.graphs is not None else 0


def _largest_inside(absent: Absent, bucket: Bucket) -> str | None:
    """The largest class of a bucket: class of blocking, host cause of launch starvation, reason of a stall."""
    inside: dict[str, float] = {}
    if bucket == "blocking" and absent.blocking is not None:
        inside = dict(absent.blocking.by_class)
    elif bucket == "launch_starved" and absent.launch_starved is not None:
        for row in absent.launch_starved.by_host_cause:
            inside[row.cause] = inside.get(row.cause, 0.0) + row.ms
    elif bucket == "dependency_stalled" and absent.dependency_stalled is not None:
        reasons = absent.dependency_stalled.by_reason.model_dump()
        inside = {reason: ms for reason, ms in reasons.items() if ms is not None}
    return max(inside, key=lambda name: inside[name]) if inside else None


def _status(dominant: Dominant) -> ProofStatus:
    if dominant.bucket == "inconclusive":
        return "unverified"
    return "inferred" if dominant.class_ in ("unknown", "stall") else "trace-verified"


def _headline(unit: Unit, dominant: Dominant, units: int) -> str:
    budget, window = unit.budget, unit.window
    assert budget is not None  # noqa: S101  (the slowest unit is an analysed one)
    assert window is not None  # noqa: S101
    iteration, absent = budget.iteration.mean_ms, budget.compute_absent.mean_ms
    whole = "a step" if window.anchor.kind not in ("capture", "explicit") else "the window, which is not a step"
    name = f"rank {unit.rank}" if unit.rank is not None else f"unit {unit.id}"
    among = f"On the slowest of {units} captured units ({name})" if units > 1 else f"On the one captured unit ({name})"
    share = percent(absent / iteration if iteration else None)
    text = f"{among}, compute was absent for {figure(absent)} of {figure(iteration)} ms ({share}) of {whole}."
    return f"{text} {_cause(unit, dominant)}"


def _disputed(window: Window) -> bool:
    """Whether a second anchor tells another step and nobody declared one."""
    return not window.declared and window.cross_check is not None and window.cross_check.material


def _cause(unit: Unit, dominant: Dominant) -> str:
    """What the largest part is, as far as it is proven."""
    window = unit.window
    if dominant.bucket == "inconclusive" and window is not None and window.cross_check and _disputed(window):
        return (
            f"Which step that is remains open: {window.anchor.kind} '{window.anchor.text}' tells "
            f"{figure(window.median_ms)} ms, {window.cross_check.kind} {figure(window.cross_check.median_ms)} ms. "
            "Declare it: --step REGEX over its NVTX ranges, or --window A:B."
        )
    if dominant.bucket == "inconclusive" and unit.graphs is not None and unit.graphs.uncovered:
        return (
            f"{unit.graphs.uncovered:,} of {unit.graphs.launches:,} graph launches in its windows left no device row, "
            "so when the device worked is unknown and nothing is called idle: recapture with --cuda-graph-trace=node."
        )
    if dominant.bucket == "inconclusive":
        return (
            "Most of it lies at or behind CUDA graphs traced as one row, so what ran inside is unknown: recapture with "
            "--cuda-graph-trace=node."
        )
    told = f"{figure(dominant.ms)} ms" if dominant.ms is not None else "an unknown time"
    label = (dominant.class_ or "unknown").replace("_", " ")
    bound = unit.absent.blocking_bound if unit.absent is not None else "exact"
    return {
        "compute": f"Compute itself is the largest part ({told}). {_largest_absent(unit)}".rstrip(),
        "outside_step": f"Time between steps is the largest part ({told}): it belongs to no step.",
        "launch_starved": f"Launch-starved time is the largest part ({told}), most of it with host cause {label}.",
        "blocking": f"Blocking is the largest part ({told}, bound: {bound}), most of it by {label}.",
        "dependency_stalled": f"Dependency-stalled time is the largest part ({told}), most of it for reason {label}.",
    }[dominant.bucket]


def _largest_absent(unit: Unit) -> str:
    """The largest bucket of the time without compute, where there is any."""
    absent = unit.absent
    if absent is None:
        return ""
    times: dict[Bucket, float] = {
        "launch_starved": absent.launch_starved_ms,
        "blocking": absent.blocking_ms,
        "dependency_stalled": absent.dependency_stalled_ms,
    }
    bucket = max(times, key=lambda name: times[name])
    if not times[bucket]:
        return ""
    label = (_largest_inside(absent, bucket) or "unknown").replace("_", " ")
    return f"Of the time without it, {bucket.replace('_', '-')} is most ({figure(times[bucket])} ms), mainly {label}."
