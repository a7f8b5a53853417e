"""What must be true of ceilings: their formula, their bucket, and what may be combined."""

from __future__ import annotations

from collections.abc import Iterator

from critpath.model.report.compared import at_most, equal
from critpath.model.report.document import Report
from critpath.model.report.opportunities import Opportunity
from critpath.model.report.unit import Unit

__all__ = ["combined_ceiling_faults", "opportunity_faults"]


def opportunity_faults(opportunity: Opportunity, report: Report) -> Iterator[str]:
    """Sentences on an opportunity that breaks the formula of ceilings or exceeds its bucket."""
    o = opportunity
    yield from at_most("recoverable_min_ms", o.recoverable_min_ms, "recoverable_ms", o.recoverable_ms)
    yield from at_most("recoverable_ms", o.recoverable_ms, "recoverable_max_ms", o.recoverable_max_ms)
    yield from at_most("0", 0.0, "recoverable_min_ms", o.recoverable_min_ms)
    if o.new_step_ceiling_ms <= 0:
        yield "new_step_ceiling_ms: no cause can recover the whole step"
    else:
        gain = ((o.new_step_ceiling_ms + o.recoverable_ms) / o.new_step_ceiling_ms - 1) * 100
        yield from equal("throughput_gain_ceiling_pct", o.throughput_gain_ceiling_pct, "(T / (T - R) - 1) * 100", gain)
    unit = next((unit for unit in report.units if unit.id == o.unit), None)
    if unit is None:
        yield f"unit: there is no unit {o.unit}"
        return
    if o.scope == "unit" and unit.budget is not None:
        ceiling = unit.budget.iteration.mean_ms - o.recoverable_ms
        yield from equal("new_step_ceiling_ms", o.new_step_ceiling_ms, "T - R", ceiling)
    yield from at_most("recoverable_ms", o.recoverable_ms, f"what {o.bucket} holds", _held(o.bucket, unit))


def combined_ceiling_faults(report: Report) -> Iterator[str]:
    """Sentences on a combined ceiling that adds what overlaps."""
    combined = report.combined_ceiling
    if combined is None:
        return
    known = {o.id: o for o in report.opportunities}
    for name in set(combined.opportunities) - set(known):
        yield f"combined_ceiling.opportunities: there is no opportunity {name}"
    parts = [known[name] for name in combined.opportunities if name in known]
    for part in parts:
        for other in set(part.overlaps_with) & set(combined.opportunities):
            yield f"combined_ceiling.opportunities: {part.id} overlaps with {other}"
        least = part.recoverable_ms
        yield from at_most(
            f"combined_ceiling: recoverable_ms of {part.id}", least, "the union", combined.recoverable_ms
        )
    total = sum(part.recoverable_ms for part in parts)
    yield from at_most("combined_ceiling.recoverable_ms", combined.recoverable_ms, "the sum of its parts", total)


def _held(bucket: str, unit: Unit) -> float | None:
    """The most that any fix of a bucket could recover on the unit; None where the report doesn't tell."""
    if unit.absent is None:
        return None
    if bucket == "launch_starved" and unit.absent.launch_starved is not None:
        # An earlier launch hides the launch latency too.
        inside = unit.absent.launch_starved
        return inside.recoverable_ms + inside.launch_latency_ms
    value = getattr(unit.absent, f"{bucket}_ms", None)
    return float(value) if value is not None else None
