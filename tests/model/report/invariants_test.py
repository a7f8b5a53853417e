from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from builders import absent, minimal_report, stat, unit
from critpath.model.report import (
    BackendTime,
    Blocking,
    BlockingOperation,
    CombinedCeiling,
    Communication,
    DependencyStalled,
    Dominant,
    HostCauseTime,
    HostSync,
    NcclOnly,
    Opportunity,
    Report,
    Series,
    StallReasons,
    Unit,
    Verdict,
    WorkVolume,
    large_residuals,
    violations,
)
from critpath.model.report.compared import TOLERANCE_MS


def opportunity(**changes: Any) -> Opportunity:
    parts: dict[str, Any] = {
        "id": "o1",
        "title": "NCCL blocks compute",
        "unit": "u0",
        "bucket": "blocking",
        "class_": "nccl",
        "scope": "unit",
        "n": 3,
        "recoverable_ms": 20.0,
        "recoverable_min_ms": 20.0,
        "recoverable_max_ms": 20.0,
        "new_step_ceiling_ms": 80.0,
        "throughput_gain_ceiling_pct": 25.0,
        "confidence": "high",
        "status": "trace-verified",
        "action": "overlap it",
        "verify": "blocking_ms falls",
    }
    return Opportunity(**(parts | changes))


def with_budget(**changes: Any) -> Unit:
    base = unit()
    assert base.budget is not None
    return unit(budget=base.budget.model_copy(update=changes))


def with_communication(**changes: Any) -> Unit:
    parts = {"union_ms": 30.0, "exposed_ms": 20.0, "overlapped_ms": 10.0}
    return unit(absent=absent(), communication=Communication(**(parts | changes)))


def with_absent(**changes: Any) -> Unit:
    return unit(absent=absent(**changes))


def with_launch_starved(**changes: Any) -> Unit:
    base = absent()
    assert base.launch_starved is not None
    return with_absent(launch_starved=base.launch_starved.model_copy(update=changes))


def with_window(**changes: Any) -> Unit:
    base = unit()
    assert base.window is not None
    return unit(window=base.window.model_copy(update=changes))


def with_opportunity(*opportunities: Opportunity, **changes: Any) -> Report:
    return minimal_report(units=[unit(absent=absent())], opportunities=list(opportunities), **changes)


