"""What must be true between the figures of a report, checked while it is built and by tests.

Each check gives sentences, none where the figures agree; `violations` collects them. A figure that is null is not
compared: that it must be explained is `absence.unexplained_nulls`'s business.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import get_args

from critpath.model.report.absent import Absent
from critpath.model.report.ceilings import combined_ceiling_faults, opportunity_faults
from critpath.model.report.communication import Communication
from critpath.model.report.compared import at_most, equal
from critpath.model.report.comparisons import rank_faults
from critpath.model.report.critical_path import CriticalPath
from critpath.model.report.document import Report
from critpath.model.report.nvtx import NvtxRanges
from critpath.model.report.unit import Unit
from critpath.model.report.window import Budget, Series, Window, WorkVolume
from critpath.model.report.words import Backend
from critpath.model.values import Stat

__all__ = ["LARGE_RESIDUAL_MS", "large_residuals", "violations"]

LARGE_RESIDUAL_MS = 0.5
"""A residual above this is a warning [ms/iteration]."""

_SUMMARY = ("mean_ms", "median_ms", "min_ms", "max_ms")


def violations(report: Report) -> list[str]:
    """Sentences on figures of the report that contradict one another; empty where all agree.

    Times are compared to 1e-6 ms, which is 1 ns.
    """
    found = list(_references(report))
    for index, unit in enumerate(report.units):
        found += [f"units[{index}].{fault}" for fault in _unit(unit)]
    for index, opportunity in enumerate(report.opportunities):
        found += [f"opportunities[{index}].{fault}" for fault in opportunity_faults(opportunity, report)]
    found += [f"ranks.{fault}" for fault in rank_faults(report)]
    return found + list(combined_ceiling_faults(report))


def large_residuals(report: Report) -> list[str]:
    """Sentences on units whose residual is above `LARGE_RESIDUAL_MS`: a warning, not a violation."""
    return [
        f"unit {unit.id}: {unit.absent.residual_ms:.3f} ms an iteration without compute are in no bucket"
        for unit in report.units
        if unit.absent is not None and unit.absent.residual_ms > LARGE_RESIDUAL_MS
    ]


def _references(report: Report) -> Iterator[str]:
    ids = [unit.id for unit in report.units]
    if len(set(ids)) < len(ids):
        yield f"units: ids are not unique: {ids}"
    for index, unit in enumerate(report.units):
        if not 0 <= unit.input < len(report.inputs):
            yield f"units[{index}].input: there is no input {unit.input}"
        elif unit.id not in report.inputs[unit.input].units:
            yield f"units[{index}].input: inputs[{unit.input}].units does not name {unit.id}"
    for index, given in enumerate(report.inputs):
        yield from (f"inputs[{index}].units: there is no unit {name}" for name in set(given.units) - set(ids))
    if report.verdict.dominant.unit not in {None, *ids}:
        yield f"verdict.dominant.unit: there is no unit {report.verdict.dominant.unit}"
    guards = [row.id for row in report.guards]
    if len(set(guards)) < len(guards):
        yield "guards: a guard has more than one row"


def _unit(unit: Unit) -> Iterator[str]:
    if unit.status == "ok" and (unit.window is None or unit.budget is None):
        yield "status: an analysed unit has a window and a budget"
    if unit.budget is not None:
        yield from _budget(unit.budget)
        if unit.window is not None:
            yield from _window(unit.window, unit.budget)
        yield from _series(unit.series, unit)
        if unit.work_volume is not None:
            yield from _work_volume(unit.work_volume, unit.budget)
        if unit.absent is not None:
            yield from equal(
                "absent: the buckets and the residual", _bucket_sum(unit.absent),
                "budget.compute_absent", unit.budget.compute_absent.mean_ms,
            )  # fmt: skip
        if unit.critical_path is not None:
            yield from (f"critical_path.{f}" for f in _path(unit.critical_path, unit.budget.iteration.mean_ms))
        if unit.communication is not None:
            yield from equal(
                "communication.union_ms", unit.communication.union_ms,
                "budget.comm_busy", unit.budget.comm_busy.mean_ms,
            )  # fmt: skip
        if unit.host_sync is not None:
            yield from at_most(
                "host_sync.while_device_idle_ms", unit.host_sync.while_device_idle_ms,
                "budget.device_idle", unit.budget.device_idle.mean_ms,
            )  # fmt: skip
    if unit.nvtx is not None and unit.budget is not None:
        yield from (f"nvtx.{fault}" for fault in _nvtx(unit.nvtx, unit.budget))
    if unit.host_sync is not None:
        sync = unit.host_sync
        yield from at_most("host_sync.while_device_idle_ms", sync.while_device_idle_ms, "host_ms", sync.host_ms)
    if unit.absent is not None:
        yield from (f"absent.{fault}" for fault in _absent(unit.absent))
    if unit.communication is not None:
        yield from (f"communication.{fault}" for fault in _communication(unit.communication, unit.absent))


def _path(path: CriticalPath, iteration_ms: float) -> Iterator[str]:
    """Links tile the step, so every way to add them up gives it."""
    for name in ("by_kind", "by_class", "by_place", "by_grade"):
        told = getattr(path, name)
        if told is not None:
            yield from equal(name, math.fsum(told.values()), "budget.iteration", iteration_ms)
    yield from equal("top", math.fsum(row.ms for row in path.top), "budget.iteration", iteration_ms)


def _nvtx(nvtx: NvtxRanges, budget: Budget) -> Iterator[str]:
    busy = budget.device_busy.mean_ms
    for index, row in enumerate(nvtx.ranges):
        at, device = f"ranges[{index}]", row.device.mean_ms
        yield from _statistic(f"{at}.device", row.device)
        yield from at_most(f"{at}.device", device, "any_thread_ms", row.any_thread_ms)
        yield from at_most(f"{at}.any_thread_ms", row.any_thread_ms, "budget.device_busy", busy)
        yield from at_most(f"{at}.compute_ms", row.compute_ms, "device", device)
        yield from at_most(f"{at}.communication_ms", row.communication_ms, "device", device)
        gaps = math.fsum(row.gap_ms.model_dump().values())
        yield from at_most(f"{at}.gap_ms", gaps, "budget.compute_absent", budget.compute_absent.mean_ms)


def _budget(budget: Budget) -> Iterator[str]:
    for name in type(budget).model_fields:
        yield from _statistic(f"budget.{name}", getattr(budget, name))
    # An order that holds in every window holds between means, medians, minima and maxima alike.
    chain = ("compute_busy", "noncomm_busy", "device_busy", "iteration")
    for small, large in [*pairwise(chain), ("comm_busy", "device_busy")]:
        for key in _SUMMARY:
            less, more = getattr(getattr(budget, small), key), getattr(getattr(budget, large), key)
            yield from at_most(f"budget.{small}.{key}", less, f"{large}.{key}", more)
    for parts, whole in (
        (("device_busy", "device_idle"), "iteration"),
        (("compute_busy", "compute_absent"), "iteration"),
        (("compute_busy", "occupied_not_computing"), "device_busy"),
    ):
        total = sum(getattr(budget, part).mean_ms for part in parts)
        yield from equal(f"budget: {' + '.join(parts)}", total, whole, getattr(budget, whole).mean_ms)


def _statistic(path: str, stat: Stat) -> Iterator[str]:
    yield from at_most(f"{path}.min_ms", stat.min_ms, "median_ms", stat.median_ms)
    yield from at_most(f"{path}.median_ms", stat.median_ms, "max_ms", stat.max_ms)
    yield from at_most(f"{path}.min_ms", stat.min_ms, "mean_ms", stat.mean_ms)
    yield from at_most(f"{path}.mean_ms", stat.mean_ms, "max_ms", stat.max_ms)
    yield from at_most(path, 0.0, "min_ms", stat.min_ms)


def _window(window: Window, budget: Budget) -> Iterator[str]:
    if window.n != len(window.edges_ns):
        yield f"window.n: {window.n} windows have {len(window.edges_ns)} edges"
    if any(start >= end for start, end in window.edges_ns):
        yield "window.edges_ns: a window ends before it starts"
    for key in _SUMMARY[1:]:
        yield from equal(
            f"window.{key}", getattr(window, key), f"budget.iteration.{key}", getattr(budget.iteration, key)
        )
    if window.scope == "period" and window.outside_step_ms:
        yield "window.outside_step_ms: periods tile, so nothing lies outside them"


def _series(series: Series, unit: Unit) -> Iterator[str]:
    n = unit.window.n if unit.window is not None else len(series.iteration_ms)
    for name in type(series).model_fields:
        values = getattr(series, name)
        if values and len(values) != n:
            yield f"series.{name}: {len(values)} values for {n} windows"
            return
        whole = _whole(name, unit)
        if values and whole is not None:
            yield from equal(f"series.{name}: the mean", math.fsum(values) / len(values), "the unit's", whole)
    for index, length in enumerate(series.iteration_ms):
        busy, compute = _at(series.device_busy_ms, index), _at(series.compute_busy_ms, index)
        yield from at_most(f"series.device_busy_ms[{index}]", busy, "iteration_ms", length)
        yield from at_most(f"series.compute_busy_ms[{index}]", compute, "device_busy_ms", busy)
        yield from at_most(f"series.exposed_ms[{index}]", _at(series.exposed_ms, index), "device_busy_ms", busy)
        buckets = (series.launch_starved_ms, series.blocking_ms, series.dependency_stalled_ms)
        if compute is not None:
            taken = sum(_at(bucket, index) or 0.0 for bucket in buckets)
            yield from at_most(f"series: the buckets of window {index}", taken, "compute absent", length - compute)


def _whole(name: str, unit: Unit) -> float | None:
    """The unit's mean of a quantity that has a series; None where it was not analysed."""
    if name == "exposed_ms":
        return unit.communication.exposed_ms if unit.communication is not None else None
    if unit.budget is not None and hasattr(unit.budget, name.removesuffix("_ms")):
        return float(getattr(unit.budget, name.removesuffix("_ms")).mean_ms)
    return float(getattr(unit.absent, name)) if unit.absent is not None else None


