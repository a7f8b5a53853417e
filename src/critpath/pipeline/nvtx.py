"""The pace of NVTX ranges in the report's words."""

from __future__ import annotations

import math

import numpy as np

from critpath.base.intervals import I64
from critpath.model.report import BucketTimes, HostRange, KernelWork, NvtxRange, NvtxRanges
from critpath.model.values import NS_PER_MS
from critpath.pipeline.per_window import duration_bins, mean_ms, stat
from critpath.rank.nvtx.pacing import Pacing, RangePace
from critpath.rank.parts import BUCKETS

__all__ = ["report_nvtx"]


def report_nvtx(found: Pacing, device_busy_ns: I64) -> NvtxRanges:
    """The report's section.

    Args:
        found: the pace of each range.
        device_busy_ns: of the unit, in each window.
    """
    n, busy_ns = device_busy_ns.size, int(device_busy_ns.sum())
    return NvtxRanges(
        ranges=[_range(row, n, busy_ns) for row in found.ranges],
        ranges_left_out=found.ranges_left,
        host_only=[
            HostRange(
                path=row.path,
                instances=row.instances,
                host_ms=mean_ms(row.host_ns),
                any_thread_ms=mean_ms(row.any_thread_ns),
                any_thread_share=_share(row.any_thread_ns, busy_ns),
            )
            for row in found.host_only
        ],
        host_only_left_out=found.host_only_left,
    )


def _range(row: RangePace, n: int, busy_ns: int) -> NvtxRange:
    return NvtxRange(
        name=row.name,
        path=row.path,
        domain=row.domain,
        instances=int(row.instances.sum()),
        device=stat(row.device_ns),
        share=_share(row.device_ns, busy_ns),
        compute_ms=mean_ms(row.compute_ns),
        communication_ms=mean_ms(row.communication_ns),
        any_thread_ms=mean_ms(row.any_thread_ns),
        any_thread_share=_share(row.any_thread_ns, busy_ns),
        host_ms=mean_ms(row.host_ns),
        gap_ms=BucketTimes(**{f"{name}_ms": ns / n / NS_PER_MS for name, ns in zip(BUCKETS, row.gap_ns, strict=True)}),
        trend_percent_per_iteration=_trend(row),
        histogram=duration_bins(row.histogram),
        kernels=[KernelWork(name=k.name, count=k.count, work_ms=k.work_ns / n / NS_PER_MS) for k in row.kernels],
        kernels_left_out=row.kernels_left,
    )


def _trend(row: RangePace) -> float | None:
    middle = float(np.median(row.device_ns))
    return 100 * row.trend / middle if row.trend is not None and math.isfinite(row.trend) and middle else None


def _share(values_ns: I64, whole_ns: int) -> float:
    return int(values_ns.sum()) / whole_ns if whole_ns else 0.0
