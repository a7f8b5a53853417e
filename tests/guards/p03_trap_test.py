"""P03: four pipeline stages of which the first is light and the last is slow."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from critpath.pipeline.analyze import analyze
from guards.traps import Trap, materially


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    folder = tmp_path_factory.mktemp("stages")
    return Trap("pipeline_1f1b", folder, ranks=4, steps=5, slow_stage=3, slowdown=1.5, nccl_payload="blobs")


def test_rank_0_stands_for_no_other(trap: Trap) -> None:
    naive_ms = trap.mean_ms("compute_busy_ns", unit=0)
    true_ms = max(trap.mean_ms("compute_busy_ns", unit=i) for i in range(4))
    assert materially(naive_ms, true_ms)
    assert trap.report.verdict.dominant.unit is not None
    shown = next(u for u in trap.report.units if u.id == trap.report.verdict.dominant.unit)
    assert trap.report.ranks is not None and shown.budget is not None
    named = {r.unit for r in trap.report.ranks.representatives}
    # The first stage and the last have work of their own, so each is shown beside those between.
    assert {"u0", "u3"} <= named
    last = trap.unit(3).budget
    assert last is not None
    assert last.compute_busy.mean_ms == pytest.approx(true_ms, abs=1e-6)


def test_the_jobs_step_is_that_of_the_slowest_in_each_step(trap: Trap) -> None:
    assert trap.report.ranks is not None and trap.report.ranks.step is not None
    step = trap.report.ranks.step
    kept = [{tuple(e) for e in trap.unit(i).window.edges_ns} for i in range(4)]  # type: ignore[union-attr]
    lengths: dict[int, list[int]] = {}
    for i, unit in enumerate(trap.simulation.truth["units"]):
        for window in unit["windows"]["period"]:
            if (window["start_ns"], window["end_ns"]) in kept[i]:
                lengths.setdefault(window["step"], []).append(window["end_ns"] - window["start_ns"])
    slowest = [max(values) for values in lengths.values() if len(values) == 4]
    assert step.median_ms == pytest.approx(median(slowest) / 1e6)
    assert len(step.slowest_per_step) == len(slowest)


def test_the_guard_names_whom_it_chose(trap: Trap) -> None:
    row = trap.guard("P03")
    assert row.outcome == "held"
    assert "all 4 captured units were surveyed" in row.evidence


def test_one_captured_rank_of_several_stands_for_itself(tmp_path: Path) -> None:
    trap = Trap("straggler", tmp_path, ranks=2, steps=3)

    (row,) = [g for g in analyze([trap.simulation.exports[0]]).guards if g.id == "P03"]
    assert row.outcome == "limited"
    assert "no figure here stands for another rank" in row.evidence
