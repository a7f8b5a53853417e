"""Contention as a report tells it: simulated slowdowns, the cut list, figures that agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders import minimal_report, unit
from critpath.model.report import REST, OverlapCost, Report, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.contention import report_contention, report_overlap_cost
from critpath.rank.contention import ContendedKernel, Contentions, Overlap
from critpath.render.text import text
from critpath.sim import simulate

KERNEL = ContendedKernel(
    name="gemm", by="communication", grid=8, block=128, alone_ns=100_000.0, overlapped_ns=120_000.0, n=(10, 20),
    low=0.1, high=0.3, phase="interleaved", costly=25, measured_ns=2_500_000, partly=1, mixed=2, beside_others=3,
)  # fmt: skip


def report_of(folder: Path, scenario: str, **options: float) -> Report:
    report = analyze(simulate(scenario, folder, **options).exports)
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    return report


@pytest.mark.parametrize("factor", [1.15, 1.4])
def test_simulated_slowdown_is_found_in_each_kernel(tmp_path: Path, factor: float) -> None:
    report = report_of(tmp_path, "contention", steps=6, factor=factor)
    for each in report.units:
        assert each.communication is not None
        rows = each.communication.contention
        assert len(rows) == 4
        for row in rows:
            assert row.slowdown_percent == pytest.approx(100 * (factor - 1), abs=3)
            assert row.outcome == "slower"
            assert row.phase == "interleaved"
        (cost,) = each.communication.overlap_cost
        assert cost.cost_ms == pytest.approx((factor - 1) / factor * cost.measured_ms, rel=0.1)
        assert cost.net_ms == pytest.approx(cost.measured_ms / factor, rel=0.05)
    assert "overlap cost" in text(report)


def test_without_a_slowdown_none_is_shown(tmp_path: Path) -> None:
    report = report_of(tmp_path, "contention", steps=6, factor=1.0)
    rows = [row for each in report.units if each.communication for row in each.communication.contention]
    assert len(rows) >= 8
    assert [row.outcome for row in rows].count("not_shown") >= len(rows) - 1
    assert all(abs(row.slowdown_percent or 0) < 1.5 for row in rows)


def test_rows_beyond_the_list_are_one_row_that_keeps_the_cost() -> None:
    kernels = tuple(replace(KERNEL, name=f"k{i}", overlapped_ns=120_000.0 - 10 * i) for i in range(25))
    rows = report_contention(Contentions(kernels, ()), 5)
    assert len(rows) == 21
    rest = rows[-1]
    assert (rest.kernel, rest.by, rest.grid, rest.outcome, rest.n) == (REST, "communication", None, None, (50, 100))
    assert rest.alone_us == 100
    assert rest.overlapped_us == pytest.approx(119.78)
    assert sum(row.cost_ms for row in rows) == pytest.approx(sum(k.cost_ns for k in kernels) / 5 / 1e6)
    both = report_contention(Contentions((*kernels, replace(KERNEL, by="copies")), ()), 5)
    assert both[-1].by is None


def test_faster_and_undecided_kernels_are_called_so() -> None:
    kernels = (replace(KERNEL, low=-0.1, high=-0.01), replace(KERNEL, low=-0.1, high=0.1), KERNEL)
    outcomes = [row.outcome for row in report_contention(Contentions(kernels, ()), 5)]
    assert outcomes == ["faster", "not_shown", "slower"]


def test_no_overlap_makes_no_row_of_cost() -> None:
    nothing = Overlap(
        "copies", 0, 0, 0.0, dict.fromkeys(("alone", "overlapped", "partly", "mixed", "beside_others"), 0), 0
    )
    assert report_overlap_cost(Contentions((), (nothing,)), 5) == []
    assert report_overlap_cost(None, 5) == []


def test_costs_that_contradict_the_rows_are_a_violation() -> None:
    analysed = unit()
    assert analysed.communication is not None
    counts = dict.fromkeys(("alone", "overlapped", "partly", "mixed", "beside_others", "unknown_shape"), 1)
    wrong = OverlapCost(by="communication", overlap_ms=1.0, measured_ms=2.0, cost_ms=0.5, net_ms=1.0, **counts)
    changed = analysed.communication.model_copy(update={"overlap_cost": [wrong]})
    report = minimal_report(units=[analysed.model_copy(update={"communication": changed})])
    assert len([fault for fault in violations(report) if "overlap_cost" in fault]) == 3
