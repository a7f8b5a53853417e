"""Unit summaries as units of the report: int64 ns become milliseconds an iteration here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from critpath.base.intervals import I64
from critpath.model.identity import NULL, UnitKey, pid_of
from critpath.model.report import (
    REST,
    Absent,
    Anchor,
    BackendTime,
    Budget,
    Category,
    Collectives,
    Communication,
    Compute,
    CrossCheck,
    DroppedWindow,
    GraphUse,
    HostSync,
    MaterialName,
    NcclOnly,
    PhysicalGpu,
    Series,
    SetAside,
    Transfer,
    UnclassifiedName,
    Unit,
    Window,
    WorkVolume,
    cut,
)
from critpath.model.report.words import Backend
from critpath.model.values import NS_PER_MS, percent
from critpath.pipeline.absences import report_absent
from critpath.pipeline.contention import report_contention, report_overlap_cost
from critpath.pipeline.critical_paths import report_critical_path
from critpath.pipeline.launches import report_launches
from critpath.pipeline.nvtx import report_nvtx
from critpath.pipeline.per_window import mean_ms, stat
from critpath.pipeline.summaries import InputSummary, UnitSummary
from critpath.rank.absence import Absence
from critpath.rank.communication import BackendTime as BackendNs
from critpath.rank.compute import NameTime
from critpath.rank.parts import BLOCKING, LAUNCH_STARVED, STALLED
from critpath.rank.summary import RankSummary
from critpath.rank.transfers import Transfer as TransferTime
from critpath.rank.windows import Windows

__all__ = ["MATERIAL_SHARE", "report_unit"]

COPY_BOUND_SHARE = 0.05
"""A group of copies that compute provably waited for during this share of the iteration binds it (P12)."""

MATERIAL_SHARE = 0.01
"""Names above this share of an iteration are listed, with the rule that matched them or without one (P20)."""


_WAITS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"


def report_unit(unit: UnitSummary, source: InputSummary, ids: dict[UnitKey, str]) -> Unit:
    """One unit of the report.

    Args:
        unit: what was found.
        source: its input.
        ids: the report's id of every unit.
    """
    shared = _fields_known_without_windows(unit, source, ids)
    found = unit.summary
    if found is None:
        return Unit(**shared, status="failed", error=unit.failure)  # type: ignore[arg-type]
    n = len(found.windows)
    return Unit(
        **shared,  # type: ignore[arg-type]
        window=_window(found.windows),
        budget=_budget(found),
        work_volume=WorkVolume(
            kernel_sum_ms=_per_window(found.work.kernel_sum_ns, n),
            kernel_union_ms=_per_window(found.work.kernel_union_ns, n),
            kernels=found.work.kernels,
            linked_kernels=found.work.linked_kernels,
        ),
        absent=_absent(unit, found, source),
        critical_path=None if unit.path is None else report_critical_path(unit.path, n),
        communication=_communication(found, unit, n),
        compute=_compute(found, n),
        transfers=_transfers(found, unit),
        graphs=_graphs(found, source),
        launches=None if unit.launches is None else report_launches(unit.launches, found.windows.lengths_ns),
        nvtx=None if unit.nvtx is None else report_nvtx(unit.nvtx, found.budget.device_busy_ns),
        host_sync=_host_sync(found, source),
        series=Series(
            iteration_ms=_series(found.budget.iteration_ns),
            device_busy_ms=_series(found.budget.device_busy_ns),
            compute_busy_ms=_series(found.budget.compute_busy_ns),
            **_absence_series(unit.absence),
            exposed_ms=_series(found.budget.exposed_ns),
        ),
    )


def _fields_known_without_windows(
    unit: UnitSummary, source: InputSummary, ids: dict[UnitKey, str]
) -> dict[str, object]:
    return {
        "id": ids[unit.key],
        "input": unit.key.report,
        "rank": unit.rank,
        "rank_source": unit.rank_source,
        "host": unit.host or (source.source.hostname if source.source else None),
        "part": unit.part,
        "pid": pid_of(unit.key.process),
        "device": unit.key.device,
        "gpu": unit.gpu.name if unit.gpu else None,
        "physical_gpu": _physical_gpu(unit, ids),
        "set_aside": _set_aside(unit.damage),
    }


def _physical_gpu(unit: UnitSummary, ids: dict[UnitKey, str]) -> PhysicalGpu:
    return PhysicalGpu(
        uuid=unit.gpu.uuid if unit.gpu else None,
        bus=unit.gpu.bus if unit.gpu else None,
        shared_with=[ids[key] for key in unit.shared.others] if unit.shared else [],
        device_busy=stat(unit.shared.device_busy_ns) if unit.shared else None,
    )


def _set_aside(damage: dict[str, tuple[int, int, int]]) -> SetAside:
    zero, negative, outside = (sum(column) for column in zip(*damage.values(), strict=True)) if damage else (0, 0, 0)
    return SetAside(zero=zero, negative=negative, outside=outside, by_table={t: sum(c) for t, c in damage.items()})


def _window(windows: Windows) -> Window:
    lengths = windows.lengths_ns
    outside = windows.outside_ns[windows.outside_ns != NULL]
    return Window(
        anchor=Anchor(kind=windows.kind, text=windows.text),  # type: ignore[arg-type]
        scope=windows.scope,  # type: ignore[arg-type]
        n=len(windows),
        median_ms=float(np.median(lengths)) / NS_PER_MS,
        min_ms=float(lengths.min()) / NS_PER_MS,
        max_ms=float(lengths.max()) / NS_PER_MS,
        edges_ns=list(zip(windows.starts_ns.tolist(), windows.ends_ns.tolist(), strict=True)),
        declared=windows.declared,
        cross_check=_cross_check(windows),
        dropped=[DroppedWindow(index=d.index, why=d.why) for d in windows.dropped],
        outside_step_ms=mean_ms(outside) if outside.size else 0.0,
    )


def _cross_check(windows: Windows) -> CrossCheck | None:
    check = windows.cross_check
    if check is None:
        return None
    return CrossCheck(
        kind=check.kind,  # type: ignore[arg-type]
        median_ms=check.median_ns / NS_PER_MS,
        ratio=check.ratio,
        difference_pct=check.difference_pct,
        agrees=check.agrees,
        material=check.is_material,
    )


def _budget(found: RankSummary) -> Budget:
    b = found.budget
    return Budget(
        iteration=stat(b.iteration_ns),
        device_busy=stat(b.device_busy_ns),
        device_idle=stat(b.device_idle_ns),
        noncomm_busy=stat(b.noncomm_busy_ns),
        comm_busy=stat(b.comm_busy_ns),
        compute_busy=stat(b.compute_busy_ns),
        compute_absent=stat(b.compute_absent_ns),
        occupied_not_computing=stat(b.occupied_not_computing_ns),
    )


def _absent(unit: UnitSummary, found: RankSummary, source: InputSummary) -> Absent | None:
    if unit.absence is None:
        return None
    waits = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
    missing = source.quality is not None and any(m.table == waits for m in source.quality.missing)
    return report_absent(unit.absence, found, waits_not_recorded=missing and found.waits_called)


def _absence_series(told: Absence | None) -> dict[str, list[float]]:
    if told is None:
        return {}
    codes = {"launch_starved_ms": LAUNCH_STARVED, "blocking_ms": BLOCKING, "dependency_stalled_ms": STALLED}
    return {name: _series(told.by_window[code]) for name, code in codes.items()}


def _communication(found: RankSummary, unit: UnitSummary, n: int) -> Communication:
    c, told = found.communication, unit.absence
    blocking_ns = sum(ns for label, ns in told.by_class.items() if label in get_args(Backend)) if told else None
    return Communication(
        backends=[
            _backend(row, told, n)
            for row in sorted(c.backends, key=lambda row: -row.union_ns)
            if row.count or row.union_ns
        ],
        union_ms=_per_window(c.union_ns, n),
        exposed_ms=_per_window(c.exposed_ns, n),
        blocking_ms=None if blocking_ns is None else _per_window(blocking_ns, n),
        overlapped_ms=_per_window(c.overlapped_ns, n),
        overlap_pct=100 * c.overlapped_ns / c.union_ns if c.union_ns else None,
        nccl_only=NcclOnly(union_ms=_per_window(c.nccl_union_ns, n), exposed_ms=_per_window(c.nccl_exposed_ns, n)),
        collectives=cut(
            [Collectives(type=kind, count=count) for kind, count in c.collectives],
            lambda rows: Collectives(type=REST, count=sum(r.count for r in rows)),
        ),
        contention=report_contention(unit.contention, n),
        overlap_cost=report_overlap_cost(unit.contention, n),
    )


def _backend(row: BackendNs, told: Absence | None, n: int) -> BackendTime:
    fused = row.component == "fused"
    blocking_ns = told.by_component.get((row.backend, row.component), 0) if told and not fused else None
    return BackendTime(
        backend=row.backend,  # type: ignore[arg-type]
        component=row.component,  # type: ignore[arg-type]
        count=row.count,
        work_ms=_per_window(row.work_ns, n),
        union_ms=_per_window(row.union_ns, n),
        exposed_ms=None if fused else _per_window(row.exposed_ns, n),
        blocking_ms=None if blocking_ns is None else _per_window(blocking_ns, n),
        overlapped_ms=None if fused else _per_window(row.union_ns - row.exposed_ns, n),
    )


def _compute(found: RankSummary, n: int) -> Compute:
    whole = int(found.budget.iteration_ns.sum())
    material = [t for t in found.names if t.work_ns > MATERIAL_SHARE * whole]
    return Compute(
        categories=cut(
            [
                Category(
                    name=f.family,
                    count=f.count,
                    work_ms=_per_window(f.work_ns, n),
                    union_ms=_per_window(f.union_ns, n),
                )
                for f in found.families
            ],
            lambda rows: Category(name=REST, count=sum(r.count for r in rows), work_ms=sum(r.work_ms for r in rows)),
        ),
        material=_material([t for t in material if t.rule is not None], whole),
        unclassified=_unclassified([t for t in material if t.rule is None], whole, n),
    )


def _material(times: Sequence[NameTime], whole_ns: int) -> list[MaterialName]:
    rows = [
        MaterialName(name=t.name, category=t.family, rule=t.rule or "", share_of_iteration=t.work_ns / whole_ns)
        for t in times
    ]
    return cut(
        rows,
        lambda rest: MaterialName(
            name=REST, category=REST, rule=REST, share_of_iteration=sum(r.share_of_iteration for r in rest)
        ),
    )


def _unclassified(times: Sequence[NameTime], whole_ns: int, n: int) -> list[UnclassifiedName]:
    rows = [
        UnclassifiedName(name=t.name, work_ms=_per_window(t.work_ns, n), share_of_iteration=t.work_ns / whole_ns)
        for t in times
    ]
    return cut(
        rows,
        lambda rest: UnclassifiedName(
            name=REST,
            work_ms=sum(r.work_ms for r in rest),
            share_of_iteration=sum(r.share_of_iteration for r in rest),
        ),
    )


def _transfers(found: RankSummary, unit: UnitSummary) -> list[Transfer]:
    n, whole = len(found.windows), int(found.budget.iteration_ns.sum())

    def row(t: TransferTime) -> Transfer:
        known = t.context in unit.known_contexts
        told = unit.absence
        blocking_ns = None if told is None else sum(told.by_copy.get(group, 0) for group in t.groups)
        return Transfer(
            direction=t.direction,  # type: ignore[arg-type]
            src=t.source,  # type: ignore[arg-type]
            dst=t.target,  # type: ignore[arg-type]
            stream=None if t.stream in (0, NULL) else t.stream,
            default_stream=(t.context, t.stream) in unit.null_streams if known else None,
            count=t.count,
            bytes=t.bytes,
            union_ms=_per_window(t.union_ns, n),
            achieved_GBps=t.bytes / t.work_ns if t.work_ns else None,
            occupancy=t.union_ns / whole,
            host_blocked=None if told is None else sum(told.host_blocked.get(group, 0) for group in t.groups),
            blocking_ms=None if blocking_ns is None else _per_window(blocking_ns, n),
            verdict=None if told is None or blocking_ns is None else _copy_verdict(t, blocking_ns, whole, told),
        )

    return [row(t) for t in found.transfers]


def _copy_verdict(t: TransferTime, blocking_ns: int, whole_ns: int, told: Absence) -> str:
    """What dependencies say of the copies; without an edge nothing is called copy bound (P12)."""
    open_ = f"; {percent(told.unresolved_share)} of stream waits have no record" if told.unresolved_share else ""
    if t.direction.startswith("UVM"):
        return "migrations belong to no stream, so no wait for them can be proven"
    if not blocking_ns:
        return f"nothing provably waited for them{open_}"
    share = percent(blocking_ns / whole_ns)
    if blocking_ns >= COPY_BOUND_SHARE * whole_ns:
        return f"copy bound for {share} of the iteration: compute provably waited while they ran or held their engine"
    return f"compute provably waited for them for {share} of the iteration{open_}"


def _host_sync(found: RankSummary, source: InputSummary) -> HostSync | None:
    """Host waits; None where the export has no table of them, which doesn't say that there were none."""
    if source.quality and any(table.table == _WAITS for table in source.quality.missing):
        return None
    return HostSync(
        host_ms=mean_ms(found.host_sync.host_ns), while_device_idle_ms=mean_ms(found.host_sync.while_device_idle_ns)
    )


def _graphs(found: RankSummary, source: InputSummary) -> GraphUse:
    """Graphs in the windows; launches without any row are known of the process only, so each of its units has them."""
    uncovered = 0
    for row in source.quality.graphs.coverage if source.quality else ():
        if row.process == found.key.process:
            uncovered += int((found.windows.of(row.uncovered_ns) >= 0).sum())
    return GraphUse(
        launches=found.graphs.launches + uncovered,
        uncovered=uncovered,
        opaque=found.graphs.opaque,
        opaque_ms=_per_window(found.graphs.opaque_ns, len(found.windows)),
        node_ops=found.graphs.node_ops,
    )


def _per_window(total_ns: int, n: int) -> float:
    return total_ns / n / NS_PER_MS


def _series(values_ns: I64) -> list[float]:
    return [value / NS_PER_MS for value in values_ns.tolist()]
