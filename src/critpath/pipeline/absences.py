"""Why compute was absent: analysed for every unit of an input, and told in the report's words."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import cast

import numpy as np
import polars as pl

from critpath.base.intervals import Intervals
from critpath.model.report import (
    REST,
    Absent,
    Blocking,
    BlockingOperation,
    BucketTimes,
    DependencyStalled,
    HostCauseTime,
    LaunchStarved,
    OffsetSensitivity,
    StallReasons,
    StreamWaits,
    cut,
)
from critpath.model.report.words import Bound
from critpath.model.report.words import HostCause as HostCauseName
from critpath.model.trace import Trace
from critpath.model.values import NS_PER_MS
from critpath.pipeline.options import Options
from critpath.pipeline.summaries import UnitSummary
from critpath.rank.absence import Absence, absence, clipped
from critpath.rank.attribution import ProcessFacts, Surroundings
from critpath.rank.collective_ops import collective_ops, meetings
from critpath.rank.contention import contention
from critpath.rank.critical_path import critical_path
from critpath.rank.edges import edges
from critpath.rank.gap_frame import gap_frame
from critpath.rank.launch_health import launch_health
from critpath.rank.nvtx.frame import bucket_times, nvtx_frame
from critpath.rank.nvtx.pacing import pacing
from critpath.rank.nvtx.projection import for_unit
from critpath.rank.parts import BLOCKING, BUCKETS, LAUNCH_STARVED, OPAQUE_GRAPH, STALLED
from critpath.rank.path_segments import path_segments
from critpath.rank.path_totals import path_totals
from critpath.rank.process_facts import process_facts
from critpath.rank.summary import RankSummary

__all__ = ["report_absent", "with_absences"]


def with_absences(trace: Trace, units: tuple[UnitSummary, ...], options: Options) -> tuple[UnitSummary, ...]:
    """The units of one input, each with why its compute was absent; one process is resolved once.

    Args:
        trace: without damaged records.
        units: all units of the input.
        options: how to analyse; frames are kept where they are asked for.
    """
    facts: dict[int, ProcessFacts] = {}
    busy = {u.key: u.summary.busy for u in units if u.summary is not None}
    done = []
    for unit in units:
        if unit.summary is None:
            done.append(unit)
            continue
        process = unit.key.process
        if process not in facts:
            facts = {process: process_facts(trace, process, options.taxonomy)}
        others = [busy[key] for key in unit.shared.others if key in busy] if unit.shared else []
        around = Surroundings(
            migrations=facts[process].ops.migrations.get(unit.key.device, Intervals.empty()),
            others=reduce(Intervals.union, others, Intervals.empty()),
            communication=unit.summary.communicating,
        )
        done.append(_analysed(trace, facts[process], unit, around, options))
    return tuple(done)


def _analysed(
    trace: Trace, facts: ProcessFacts, unit: UnitSummary, around: Surroundings, options: Options
) -> UnitSummary:
    """A unit with all that follows from its process' dependencies, host rows and ranges."""
    found = unit.summary
    if found is None:
        return unit
    ops, device, windows = facts.ops, unit.key.device, found.windows
    told, divided = absence(facts, device, windows, around)
    cut = clipped(divided.parts, windows)
    path = critical_path(facts, device, windows, told.measured)
    met = meetings(ops, device, (divided, cut), options.taxonomy)
    launched = for_unit(facts.ranges, ops, ops.device == device)
    frames = {}
    if options.frames:
        frames = {
            "budget": budget_frame(found, told),
            "gaps": gap_frame(ops, divided, cut, facts.places),
            "edges": edges(facts).frame(facts, device),
            "critical_path": path.frame(facts.places),
            "nvtx": nvtx_frame(ops, facts.ranges, launched, divided.parts),
        }
    return replace(
        unit,
        absence=told,
        path=path_totals(facts, path, windows, told.measured, facts.places),
        contention=contention(ops, device, windows, around.others.union(around.migrations)),
        launches=launch_health(ops, device, windows, told.measured.launch.long_call_ns),
        segments=path_segments(path, met.op),
        collectives=collective_ops(trace, ops, met, windows, options.taxonomy),
        nvtx=pacing(ops, facts.ranges, launched, windows, bucket_times(divided.parts)) if len(facts.ranges) else None,
        frames=frames,
    )


def budget_frame(found: RankSummary, told: Absence) -> pl.DataFrame:
    """One row a window: its edges, every budget quantity and every bucket, in ns."""
    b, w = found.budget, found.windows
    return pl.DataFrame(
        {
            "window": np.arange(len(w)),
            "start_ns": w.starts_ns,
            "end_ns": w.ends_ns,
            "iteration_ns": b.iteration_ns,
            "device_busy_ns": b.device_busy_ns,
            "device_idle_ns": b.device_idle_ns,
            "noncomm_busy_ns": b.noncomm_busy_ns,
            "comm_busy_ns": b.comm_busy_ns,
            "compute_busy_ns": b.compute_busy_ns,
            "compute_absent_ns": b.compute_absent_ns,
            "exposed_ns": b.exposed_ns,
            **{f"{name}_ns": told.by_window[code] for code, name in enumerate(BUCKETS)},
        }
    )