def _at(values: Sequence[float], index: int) -> float | None:
    return values[index] if index < len(values) else None


def _work_volume(work: WorkVolume, budget: Budget) -> Iterator[str]:
    yield from at_most("work_volume.kernel_union_ms", work.kernel_union_ms, "kernel_sum_ms", work.kernel_sum_ms)
    yield from at_most("work_volume.kernel_union_ms", work.kernel_union_ms, "device_busy", budget.device_busy.mean_ms)
    yield from at_most("work_volume.linked_kernels", work.linked_kernels, "kernels", work.kernels)


def _bucket_sum(absent: Absent) -> float:
    return math.fsum(
        (
            absent.launch_starved_ms,
            absent.blocking_ms,
            absent.dependency_stalled_ms,
            absent.opaque_graph_ms,
            absent.residual_ms,
        )
    )


def _absent(absent: Absent) -> Iterator[str]:
    for name in ("launch_starved_ms", "blocking_ms", "dependency_stalled_ms", "opaque_graph_ms", "residual_ms"):
        yield from at_most("0", 0.0, name, getattr(absent, name))
    yield from at_most("contested_ms", absent.contested_ms, "compute absent", _bucket_sum(absent))
    if absent.launch_starved is not None:
        inside = absent.launch_starved
        parts = (
            inside.recoverable_ms,
            inside.joint_with_producer_ms,
            inside.host_wait_ms,
            inside.launch_latency_ms,
        )
        yield from equal("launch_starved: its parts", math.fsum(parts), "launch_starved_ms", absent.launch_starved_ms)
        if inside.by_host_cause:
            causes = math.fsum(row.ms for row in inside.by_host_cause)
            yield from equal("launch_starved.by_host_cause", causes, "launch_starved_ms", absent.launch_starved_ms)
    if absent.blocking is not None:
        owned = math.fsum(absent.blocking.by_class.values())
        yield from equal("blocking.by_class", owned, "blocking_ms", absent.blocking_ms)
        named = math.fsum(row.ms for row in absent.blocking.by_operation)
        yield from at_most("blocking.by_operation", named, "blocking_ms", absent.blocking_ms)
        for row in absent.blocking.by_operation:
            yield from at_most(f"blocking: producer_late_ms of {row.name}", row.producer_late_ms, "ms", row.ms)
    if absent.dependency_stalled is not None:
        reasons = absent.dependency_stalled.by_reason
        total = math.fsum(getattr(reasons, name) or 0.0 for name in type(reasons).model_fields)
        yield from equal("dependency_stalled.by_reason", total, "dependency_stalled_ms", absent.dependency_stalled_ms)


