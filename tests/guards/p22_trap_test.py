"""P22: ops that all join their call and have no call stack; correlation ids that collide across processes."""

from __future__ import annotations

import sqlite3
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


def half_with_stacks(db: sqlite3.Connection) -> None:
    """Every call names a stack, and the export holds every second of them."""
    db.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = correlationId")
    db.execute("CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, stackDepth INTEGER NOT NULL)")
    even = "SELECT callchainId, 1, 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId % 2 = 0"
    db.execute(f"INSERT INTO CUDA_CALLCHAINS {even}")


DEVICE_OPS = " UNION ALL ".join(
    f"SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_{table}" for table in ("KERNEL", "MEMCPY", "MEMSET")
)
JOINED = (
    f"SELECT count(*) FROM ({DEVICE_OPS}) d JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
    "ON r.correlationId = d.correlationId AND r.globalTid >> 24 = d.globalPid >> 24"
)


def test_every_op_joins_its_call_and_none_its_source(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1)
    ops = trap.rows(f"SELECT count(*) FROM ({DEVICE_OPS})")[0][0]
    naive = trap.rows(JOINED)[0][0] / ops  # told as "attributed to source"
    true = trap.rows(f"{JOINED} WHERE r.callchainId IS NOT NULL")[0][0] / ops

    assert (naive, true) == (1.0, 0.0)
    capture = trap.report.capture
    assert (capture.runtime_link_rate, capture.source_link_rate) == (1.0, 0.0)
    row = trap.guard("P22")
    assert row.outcome == "held"
    assert "100.00% of device ops join an API call (runtime_link_rate)" in row.evidence
    assert "0.00% have a call stack (source_link_rate); one never stands for the other" in row.evidence


def test_the_source_rate_counts_ops_whose_call_has_a_stack(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=half_with_stacks)
    ops = trap.rows(f"SELECT count(*) FROM ({DEVICE_OPS})")[0][0]
    naive = trap.rows(f"{JOINED} WHERE r.callchainId IS NOT NULL")[0][0] / ops
    stacked = trap.rows(f"{JOINED} WHERE r.callchainId IN (SELECT id FROM CUDA_CALLCHAINS)")[0][0]
    assert naive == 1.0
    capture = trap.report.capture
    assert capture.runtime_link_rate == 1.0
    assert capture.source_link_rate == stacked / ops
    assert 0.4 < stacked / ops < 0.6
