"""What must be true of what units tell together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from critpath.model.report.compared import at_most, equal
from critpath.model.report.document import Report
from critpath.model.report.part import REST
from critpath.model.report.ranks import JobPath, PathTransfer, PathUnit, Ranks

__all__ = ["rank_faults"]

_LATE = ("persistent", "rotating")


def rank_faults(report: Report) -> Iterator[str]:
    """Sentences on figures of `ranks` that contradict each other or the units."""
    ranks = report.ranks
    if ranks is None:
        return
    ids = {unit.id for unit in report.units}
    yield from (f"{path}: there is no unit {name}" for path, name in _named(ranks) if name not in ids)
    grouped = [name for group in ranks.groups for name in group.units]
    analysed = [unit.id for unit in report.units if unit.budget is not None]
    if sorted(grouped) != sorted(analysed):
        yield "groups: they must hold every analysed unit once"
    for unit in report.units:
        mine = next((group.id for group in ranks.groups if unit.id in group.units), None)
        if unit.group != mine:
            yield f"groups: unit {unit.id} says group {unit.group}, and is in {mine}"
    if ranks.step is not None and ranks.step.slowest_unit not in ranks.step.slowest_per_step:
        yield "step.slowest_unit: it is slowest in no step"
    if ranks.straggler is not None:
        s = ranks.straggler
        if s.late_ms is not None and s.verdict not in _LATE:
            yield f"straggler.late_ms: verdict {s.verdict} claims no lateness"
        if s.unit is not None and s.verdict in ("none", "inconclusive", "rotating"):
            yield f"straggler.unit: verdict {s.verdict} names no unit"
        yield from at_most("straggler.late_steps", s.late_steps, "steps", s.steps)
    for row in ranks.lateness:
        if len(row.late_ms) != len(ranks.steps):
            yield f"lateness: {row.unit} has {len(row.late_ms)} values for {len(ranks.steps)} steps"
    if ranks.critical_path is not None:
        yield from _path(ranks.critical_path)


def _named(ranks: Ranks) -> Iterator[tuple[str, str]]:
    """(path, unit) of every unit that is named."""
    if ranks.step is not None:
        yield from (("step.slowest_per_step", name) for name in ranks.step.slowest_per_step)
        yield "step.slowest_unit", ranks.step.slowest_unit
    for group in ranks.groups:
        yield from ((f"groups.{group.id}", name) for name in (*group.units, group.fastest, group.slowest))
    yield from (("representatives", row.unit) for row in ranks.representatives)
    yield from (("lateness", row.unit) for row in ranks.lateness)
    if ranks.straggler is not None:
        yield from (("straggler.limited_to", name) for name in ranks.straggler.limited_to)
        if ranks.straggler.unit is not None:
            yield "straggler.unit", ranks.straggler.unit
    for row in ranks.collectives.communicators if ranks.collectives is not None else ():
        yield from ((f"collectives.{row.key}", name) for name in row.units)
    for part in ranks.critical_path.units if ranks.critical_path is not None else ():
        if part.unit != REST:
            yield "critical_path.units", part.unit


def _path(path: JobPath) -> Iterator[str]:
    rows: list[PathUnit | PathTransfer] = [*path.units, *path.transfers]
    yield from equal("critical_path: units and transfers", math.fsum(r.ms for r in rows), "mean_ms", path.mean_ms)
    yield from equal("critical_path: shares", math.fsum(r.share for r in rows), "1", 1.0)
    own = math.fsum(row.ms for row in path.units)
    yield from at_most("critical_path.unmatched_ms", path.unmatched_ms, "the units' own", own)