BROKEN_UNITS: dict[str, tuple[Callable[[], Unit], str]] = {
    "compute above non-communication": (
        lambda: with_budget(noncomm_busy=stat(59.0, 59.0, 59.0)),
        "budget.compute_busy.mean_ms",
    ),
    "non-communication above busy": (
        lambda: with_budget(noncomm_busy=stat(91.0, 91.0, 91.0)),
        "budget.noncomm_busy.mean_ms",
    ),
    "order broken in one window only": (
        lambda: with_budget(noncomm_busy=stat(59.0, 60.0, 70.0)),
        "budget.compute_busy.min_ms",
    ),
    "busy above iteration": (lambda: with_budget(device_busy=stat(101.0, 101.0, 101.0)), "iteration.mean_ms"),
    "busy and idle leave a gap": (lambda: with_budget(device_idle=stat(9.0, 9.0, 9.0)), "device_busy + device_idle"),
    "compute and absent leave a gap": (
        lambda: with_budget(compute_absent=stat(39.0, 39.0, 39.0)),
        "compute_busy + compute_absent",
    ),
    "occupied without compute": (
        lambda: with_budget(occupied_not_computing=stat(31.0, 31.0, 31.0)),
        "compute_busy + occupied_not_computing",
    ),
    "communication above busy": (lambda: with_budget(comm_busy=stat(95.0, 95.0, 95.0)), "budget.comm_busy.mean_ms"),
    "mean above maximum": (
        lambda: with_budget(device_idle=stat(10.0, 10.0, 10.0).model_copy(update={"max_ms": 9.0})),
        "budget.device_idle.mean_ms",
    ),
    "negative time": (lambda: with_budget(device_idle=stat(-1.0, 15.0, 16.0)), "budget.device_idle"),
    "window length": (lambda: with_window(median_ms=101.0), "window.median_ms"),
    "window count": (lambda: with_window(n=4), "window.n"),
    "window order": (lambda: with_window(edges_ns=[(0, 1), (1, 2), (3, 3)]), "window.edges_ns"),
    "outside a period": (lambda: with_window(outside_step_ms=1.0), "window.outside_step_ms"),
    "series of another length": (lambda: unit(series=Series(iteration_ms=[100.0] * 2)), "series.iteration_ms"),
    "series of another mean": (lambda: unit(series=Series(iteration_ms=[100.0, 100.0, 99.0])), "series.iteration_ms"),
    "series: busy above its window": (
        lambda: unit(series=Series(iteration_ms=[100.0] * 3, device_busy_ms=[80.0, 101.0, 89.0])),
        "series.device_busy_ms[1]",
    ),
    "series: compute above busy": (
        lambda: unit(
            series=Series(iteration_ms=[100.0] * 3, device_busy_ms=[90.0] * 3, compute_busy_ms=[40.0, 91.0, 49.0])
        ),
        "series.compute_busy_ms[1]",
    ),
    "series: buckets above compute absent": (
        lambda: unit(
            series=Series(iteration_ms=[100.0] * 3, compute_busy_ms=[60.0] * 3, blocking_ms=[10.0, 41.0, 9.0])
        ),
        "the buckets of window 1",
    ),
    "union above sum": (
        lambda: unit(work_volume=WorkVolume(kernel_sum_ms=70.0, kernel_union_ms=80.0, kernels=1, linked_kernels=1)),
        "work_volume.kernel_union_ms",
    ),
    "kernels above busy": (
        lambda: unit(work_volume=WorkVolume(kernel_sum_ms=99.0, kernel_union_ms=95.0, kernels=1, linked_kernels=1)),
        "work_volume.kernel_union_ms",
    ),
    "more linked than kernels": (
        lambda: unit(work_volume=WorkVolume(kernel_sum_ms=80.0, kernel_union_ms=80.0, kernels=1, linked_kernels=2)),
        "work_volume.linked_kernels",
    ),
    "buckets do not add up": (lambda: with_absent(residual_ms=1.0), "absent: the buckets and the residual"),
    "negative residual": (lambda: with_absent(residual_ms=-1.0, opaque_graph_ms=2.0), "residual_ms"),
    "launch-starved parts": (lambda: with_launch_starved(host_wait_ms=3.0), "launch_starved: its parts"),
    "host causes": (
        lambda: with_launch_starved(by_host_cause=[HostCauseTime(cause="cpu", detail="", ms=11.0)]),
        "launch_starved.by_host_cause",
    ),
    "blocking classes": (
        lambda: with_absent(blocking=Blocking(by_class={"nccl": 19.0})),
        "blocking.by_class",
    ),
    "blocking operations above blocking": (
        lambda: with_absent(
            blocking=Blocking(
                by_class={"nccl": 20.0},
                by_operation=[BlockingOperation(name="x", class_="nccl", ms=21.0, count=1, producer_late_ms=0.0)],
            )
        ),
        "blocking.by_operation",
    ),
    "late producer above its blocking": (
        lambda: with_absent(
            blocking=Blocking(
                by_class={"nccl": 20.0},
                by_operation=[BlockingOperation(name="x", class_="nccl", ms=5.0, count=1, producer_late_ms=6.0)],
            )
        ),
        "producer_late_ms of x",
    ),
    "stall reasons": (
        lambda: with_absent(dependency_stalled=DependencyStalled(by_reason=StallReasons(unknown=6.0))),
        "dependency_stalled.by_reason",
    ),
    "contested above absent": (lambda: with_absent(contested_ms=41.0), "contested_ms"),
    "exposed and overlapped": (lambda: with_communication(overlapped_ms=9.0), "exposed_ms + overlapped_ms"),
    "overlap percentage": (lambda: with_communication(overlap_pct=50.0), "overlap_pct"),
    "communication against the budget": (
        lambda: with_communication(union_ms=31.0, overlapped_ms=11.0),
        "communication.union_ms",
    ),
    "communication blocking": (lambda: with_communication(blocking_ms=14.0), "communication.blocking_ms"),
    "matched blocking above blocking": (
        lambda: with_communication(blocking_ms=15.0, blocking_transfer_ms=10.0, blocking_peer_wait_ms=6.0),
        "blocking_transfer_ms + blocking_peer_wait_ms",
    ),
    "NCCL above all": (
        lambda: with_communication(nccl_only=NcclOnly(union_ms=31.0, exposed_ms=1.0)),
        "nccl_only.union",
    ),
    "NCCL exposed above all": (
        lambda: with_communication(nccl_only=NcclOnly(union_ms=25.0, exposed_ms=21.0)),
        "nccl_only.exposed",
    ),
    "backend union above its work": (
        lambda: with_communication(
            backends=[BackendTime(backend="nccl", component="collective", count=1, work_ms=1.0, union_ms=2.0)]
        ),
        "backends: union_ms of nccl collective",
    ),
    "backend above all": (
        lambda: with_communication(
            backends=[BackendTime(backend="nccl", component="collective", count=1, work_ms=40.0, union_ms=31.0)]
        ),
        "backends: union_ms of nccl",
    ),
    "host wait above its idle part": (
        lambda: unit(host_sync=HostSync(host_ms=1.0, while_device_idle_ms=2.0)),
        "host_sync.while_device_idle_ms",
    ),
    "host wait above device idle": (
        lambda: unit(host_sync=HostSync(host_ms=30.0, while_device_idle_ms=11.0)),
        "host_sync.while_device_idle_ms",
    ),
    "analysed without a budget": (lambda: unit(budget=None), "status"),
    "unknown input": (lambda: unit(input=1), "input: there is no input 1"),
}

