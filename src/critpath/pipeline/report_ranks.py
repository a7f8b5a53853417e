"""What several units tell together, in the report's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.report import (
    LIST_LIMIT,
    REST,
    Alignment,
    Communicator,
    Group,
    HostClock,
    JobPath,
    JobStep,
    MatchedCollectives,
    PathTransfer,
    PathUnit,
    Ranks,
    Representative,
    Residual,
    Straggler,
    UnitLateness,
    cut,
)
from critpath.model.report.words import AlignmentQuality, LateCauseKind, Pattern, StragglerVerdict
from critpath.model.values import NS_PER_MS
from critpath.pipeline.ranks import JobFacts
from critpath.run.bandwidth import bus_bandwidths
from critpath.run.clocks import HostClock as Clock

__all__ = ["report_ranks"]


def report_ranks(facts: JobFacts) -> Ranks:
    """The section on all units."""
    ids = [unit.id for unit in facts.units]
    return Ranks(
        step=_step(facts, ids),
        groups=[
            Group(
                id=f"g{i}",
                part=group.part,
                units=[ids[u] for u in group.units],
                similarity_min=group.similarity_min,
                fastest=ids[group.fastest],
                slowest=ids[group.slowest],
                spread_pct=100 * group.spread,
                pattern=cast("Pattern", group.pattern),
            )
            for i, group in enumerate(facts.groups)
        ],
        representatives=[Representative(unit=ids[r.unit], why=r.why) for r in facts.representatives],
        alignment=_alignment(facts),
        collectives=_collectives(facts, ids),
        straggler=_straggler(facts, ids),
        critical_path=_path(facts, ids),
        steps=list(facts.steps.labels),
        lateness=[
            UnitLateness(
                unit=ids[i],
                late_ms=[
                    ns / NS_PER_MS if known else None
                    for ns, known in zip(facts.late_ns[i].tolist(), facts.compared[i].tolist(), strict=True)
                ],
            )
            for i in np.flatnonzero(facts.compared.any(axis=1)).tolist()
        ],
    )


def _step(facts: JobFacts, ids: Sequence[str]) -> JobStep | None:
    if facts.step is None:
        return None
    return JobStep(
        median_ms=float(np.median(facts.step.lengths_ns)) / NS_PER_MS,
        slowest_per_step=[ids[i] for i in facts.step.slowest_per_step],
        slowest_unit=ids[facts.step.slowest],
    )


def _alignment(facts: JobFacts) -> Alignment | None:
    aligned = facts.clocks
    if len(aligned.hosts) < 2:
        return None
    common = facts.steps.common
    at_ns = aligned.reference_ns
    if common.size:
        at_ns = min(
            int(u.windows.starts_ns[facts.steps.window[i, common[0]]]) + (u.zero_ns or 0)
            for i, u in enumerate(facts.units)
        )
    return Alignment(
        reference=aligned.reference,
        hosts=[_host(facts, h, clock, at_ns) for h, clock in enumerate(aligned.hosts) if h],
        suspect=list(aligned.suspect),
    )


def _host(facts: JobFacts, host: int, clock: Clock, at_ns: int) -> HostClock:
    offset = None
    if clock.offset_ns is not None and clock.drift_ppm is not None:
        offset = round(clock.offset_ns + clock.drift_ppm * 1e-6 * (at_ns - facts.clocks.reference_ns))
    left = clock.residual_ns
    return HostClock(
        host=clock.host,
        offset_ns=offset,
        drift_ppm=clock.drift_ppm,
        matched=clock.matched,
        residual_ns=None if left is None else Residual(p05=round(left[0]), p50=round(left[1]), p95=round(left[2])),
        quality=cast("AlignmentQuality", clock.quality),
        certified_width_ns=_width(facts, host),
    )


def _width(facts: JobFacts, host: int) -> int | None:
    bounds, of_unit = facts.clocks.bounds, np.array(facts.clocks.of_unit)
    if bounds is None:
        return None
    mine, reference = np.flatnonzero(of_unit == host), np.flatnonzero(of_unit == 0)
    widths = bounds.upper[np.ix_(mine, reference)] + bounds.upper[np.ix_(reference, mine)].T
    least = float(widths.min(initial=np.inf))
    return round(least) if 0 <= least < np.inf else None


def _collectives(facts: JobFacts, ids: Sequence[str]) -> MatchedCollectives:
    m = facts.matches
    unmatched = sum(
        int((u.collectives.window[rows] >= 0).sum()) for u, rows in zip(facts.units, m.unmatched, strict=True)
    )
    inside = _in_windows(facts)
    rows = [_communicator(facts, ids, c, inside) for c in range(len(m.communicators))]
    rows = sorted((r for r in rows if r.instances), key=lambda r: (-(r.transfer_proxy_ms or 0.0), r.key))
    return MatchedCollectives(matched=int(inside.sum()), unmatched=unmatched, communicators=_cut(rows))


def _cut(rows: list[Communicator]) -> list[Communicator]:
    if len(rows) <= LIST_LIMIT:
        return rows
    rest = rows[LIST_LIMIT:]
    known = [r.bytes for r in rest if r.bytes is not None]
    return [
        *rows[:LIST_LIMIT],
        Communicator(
            key=REST,
            units=[],
            inferred=any(r.inferred for r in rest),
            inter_host=any(r.inter_host for r in rest),
            instances=sum(r.instances for r in rest),
            bytes=sum(known) if len(known) == len(rest) else None,
            transfer_proxy_ms=sum(r.transfer_proxy_ms or 0.0 for r in rest),
            jitter_wait_ms=sum(r.jitter_wait_ms or 0.0 for r in rest),
        ),
    ]


def _in_windows(facts: JobFacts) -> npt.NDArray[np.bool_]:
    """Instances that begin in a window of all their participants, shape (n,)."""
    m = facts.matches
    inside = np.ones(m.op.size, np.bool_)
    for i, unit in enumerate(facts.units):
        mine = m.unit == i
        inside[mine] = unit.collectives.window[m.op[mine]] >= 0
    found = np.ones(len(m), np.bool_)
    np.logical_and.at(found, m.instance, inside)
    return found


def _communicator(facts: JobFacts, ids: Sequence[str], c: int, inside: npt.NDArray[np.bool_]) -> Communicator:
    m, told = facts.matches, facts.matches.communicators[c]
    instances = np.flatnonzero((m.community == c) & inside)
    rows = np.isin(m.instance, instances)
    n = max(1, len(facts.steps.common) or len(facts.steps))
    sizes = _sizes(facts, rows)
    members = max(1, len(told.units))
    return Communicator(
        key=told.key,
        units=[ids[u] for u in told.units],
        inferred=told.inferred,
        size=told.ranks,
        dimension=facts.dimensions[c],
        inter_host=len({facts.units[u].host for u in told.units}) > 1,
        kinds=sorted({m.kinds[k] for k in np.unique(m.kind[instances]).tolist()}),
        instances=int(instances.size),
        bytes=sizes,
        transfer_proxy_ms=float(m.proxy_ns[instances].sum()) / n / NS_PER_MS,
        jitter_wait_ms=float(m.wait_ns[rows].sum()) / members / n / NS_PER_MS,
        busbw_GBps=bus_bandwidths(facts.units, m, c, instances),
    )


def _sizes(facts: JobFacts, rows: npt.NDArray[np.bool_]) -> int | None:
    """Payload of one unit, over all instances: of the one that has most; None where a size isn't known."""
    m = facts.matches
    totals: list[int] = []
    for i in np.unique(m.unit[rows]).tolist():
        sizes: I64 = facts.units[i].collectives.bytes[m.op[rows & (m.unit == i)]]
        if (sizes < 0).any():
            return None
        totals.append(int(sizes.sum()))
    return max(totals) if totals else None


