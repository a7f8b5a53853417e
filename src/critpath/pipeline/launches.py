"""Launch health in the report's words."""

from __future__ import annotations

from critpath.base.intervals import I64
from critpath.model.report import KernelWork, LaunchCall, LaunchDelay, Launches, LaunchQueue, ShortKernels
from critpath.model.values import NS_PER_MS
from critpath.pipeline.per_window import duration_bins
from critpath.rank.launch_health import LaunchCalls, LaunchHealth

__all__ = ["report_launches"]

_NS_PER_US = 1_000


def report_launches(found: LaunchHealth, lengths_ns: I64) -> Launches:
    """The report's section.

    Args:
        found: of the unit.
        lengths_ns: of its windows.
    """
    n, whole_ns = lengths_ns.size, int(lengths_ns.sum())
    p10, median, p90, p99 = (None,) * 4 if found.delay_ns is None else (ns / _NS_PER_US for ns in found.delay_ns)
    short = found.short
    return Launches(
        delay=LaunchDelay(
            n=found.delays,
            p10_us=p10,
            median_us=median,
            p90_us=p90,
            p99_us=p99,
            without_call=found.without_call,
            before_call=found.before_call,
        ),
        queue=LaunchQueue(
            mean=float((found.depth * lengths_ns).sum()) / whole_ns,
            most=found.most_pending,
            empty_share=int(found.empty_ns.sum()) / whole_ns,
            series=found.depth.tolist(),
        ),
        calls=[_calls(row, n) for row in found.calls],
        short_kernels=ShortKernels(
            count=short.count,
            share_of_kernels=short.count / short.kernels if short.kernels else 0.0,
            work_ms=short.work_ns / n / NS_PER_MS,
            share_of_work=short.work_ns / short.kernels_work_ns if short.kernels_work_ns else 0.0,
            in_graphs=short.in_graphs,
            top=[KernelWork(name=k.name, count=k.count, work_ms=k.work_ns / n / NS_PER_MS) for k in short.names],
        ),
    )


def _calls(row: LaunchCalls, n: int) -> LaunchCall:
    return LaunchCall(
        function=row.function,
        count=row.count,
        host_ms=row.total_ns / n / NS_PER_MS,
        median_us=row.median_ns / _NS_PER_US,
        p99_us=row.p99_ns / _NS_PER_US,
        max_us=row.max_ns / _NS_PER_US,
        held_up=row.held_up,
        queue_full=row.queue_full,
        histogram=duration_bins(row.histogram),
    )
