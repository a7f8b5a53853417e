"""What several units tell together: from summaries to the run layer, and from there to the report's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import UnitKey
from critpath.model.manifest import Manifest
from critpath.model.taxonomy_rules import COMMUNICATION_FAMILIES
from critpath.pipeline.summaries import InputSummary, UnitSummary
from critpath.rank.absence import Absence
from critpath.rank.parts import LAUNCH_STARVED
from critpath.rank.summary import RankSummary
from critpath.run.clock_fit import F64
from critpath.run.clocks import Clocks, clocks
from critpath.run.collectives import Matches, match
from critpath.run.cross_path import JobPath, cross_path
from critpath.run.dimensions import dimension_of, strides
from critpath.run.hosts import Axis, hosts
from critpath.run.stragglers import Straggler, lateness, straggler
from critpath.run.survey import Group, JobStep, Representative, groups, job_step, representatives
from critpath.run.units import JobSteps, RunUnit, job_steps

__all__ = ["JobFacts", "job_facts"]

_NO_STEP = ("capture", "explicit")


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Everything that is known of the units together.

    Attributes:
        units: the analysed ones, in order.
        place: place of each analysed unit among `units`, by its key.
        are_steps: whether the windows are steps at all.
        late_ns: how late each unit arrived in each step, shape (units, steps).
        compared: where that is known, same shape.
        path: the critical path of the job's steps.
        dimensions: dimension of each communicator of `matches`, None where none is told.
    """

    units: tuple[RunUnit, ...]
    place: Mapping[UnitKey, int]
    steps: JobSteps
    are_steps: bool
    step: JobStep | None
    groups: tuple[Group, ...]
    representatives: tuple[Representative, ...]
    matches: Matches
    clocks: Clocks
    straggler: Straggler
    late_ns: F64
    compared: npt.NDArray[np.bool_]
    path: JobPath | None
    dimensions: tuple[str | None, ...]


def job_facts(inputs: Sequence[InputSummary], ids: Mapping[UnitKey, str], manifest: Manifest | None) -> JobFacts | None:
    """The facts of all analysed units, None without any.

    Args:
        inputs: all inputs, with ranks, parts and hosts as the user says.
        ids: the report's id of every unit.
        manifest: what the user says of the job.
    """
    told = [
        (unit, source)
        for source in inputs
        for unit in source.units
        if unit.summary is not None and unit.collectives is not None
    ]
    if not told:
        return None
    places = hosts([_axis(unit, source) for unit, source in told])
    units = tuple(
        _run_unit(unit, (i, ids[unit.key]), (where.key, where.zero_ns, where.shared_clock))
        for i, ((unit, _), where) in enumerate(zip(told, places, strict=True))
    )
    steps = job_steps(units)
    are_steps = all(u.windows.kind not in _NO_STEP for u in units)
    step = job_step(units, steps) if are_steps else None
    found = groups(units, steps)
    matches = match(units)
    aligned = clocks(units, matches)
    late = lateness(units, matches, steps, found)
    verdict = straggler(units, (matches, late), steps, found, aligned)
    told_late = verdict.unit if verdict.verdict == "persistent" else None
    parallel = manifest.parallel if manifest is not None else None
    sizes = {} if parallel is None else {n: getattr(parallel, n) for n in ("tp", "pp", "cp", "ep", "etp", "dp")}
    known = strides(sizes, manifest.job.ranks if manifest is not None else None) if sizes else {}
    return JobFacts(
        units=units,
        place={unit.key: i for i, (unit, _) in enumerate(told)},
        steps=steps,
        are_steps=are_steps,
        step=step,
        groups=found,
        representatives=representatives(units, found, None if step is None else step.slowest, told_late),
        matches=matches,
        clocks=aligned,
        straggler=verdict,
        late_ns=late.late_ns,
        compared=late.known,
        path=cross_path(units, matches, steps, step),
        dimensions=tuple(dimension_of(c, units, known) for c in matches.communicators),
    )


def _axis(unit: UnitSummary, source: InputSummary) -> Axis:
    told = source.source
    gpu = unit.gpu.uuid if unit.gpu else None
    if told is None:
        return Axis(unit.host, None, None, None, gpu)
    return Axis(unit.host, told.hostname, told.session_start_utc_ns, told.system_clock_ns, gpu)


def _run_unit(unit: UnitSummary, named: tuple[int, str], where: tuple[str, int | None, bool]) -> RunUnit:
    found, ops = unit.summary, unit.collectives
    if found is None or ops is None:
        raise ValueError("only analysed units are compared")
    n = max(1, len(found.windows))
    counts = {f"kernel {row.name}": row.count / n for row in found.names}
    for copied in found.transfers:
        key = f"copy {copied.direction} {copied.source} {copied.target}"
        counts[key] = counts.get(key, 0.0) + copied.count / n
    return RunUnit(
        id=named[1],
        place=named[0],
        rank=unit.rank,
        part=unit.part,
        host=where[0],
        zero_ns=where[1],
        shared_clock=where[2],
        windows=found.windows,
        collectives=ops,
        memberships=unit.memberships,
        counts=counts,
        totals=_totals(found, unit.absence),
        path=unit.segments,
        kernels={row.name: (row.count, row.work_ns) for row in found.names if not _communicates(row.family)},
    )


def _communicates(family: str) -> bool:
    return family in COMMUNICATION_FAMILIES


def _totals(found: RankSummary, absence: Absence | None) -> dict[str, I64]:
    """What may make a unit late, a window [ns]."""
    totals = {"compute": found.budget.compute_busy_ns}
    if absence is not None:
        totals["host"] = absence.by_window[LAUNCH_STARVED]
        copied = sum(ns for name, ns in absence.by_class.items() if name.startswith("copy_"))
        totals["copies"] = np.full(len(found.windows), copied // max(1, len(found.windows)), np.int64)
    return totals