def report_absent(told: Absence, found: RankSummary, *, waits_not_recorded: bool) -> Absent:
    """The report's section.

    Args:
        told: what was found.
        found: the unit's summary.
        waits_not_recorded: whether the export lacks the synchronization table though wait or record calls exist.
    """
    n = len(found.windows)
    totals = told.by_window.sum(axis=1).tolist()
    absent_ns = int(found.budget.compute_absent_ns.sum())
    return Absent(
        launch_starved_ms=_ms(totals[LAUNCH_STARVED], n),
        blocking_ms=_ms(totals[BLOCKING], n),
        dependency_stalled_ms=_ms(totals[STALLED], n),
        opaque_graph_ms=_ms(totals[OPAQUE_GRAPH], n),
        residual_ms=_ms(absent_ns - sum(totals), n),
        contested_ms=_ms(told.contested_ns, n),
        offset_sensitivity=OffsetSensitivity(
            minus_10us=_buckets(told.moved[0].tolist(), n), plus_10us=_buckets(told.moved[1].tolist(), n)
        ),
        unresolved_wait_share=told.unresolved_share,
        waits=StreamWaits(count=told.waits[0], unresolved=told.waits[1], by_handle=told.waits[2]),
        blocking_bound=_bound(told, waits_not_recorded=waits_not_recorded),
        launch_starved=LaunchStarved(
            recoverable_ms=_ms(told.starved.get("recoverable", 0), n),
            joint_with_producer_ms=_ms(told.starved.get("joint_with_producer", 0), n),
            host_wait_ms=_ms(told.starved.get("host_wait", 0), n),
            launch_latency_ms=_ms(told.starved.get("launch_latency", 0), n),
            by_host_cause=_causes(told, n),
        ),
        blocking=Blocking(
            by_class={label: _ms(ns, n) for label, ns in sorted(told.by_class.items(), key=lambda kv: -kv[1])},
            by_operation=_operations(told, n),
        ),
        dependency_stalled=DependencyStalled(by_reason=_reasons(told, n)),
    )


def _causes(told: Absence, n: int) -> list[HostCauseTime]:
    rows = [
        HostCauseTime(
            cause=cast("HostCauseName", c.cause), detail=c.detail, ms=_ms(ns, n), waits_on=c.waits_on, nvtx=place
        )
        for c, ns, place in told.causes
    ]
    return cut(rows, lambda rest: HostCauseTime(cause="rest", detail="", ms=sum(r.ms for r in rest)))


def _operations(told: Absence, n: int) -> list[BlockingOperation]:
    rows = [
        BlockingOperation(
            name=o.name,
            class_=o.label,
            ms=_ms(o.blocking_ns, n),
            count=o.count,
            producer_late_ms=_ms(o.producer_late_ns, n),
            nvtx=o.nvtx,
        )
        for o in told.operations
    ]
    return cut(
        rows,
        lambda rest: BlockingOperation(
            name=REST,
            ms=sum(r.ms for r in rest),
            count=sum(r.count for r in rest),
            producer_late_ms=sum(r.producer_late_ms for r in rest),
        ),
    )


def _reasons(told: Absence, n: int) -> StallReasons:
    """Reasons that are tested; the others stay null. The order of a queue is tested where all streams share one."""
    tested = (
        *(reason for reason in ("queue_order",) if reason in told.by_reason),
        "back_to_back",
        "device_full",
        "other_process",
        "uvm",
        "unresolved_wait",
        "inside_graph",
        "no_next_kernel",
    )
    return StallReasons(**{reason: _ms(told.by_reason.get(reason, 0), n) for reason in (*tested, "unknown")})


def _bound(told: Absence, *, waits_not_recorded: bool) -> Bound:
    lower = told.unresolved_share > 0 or told.unknown_issue or waits_not_recorded
    upper = told.unlinked_blocking or told.inferred_blocking
    if lower:
        return "estimate" if upper else "lower"
    return "upper" if upper else "exact"


def _buckets(totals: list[int], n: int) -> BucketTimes:
    return BucketTimes(
        launch_starved_ms=_ms(totals[LAUNCH_STARVED], n),
        blocking_ms=_ms(totals[BLOCKING], n),
        dependency_stalled_ms=_ms(totals[STALLED], n),
        opaque_graph_ms=_ms(totals[OPAQUE_GRAPH], n),
    )


def _ms(total_ns: int, n: int) -> float:
    return total_ns / n / NS_PER_MS