def _path(facts: JobFacts, ids: Sequence[str]) -> JobPath | None:
    found = facts.path
    if found is None or not found.total_ns:
        return None

    def ms(ns: int) -> float:
        return ns / found.steps / NS_PER_MS

    largest: dict[int, tuple[int, str]] = {}
    for (unit, name), ns in found.largest_ns.items():
        largest[unit] = max(largest.get(unit, (0, "")), (ns, name))
    units = [
        PathUnit(
            unit=ids[unit],
            ms=ms(ns),
            share=ns / found.total_ns,
            largest=largest[unit][1],
            largest_ms=ms(largest[unit][0]),
        )
        for unit, ns in sorted(found.own_ns.items(), key=lambda row: (-row[1], row[0]))
    ]
    transfers = [
        PathTransfer(key=facts.matches.communicators[c].key, ms=ms(ns), share=ns / found.total_ns)
        for c, ns in sorted(found.transfer_ns.items(), key=lambda row: (-row[1], row[0]))
    ]
    return JobPath(
        steps=found.steps,
        mean_ms=ms(found.total_ns),
        unmatched_ms=ms(found.unmatched_ns),
        units=cut(
            units, lambda rest: PathUnit(unit=REST, ms=sum(r.ms for r in rest), share=sum(r.share for r in rest))
        ),
        transfers=cut(
            transfers, lambda rest: PathTransfer(key=REST, ms=sum(r.ms for r in rest), share=sum(r.share for r in rest))
        ),
    )


def _straggler(facts: JobFacts, ids: Sequence[str]) -> Straggler:
    told = facts.straggler
    return Straggler(
        verdict=cast("StragglerVerdict", told.verdict),
        unit=None if told.unit is None else ids[told.unit],
        late_ms=None if told.late_ns is None else told.late_ns / NS_PER_MS,
        evidence=told.evidence,
        limited_to=[ids[i] for i in told.limited_to],
        steps=told.steps,
        late_steps=told.late_steps,
        cause=None if told.cause is None else cast("LateCauseKind", told.cause.kind),
        cause_text=None if told.cause is None else told.cause.text,
    )
