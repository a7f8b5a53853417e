"""P08: a copy in a gap whose waiter needed a collective; tiny copies before kernels that wait for long ones behind."""

from __future__ import annotations

import sqlite3
import statistics
from bisect import bisect_right
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from critpath.model.report import Absent, Unit
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.sim import Removal
from critpath.sim.instructions import CopyDirection
from guards.absent_truth import Span, covered_ms, gaps, true_blocking_ms
from guards.traps import Trap, materially
from real_exports import FOLDER, expected_units, needs_real_exports

H100 = "h100_2gpu_fastvideo_1s_2026.2.1.sqlite"
COMPUTE = (
    'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName '
    "WHERE value NOT LIKE 'nccl%' ORDER BY start"
)
COPIES = 'SELECT start, "end", copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY {where}'
DIRECTIONS = {1: "copy_h2d", 2: "copy_d2h", 8: "copy_d2d"}


def absent_of(unit: Unit) -> Absent:
    assert unit.absent is not None and unit.absent.blocking is not None
    return unit.absent


def classes_of(unit: Unit) -> dict[str, float]:
    blocking = absent_of(unit).blocking
    assert blocking is not None
    return blocking.by_class


def without_ms(trap: Trap, removal: Removal) -> float:
    """What the job would win an iteration without a cause."""
    before, after = trap.simulation.step_times_ns(), trap.simulation.step_times_ns(removal)
    return (statistics.fmean(before) - statistics.fmean(after)) / 1e6


def last_before(kernels: list[Span], copies: list[tuple[int, int, int]]) -> list[tuple[str, int]]:
    """(class of the copy that ended last in it, length [ns]) of each gap between kernels; "" without such a copy."""
    ends = sorted((end, kind) for _, end, kind in copies)
    keys = [end for end, _ in ends]
    found = []
    for start, end in gaps(kernels, kernels[0][0], max(end for _, end in kernels)):
        at = bisect_right(keys, end) - 1
        found.append((DIRECTIONS[ends[at][1]] if at >= 0 and keys[at] > start else "", end - start))
    return found


def one_step_ms(found: list[tuple[str, int]]) -> dict[str, float]:
    """Time of gaps by what a tool names that looks at the last op before the kernel [ms]."""
    total: Counter[str] = Counter()
    for label, ns in found:
        total[label] += ns
    return {label: ns / 1e6 for label, ns in total.items()}


def test_the_copy_in_the_gap_is_not_its_cause(tmp_path: Path) -> None:
    trap = Trap("copy_gap", tmp_path)
    copies = [(start, end) for start, end, _ in trap.rows(COPIES.format(where=""))]
    kernels = trap.rows(COMPUTE)
    windows = trap.windows()
    idle = [gap for w in windows for gap in gaps(kernels, w["start_ns"], w["end_ns"])]
    naive_ms = covered_ms(copies, idle) / len(windows)
    true = true_blocking_ms(trap)

    assert naive_ms > 0.9 * trap.mean_ms("compute_absent_ns"), "the copy fills the gaps"
    assert "copy_d2h" not in true
    assert abs(without_ms(trap, Removal(copies=frozenset({CopyDirection.DEVICE_TO_HOST})))) < 0.01 * naive_ms
    assert without_ms(trap, Removal(transfer_of=frozenset({"nccl"}))) == pytest.approx(true["nccl"], rel=0.1)
    assert classes_of(trap.unit()) == pytest.approx(true, rel=0.01, abs=0.01)
    row = trap.guard("P08")
    assert row.outcome == "held"
    assert "walked back most of it by nccl, 4.88" in row.evidence


def test_the_tiny_copy_before_the_kernel_is_not_the_cause(tmp_path: Path) -> None:
    trap = Trap("fsdp_offload", tmp_path)
    copies = trap.rows(COPIES.format(where=""))
    w = trap.windows()
    spans = [(s, e) for s, e in trap.rows(COMPUTE) if w[0]["start_ns"] <= s <= w[-1]["end_ns"]]
    naive_ms = one_step_ms(last_before(spans, copies))["copy_d2d"] / len(w)
    true = true_blocking_ms(trap)

    assert naive_ms > 30
    assert materially(naive_ms, true["copy_d2d"])
    assert true["copy_h2d"] > 500 * true["copy_d2d"]
    assert classes_of(trap.unit()) == pytest.approx(true, rel=0.02, abs=0.02)
    row = trap.guard("P08")
    assert row.outcome == "held"
    assert "directly behind copy_d2d" in row.evidence
    assert "walked back most of it by copy_h2d" in row.evidence


@needs_real_exports
@pytest.mark.parametrize("pid", [111, 112])
def test_real_h100_slice_waits_for_the_host_behind_tiny_copies(pid: int) -> None:
    expected = next(unit for file, unit in expected_units() if file == H100 and unit["pid"] == pid)
    span = expected["first_ns"], expected["last_ns"]
    report = analyze([FOLDER / H100], Options(step=step_options(window=f"{span[0]}:{span[1]}")))
    unit = next(u for u in report.units if u.pid == pid)
    kernels, copies = _real_rows(pid)
    found = last_before(kernels, copies)
    naive_ms = one_step_ms(found)
    not_computing_ms = (span[1] - span[0] - expected["compute_union_ns"]) / 1e6
    h2d_ms = covered_ms([(s, e) for s, e, kind in copies if kind == 1], gaps(kernels, *span))

    before_long = [label for label, ns in found if ns > 100_000]
    assert before_long.count("copy_d2d") > 0.95 * len(before_long)
    assert naive_ms["copy_d2d"] > 0.98 * sum(naive_ms.values()), "a one-step attribution says D2D"
    assert not_computing_ms > 940, "a tool that looks at kernels alone says that the host starved the device"
    assert expected["device_idle_ns"] / 1e6 < 0.01 * not_computing_ms, "yet the device was idle for hardly any of it"

    absent, classes = absent_of(unit), classes_of(unit)
    assert classes["copy_h2d"] == pytest.approx(915, abs=2)
    assert classes["copy_h2d"] == pytest.approx(h2d_ms, rel=0.01)
    assert classes["copy_d2d"] < 0.03 * naive_ms["copy_d2d"]
    assert absent.launch_starved_ms < 0.005 * not_computing_ms
    assert absent.unresolved_wait_share == 1.0
    row = next(row for row in report.guards if row.id == "P08")
    assert row.outcome == "limited"
    assert "directly behind copy_d2d for 937" in row.evidence
    assert "by copy_h2d, 915" in row.evidence


def _real_rows(pid: int) -> tuple[list[Span], list[tuple[int, int, int]]]:
    with closing(sqlite3.connect(f"file:{FOLDER / H100}?mode=ro&immutable=1", uri=True)) as db:
        where = f"(globalPid >> 24) & 16777215 = {pid}"
        kernels = db.execute(
            f'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE {where} ORDER BY start'
        ).fetchall()
        copies = db.execute(COPIES.format(where=f"WHERE {where}")).fetchall()
    return kernels, copies
