"""P01: two streams that overlap fully, and kernels that straddle the windows' edges."""

from __future__ import annotations

from pathlib import Path

import pytest

from guards.traps import Trap, materially

KERNELS = 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL'


def test_summed_kernel_time_is_twice_the_wall(tmp_path: Path) -> None:
    trap = Trap("overlapping_streams", tmp_path)
    true_ms = trap.mean_ms("device_busy_ns")
    spans = trap.rows(KERNELS)
    naive_ms = sum(
        min(end, w["end_ns"]) - max(start, w["start_ns"])
        for w in trap.windows()
        for start, end in spans
        if start < w["end_ns"] and end > w["start_ns"]
    ) / (1e6 * len(trap.windows()))

    assert naive_ms == pytest.approx(2 * true_ms, rel=0.05)
    unit = trap.unit()
    assert unit.budget is not None
    assert unit.work_volume is not None
    assert unit.budget.device_busy.mean_ms == pytest.approx(true_ms, abs=1e-6)
    assert unit.work_volume.kernel_sum_ms == pytest.approx(naive_ms, abs=1e-6)
    row = trap.guard("P01")
    assert row.outcome == "held"
    assert "the sum appears only as work volume" in row.evidence


def test_kernels_that_straddle_an_edge_are_clipped(tmp_path: Path) -> None:
    trap = Trap("overlapping_streams", tmp_path)
    spans = trap.rows(KERNELS)
    window = trap.windows()[0]
    inside = [(s, e) for s, e in spans if window["start_ns"] <= s < window["end_ns"]]
    naive_ns = max(e for _, e in inside) - min(s for s, _ in inside)

    assert materially(naive_ns, window["budget"]["iteration_ns"])
    unit = trap.unit()
    assert unit.budget is not None
    assert unit.budget.device_busy.max_ms <= unit.budget.iteration.max_ms
    assert unit.series.device_busy_ms[0] == pytest.approx(window["budget"]["device_busy_ns"] / 1e6, abs=1e-6)
