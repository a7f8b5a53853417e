"""P28: data loading between step ranges, against loading inside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from guards.traps import Trap, materially


def test_loading_between_ranges_is_never_the_steps(tmp_path: Path) -> None:
    between = Trap("dataloader", tmp_path / "between", scope="range", load_ms=12.0, inside=False)
    inside = Trap("dataloader", tmp_path / "inside", scope="range", load_ms=12.0, inside=True)
    naive = between.simulation.truth["job"]["step_times_ns"][0] / 1e6
    step = between.mean_ms("iteration_ns")
    assert materially(naive, step), "wall time over steps must differ from the step"

    unit, other = between.unit(), inside.unit()
    assert unit.window is not None
    assert unit.budget is not None
    assert other.window is not None
    assert other.budget is not None
    assert unit.budget.iteration.mean_ms == pytest.approx(step, abs=1e-6)
    assert unit.window.outside_step_ms == pytest.approx(12.0, rel=0.15)
    assert other.window.outside_step_ms < 1.0
    assert other.budget.iteration.mean_ms > unit.budget.iteration.mean_ms + 10
    assert "outside" in between.guard("P28").evidence
    assert "outside" in between.report.workload.step_definition


def test_the_scope_is_printed(tmp_path: Path) -> None:
    trap = Trap("dataloader", tmp_path, scope="period")
    unit = trap.unit()
    assert unit.window is not None
    assert unit.window.scope == "period"
    assert unit.window.outside_step_ms == 0
    assert "scope period" in trap.guard("P28").evidence
