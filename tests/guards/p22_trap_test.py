"""P22, its identity part: correlation ids that collide across processes."""

from __future__ import annotations

from pathlib import Path

from guards.traps import Trap


def test_correlation_ids_without_their_process_fabricate_rows(tmp_path: Path) -> None:
    trap = Trap("two_processes_one_gpu_ids", tmp_path)
    kernels = trap.rows("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
    naive = trap.rows(
        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)"
    )[0][0]
    assert naive > 1.5 * kernels

    report = trap.report
    assert report.capture.runtime_link_rate == 1.0
    for unit in report.units:
        assert unit.work_volume is not None
        assert unit.work_volume.linked_kernels == unit.work_volume.kernels
    assert sum(u.work_volume.kernels for u in report.units if u.work_volume) <= kernels


def test_equal_ids_do_not_mix_two_processes(tmp_path: Path) -> None:
    trap = Trap("two_processes_one_gpu_ids", tmp_path)
    fast, slow = trap.unit(0), trap.unit(1)
    assert (fast.device, slow.device) == (0, 0)
    assert fast.pid != slow.pid
    for index, unit in enumerate((fast, slow)):
        assert unit.budget is not None
        assert abs(unit.budget.compute_busy.mean_ms - trap.mean_ms("compute_busy_ns", index)) < 1e-6
    assert fast.budget is not None
    assert slow.budget is not None
    assert slow.budget.compute_busy.mean_ms > 1.2 * fast.budget.compute_busy.mean_ms