def _communication(comm: Communication, absent: Absent | None) -> Iterator[str]:
    yield from equal("exposed_ms + overlapped_ms", comm.exposed_ms + comm.overlapped_ms, "union_ms", comm.union_ms)
    if comm.overlap_pct is not None and comm.union_ms > 0:
        yield from equal(
            "overlap_pct", comm.overlap_pct, "overlapped / union", 100 * comm.overlapped_ms / comm.union_ms
        )
    for row in comm.backends:
        yield from at_most(f"backends: union_ms of {row.backend} {row.component}", row.union_ms, "work_ms", row.work_ms)
        # Fused kernels are compute: they belong to no communication union.
        if row.component != "fused":
            yield from at_most(f"backends: union_ms of {row.backend}", row.union_ms, "union_ms", comm.union_ms)
    if comm.nccl_only is not None:
        yield from at_most("nccl_only.union_ms", comm.nccl_only.union_ms, "union_ms", comm.union_ms)
        yield from at_most("nccl_only.exposed_ms", comm.nccl_only.exposed_ms, "exposed_ms", comm.exposed_ms)
    if absent is not None and absent.blocking is not None and comm.blocking_ms is not None:
        owned = math.fsum(ms for name, ms in absent.blocking.by_class.items() if _is_backend(name))
        yield from equal("blocking_ms", comm.blocking_ms, "its classes in absent.blocking.by_class", owned)
    for cost in comm.overlap_cost:
        yield from at_most(f"overlap_cost: measured_ms of {cost.by}", cost.measured_ms, "overlap_ms", cost.overlap_ms)
        yield from equal("overlap_cost: net_ms", cost.net_ms, "measured - cost", cost.measured_ms - cost.cost_ms)
        told = math.fsum(row.cost_ms for row in comm.contention if row.by == cost.by)
        if all(row.by is not None for row in comm.contention):
            yield from equal(f"contention: costs of {cost.by}", told, "overlap_cost.cost_ms", cost.cost_ms)
    matched = (comm.blocking_transfer_ms or 0.0) + (comm.blocking_peer_wait_ms or 0.0)
    yield from at_most("blocking_transfer_ms + blocking_peer_wait_ms", matched, "blocking_ms", comm.blocking_ms)


def _is_backend(name: str) -> bool:
    return name.removeprefix("queue:") in get_args(Backend)
