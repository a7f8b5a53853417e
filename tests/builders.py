"""Hand-built reports for tests of what reads them; captures come from the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from critpath.model.report import (
    Absent,
    Anchor,
    Blocking,
    BlockingOperation,
    Budget,
    Capture,
    Communication,
    DependencyStalled,
    Dominant,
    DroppedWindow,
    HostCauseTime,
    HostSync,
    Input,
    LaunchStarved,
    Report,
    Series,
    SetAside,
    StallReasons,
    Tool,
    Unit,
    Verdict,
    Window,
    Workload,
    WorkVolume,
)
from critpath.model.values import Stat, Unavailable


def stat(*values_ms: float) -> Stat:
    """The statistic of one value a window."""
    ordered = sorted(values_ms)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Stat(mean_ms=sum(ordered) / len(ordered), median_ms=median, min_ms=ordered[0], max_ms=ordered[-1])


def unit(**changes: Any) -> Unit:
    """A unit whose figures agree: three windows of 100 ms, 60 computed, 20 communicated alone, 10 copied, 10 idle."""
    n = 3
    flat = {"noncomm_busy": 60.0, "comm_busy": 30.0, "compute_busy": 60.0, "compute_absent": 40.0}
    parts: dict[str, Any] = {
        "id": "u0",
        "input": 0,
        "rank": 0,
        "rank_source": "manifest",
        "host": "node0",
        "pid": 4242,
        "device": 0,
        "gpu": "NVIDIA H100 80GB HBM3",
        "set_aside": SetAside(),
        "window": Window(
            anchor=Anchor(kind="nvtx", text="iteration 12"),
            scope="period",
            n=n,
            median_ms=100.0,
            min_ms=100.0,
            max_ms=100.0,
            edges_ns=[(i * 100_000_000, (i + 1) * 100_000_000) for i in range(n)],
            dropped=[DroppedWindow(index=0, why="contains the profiler's start")],
            outside_step_ms=0.0,
        ),
        "budget": Budget(
            iteration=stat(*[100.0] * n),
            device_busy=stat(*[90.0] * n),
            device_idle=stat(*[10.0] * n),
            occupied_not_computing=stat(*[30.0] * n),
            **{name: stat(*[value] * n) for name, value in flat.items()},
        ),
        "work_volume": WorkVolume(kernel_sum_ms=120.0, kernel_union_ms=80.0, kernels=300, linked_kernels=300),
        "communication": Communication(union_ms=30.0, exposed_ms=20.0, overlapped_ms=10.0, overlap_pct=100.0 / 3),
        "host_sync": HostSync(host_ms=30.0, while_device_idle_ms=2.0),
        "series": Series(
            iteration_ms=[100.0] * n, device_busy_ms=[90.0] * n, compute_busy_ms=[60.0] * n, exposed_ms=[20.0] * n
        ),
    }
    return Unit(**(parts | changes))


def absent(**changes: Any) -> Absent:
    """Causes of the 40 ms without compute of `unit`, which add up."""
    parts: dict[str, Any] = {
        "launch_starved_ms": 12.0,
        "blocking_ms": 20.0,
        "dependency_stalled_ms": 7.0,
        "opaque_graph_ms": 1.0,
        "residual_ms": 0.0,
        "contested_ms": 0.5,
        "unresolved_wait_share": 0.0,
        "blocking_bound": "exact",
        "launch_starved": LaunchStarved(
            recoverable_ms=6.0,
            joint_with_producer_ms=3.0,
            host_wait_ms=2.0,
            launch_latency_ms=1.0,
            by_host_cause=[HostCauseTime(cause="cpu", detail="", ms=12.0)],
        ),
        "blocking": Blocking(
            by_class={"nccl": 15.0, "late_launch": 5.0},
            by_operation=[BlockingOperation(name="ring", class_="nccl", ms=15.0, count=9, producer_late_ms=4.0)],
        ),
        "dependency_stalled": DependencyStalled(by_reason=StallReasons(back_to_back=6.0, unknown=1.0)),
    }
    return Absent(**(parts | changes))


def minimal_report(**changes: Any) -> Report:
    """A report of one unit as the first stage of analysis makes it; keyword arguments replace its parts.

    minimal_report(units=[unit(window=None)])
    """
    units: Sequence[Unit] = changes.get("units", [unit()])
    parts: dict[str, Any] = {
        "tool": Tool(version="0.0.0"),
        "inputs": [Input(path="rank0.sqlite", kind="sqlite", bytes=1, units=[u.id for u in units])],
        "verdict": Verdict(
            headline="Compute takes 60.0 ms of a step of 100.0 ms.",
            dominant=Dominant(bucket="compute", unit="u0", ms=60.0, share=0.6),
            status="trace-verified",
        ),
        "capture": Capture(ranks_captured=len(units), runtime_link_rate=1.0, source_link_rate=0.0, event_trace=True),
        "workload": Workload(step_definition="iteration 12, from first compute to first compute"),
        "units": units,
        "unavailable": [
            Unavailable(path=path, reason="not analysed yet")
            for path in (
                "capture.metrics",
                "capture.profiler_overhead_recorded_ms",
                "capture.perturbation",
                "units[].physical_gpu",
                "units[].absent",
                "units[].communication",
                "units[].compute",
                "units[].metrics",
                "units[].mfu",
                "ranks",
                "combined_ceiling",
            )
        ],
    }
    return Report(**(parts | changes))
