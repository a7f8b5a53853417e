"""P26: the profiler's start and a buffer flush lengthen the steps at the capture's edges."""

from __future__ import annotations

from pathlib import Path

from guards.traps import Trap, materially


def test_boundary_steps_are_left_out_and_named(tmp_path: Path) -> None:
    trap = Trap("boundary_flush", tmp_path, scope="range")
    true = trap.simulation.truth["units"][0]["windows"]["range"]
    lengths = [w["budget"]["iteration_ns"] for w in true]
    naive = sum(lengths) / len(lengths)
    inner = lengths[1:-1]
    steady = sum(inner) / len(inner)
    assert materially(naive, steady)

    unit = trap.unit()
    assert unit.window is not None
    assert unit.budget is not None
    dropped = {d.index: d.why for d in unit.window.dropped}
    assert dropped == {
        0: "the profiler was started or stopped in it",
        len(true) - 1: "the profiler wrote its buffers in it",
    }
    assert abs(unit.budget.iteration.mean_ms * 1e6 - steady) < 1
    row = trap.guard("P26")
    assert row.outcome == "held"
    assert "dropped step 0" in row.evidence


def test_an_outlier_in_the_middle_stays(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1)
    unit = trap.unit()
    assert unit.window is not None
    assert [d.why for d in unit.window.dropped] == [
        "the last step: no step follows that would end its period",
    ]
