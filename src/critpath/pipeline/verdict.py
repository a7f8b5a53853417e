"""What the report says first: the largest cost of a step on the slowest unit, and what the capture can't say."""

from __future__ import annotations

from collections.abc import Sequence

from critpath.model.report import Dominant, GuardRow, Limit, Unit, Verdict
from critpath.model.report.words import ProofStatus
from critpath.model.values import figure, percent

__all__ = ["limits", "slowest", "verdict"]


def slowest(units: Sequence[Unit]) -> Unit | None:
    """The analysed unit with the longest mean step; None without any."""
    analysed = [u for u in units if u.budget is not None]
    return max(analysed, key=lambda u: u.budget.iteration.mean_ms if u.budget else 0.0) if analysed else None


def verdict(units: Sequence[Unit], *, nothing_because: str) -> Verdict:
    """The verdict on the captured units only.

    Args:
        units: all units.
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
    return Verdict(headline=_headline(unit, dominant, len(units)), dominant=dominant, status=_status(dominant))


def limits(rows: Sequence[GuardRow]) -> list[Limit]:
    """What the guards found that can't be claimed."""
    return [Limit(guard=row.id, text=row.evidence) for row in rows if row.outcome == "limited"]


def _dominant(unit: Unit) -> Dominant:
    """The largest bucket; where compute was mostly absent and its causes are unknown, none is proven largest."""
    if unit.budget is None or unit.window is None:
        return Dominant(bucket="inconclusive")
    iteration, compute = unit.budget.iteration.mean_ms, unit.budget.compute_busy.mean_ms
    absent, outside = unit.budget.compute_absent.mean_ms, unit.window.outside_step_ms
    whole = iteration + outside
    if outside > max(compute, absent):
        return Dominant(bucket="outside_step", unit=unit.id, ms=outside, share=outside / whole)
    if compute >= max(absent, outside) and compute > 0:
        return Dominant(bucket="compute", unit=unit.id, ms=compute, share=compute / whole)
    return Dominant(bucket="inconclusive", unit=unit.id)


def _status(dominant: Dominant) -> ProofStatus:
    return "unverified" if dominant.bucket == "inconclusive" else "trace-verified"


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
    if dominant.bucket == "compute":
        return f"{text} Compute itself is the largest part."
    if dominant.bucket == "outside_step":
        return f"{text} Time between steps is larger than either part: it belongs to no step."
    return f"{text} Why it was absent is not analysed, so no cause is named."
