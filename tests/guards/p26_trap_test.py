"""P26: the profiler's start and a buffer flush lengthen the steps at the capture's edges."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

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


def third_range_lost(db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT rowid FROM NVTX_EVENTS WHERE text LIKE 'iteration%' ORDER BY start").fetchall()
    db.execute("DELETE FROM NVTX_EVENTS WHERE rowid = ?", rows[2])


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_period_that_holds_two_steps_since_a_range_was_lost_is_no_step(ranks: int, tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=ranks, edit=third_range_lost)
    for unit in range(ranks):
        true = trap.simulation.truth["units"][unit]["windows"]["period"]
        starts = [w["start_ns"] for i, w in enumerate(true) if i != 2] + [true[-1]["end_ns"]]
        naive = (starts[-1] - starts[0]) / (len(starts) - 1) / 1e6
        assert materially(naive, trap.mean_ms("iteration_ns", unit))

        window, budget = trap.unit(unit).window, trap.unit(unit).budget
        assert window is not None
        assert budget is not None
        assert budget.iteration.mean_ms == pytest.approx(trap.mean_ms("iteration_ns", unit))
        told = [d.why for d in window.dropped if d.index == 1]
        assert told == ["the kernels of 1 more step follow it without a range: its period would hold them"]


def test_a_lost_range_is_no_matter_to_steps_that_end_with_their_own_work(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, scope="range", edit=third_range_lost)
    window, budget = trap.unit().window, trap.unit().budget
    assert window is not None
    assert budget is not None
    assert window.n == len(trap.simulation.truth["units"][0]["windows"]["range"]) - 1
    assert budget.iteration.mean_ms == pytest.approx(trap.mean_ms("iteration_ns"))
