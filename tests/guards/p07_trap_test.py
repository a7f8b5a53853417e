"""P07: a collective alone in a gap whose next kernel was launched late; and one that a copy covers, which blocks."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from critpath.render.markdown import markdown
from critpath.render.text import text
from critpath.sim import Removal
from guards.absent_truth import true_blocking_ms, true_bucket_ms
from guards.traps import Trap, materially, union_ms

DEVICE_OPS = (
    "SELECT start, \"end\", value LIKE 'nccl%' FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName "
    'UNION ALL SELECT start, "end", 0 FROM CUPTI_ACTIVITY_KIND_MEMCPY'
)


def exposed_ms(trap: Trap, unit: int = 0) -> float:
    """What a tool calls the cost of communication: the time that no other device op covers."""
    rows = trap.rows(DEVICE_OPS, export=unit)
    others = [(start, end) for start, end, nccl in rows if not nccl]
    everything = [(start, end) for start, end, _ in rows]
    return union_ms(everything, trap.windows(unit)) - union_ms(others, trap.windows(unit))


def gain_ms(trap: Trap) -> float:
    """What the job would win an iteration if NCCL moved its data at once."""
    before = trap.simulation.step_times_ns()
    after = trap.simulation.step_times_ns(Removal(transfer_of=frozenset({"nccl"})))
    return (statistics.fmean(before) - statistics.fmean(after)) / 1e6


def test_exposed_communication_blocks_nothing_where_the_next_kernel_was_late(tmp_path: Path) -> None:
    trap = Trap("late_launch_collective", tmp_path)
    naive_ms, true_ms = exposed_ms(trap), true_blocking_ms(trap).get("nccl", 0.0)

    assert naive_ms > 0.5 * trap.mean_ms("iteration_ns")
    assert true_ms == 0.0
    assert abs(gain_ms(trap)) < 0.01 * naive_ms
    unit = trap.unit()
    assert unit.communication is not None and unit.absent is not None
    assert unit.communication.exposed_ms == pytest.approx(naive_ms, abs=1e-6)
    assert unit.communication.blocking_ms == pytest.approx(true_ms, abs=1e-6)
    assert unit.absent.launch_starved_ms == pytest.approx(true_bucket_ms(trap, "launch_starved"), rel=0.01)
    assert trap.report.verdict.dominant.bucket == "launch_starved"
    row = trap.guard("P07")
    assert row.outcome == "held"
    assert "exposed 5.00 ms an iteration, blocking 0 ms (exact)" in row.evidence


def test_a_copy_over_a_collective_hides_that_it_blocks(tmp_path: Path) -> None:
    trap = Trap("copy_gap", tmp_path)
    naive_ms, true_ms = exposed_ms(trap), true_blocking_ms(trap)["nccl"]

    assert naive_ms < 0.1 * true_ms
    assert gain_ms(trap) == pytest.approx(true_ms, rel=0.1)
    unit = trap.unit()
    assert unit.communication is not None
    assert unit.communication.exposed_ms == pytest.approx(naive_ms, abs=1e-6)
    assert unit.communication.blocking_ms == pytest.approx(true_ms, abs=1e-6)
    row = trap.guard("P07")
    assert row.outcome == "held"
    assert "exposed 0.215 ms an iteration, blocking 4.81 ms (exact)" in row.evidence


def test_both_are_printed_together(tmp_path: Path) -> None:
    trap = Trap("launch_bound", tmp_path, ranks=1)
    unit = trap.unit()
    assert unit.communication is not None and unit.communication.blocking_ms is not None

    assert materially(unit.communication.exposed_ms, unit.communication.blocking_ms)
    for page in (text(trap.report), markdown(trap.report)):
        assert "exposed" in page
        assert "blocking" in page