BROKEN_REPORTS: dict[str, tuple[Callable[[], Report], str]] = {
    "recoverable above its bucket": (
        lambda: with_opportunity(
            opportunity(
                recoverable_ms=21.0,
                recoverable_max_ms=21.0,
                new_step_ceiling_ms=79.0,
                throughput_gain_ceiling_pct=(100 / 79 - 1) * 100,
            )
        ),
        "what blocking holds",
    ),
    "launch opportunity above recoverable and latency": (
        lambda: with_opportunity(
            opportunity(
                bucket="launch_starved",
                recoverable_ms=8.0,
                recoverable_min_ms=8.0,
                recoverable_max_ms=8.0,
                new_step_ceiling_ms=92.0,
                throughput_gain_ceiling_pct=(100 / 92 - 1) * 100,
            )
        ),
        "what launch_starved holds",
    ),
    "ceiling is not T - R": (
        lambda: with_opportunity(opportunity(new_step_ceiling_ms=81.0)),
        "new_step_ceiling_ms",
    ),
    "throughput formula": (
        lambda: with_opportunity(opportunity(throughput_gain_ceiling_pct=20.0)),
        "throughput_gain_ceiling_pct",
    ),
    "no step left": (lambda: with_opportunity(opportunity(new_step_ceiling_ms=0.0)), "the whole step"),
    "mean outside its range": (lambda: with_opportunity(opportunity(recoverable_max_ms=19.0)), "recoverable_max_ms"),
    "unknown unit of an opportunity": (lambda: with_opportunity(opportunity(unit="u9")), "no unit u9"),
    "combined above the sum": (
        lambda: with_opportunity(
            opportunity(), combined_ceiling=CombinedCeiling(opportunities=["o1"], recoverable_ms=21.0, why="")
        ),
        "the sum of its parts",
    ),
    "combined below a part": (
        lambda: with_opportunity(
            opportunity(), combined_ceiling=CombinedCeiling(opportunities=["o1"], recoverable_ms=19.0, why="")
        ),
        "recoverable_ms of o1",
    ),
    "combined parts overlap": (
        lambda: with_opportunity(
            opportunity(overlaps_with=["o2"]),
            opportunity(id="o2", overlaps_with=["o1"]),
            combined_ceiling=CombinedCeiling(opportunities=["o1", "o2"], recoverable_ms=30.0, why=""),
        ),
        "o1 overlaps with o2",
    ),
    "combined names an unknown one": (
        lambda: with_opportunity(combined_ceiling=CombinedCeiling(opportunities=["o7"], recoverable_ms=0.0, why="")),
        "no opportunity o7",
    ),
    "two units of one id": (lambda: minimal_report(units=[unit(), unit()]), "ids are not unique"),
    "dominant of an unknown unit": (
        lambda: minimal_report(
            verdict=Verdict(headline="", dominant=Dominant(bucket="compute", unit="u5"), status="unverified")
        ),
        "no unit u5",
    ),
}


def test_an_agreeing_report_has_no_violation():
    assert violations(minimal_report()) == []


def test_an_agreeing_report_with_causes_and_ceilings_has_no_violation():
    combined = CombinedCeiling(opportunities=["o1"], recoverable_ms=20.0, why="one alone")
    assert violations(with_opportunity(opportunity(), combined_ceiling=combined)) == []


@pytest.mark.parametrize("fault", BROKEN_UNITS)
def test_a_unit_that_contradicts_itself_is_found(fault: str):
    make, expected = BROKEN_UNITS[fault]
    found = violations(minimal_report(units=[make()]))
    assert any(expected in sentence for sentence in found), found


@pytest.mark.parametrize("fault", BROKEN_REPORTS)
def test_a_report_that_contradicts_itself_is_found(fault: str):
    make, expected = BROKEN_REPORTS[fault]
    found = violations(make())
    assert any(expected in sentence for sentence in found), found


def test_figures_one_nanosecond_apart_agree():
    assert violations(minimal_report(units=[with_absent(residual_ms=0.9 * TOLERANCE_MS)])) == []
    assert violations(minimal_report(units=[with_absent(residual_ms=3 * TOLERANCE_MS)])) != []


def test_a_fused_kernel_is_in_no_communication_union():
    fused = BackendTime(backend="fused", component="fused", count=1, work_ms=50.0, union_ms=50.0)
    assert violations(minimal_report(units=[with_communication(backends=[fused])])) == []


def test_a_class_of_the_queue_counts_with_its_backend():
    blocking = Blocking(by_class={"nccl": 10.0, "queue:nccl": 5.0, "stall": 5.0})
    whole = with_communication(blocking_ms=15.0).model_copy(update={"absent": absent(blocking=blocking)})
    assert violations(minimal_report(units=[whole])) == []


def test_a_large_residual_is_a_warning_and_no_violation():
    report = minimal_report(units=[with_absent(residual_ms=0.6, opaque_graph_ms=0.4)])
    assert violations(report) == []
    assert large_residuals(report) == ["unit u0: 0.600 ms an iteration without compute are in no bucket"]
    assert large_residuals(minimal_report()) == []
