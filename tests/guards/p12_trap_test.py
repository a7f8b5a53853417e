"""P12: a long slow copy to the host that nobody waits for, and a short fast one that compute waits for."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from critpath.model.report import Transfer
from critpath.model.values import percent
from critpath.sim.instructions import CopyDirection, StreamSync
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Job
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.script import EventPool, Script, Variation
from guards.absent_truth import true_blocking_ms
from guards.built_trap import BuiltTrap
from guards.traps import materially, union_ms

SLOW_BYTES, SLOW_GBPS = 12_000_000, 3.0
FAST_BYTES, FAST_GBPS = 20_000_000, 25.0
COPIES = 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 2 AND streamId = ?'


def job(*, slow: bool = True, fast: bool = True, engines: bool = False) -> Job:
    """A checkpoint trickles to the host beside compute; activations go there at full rate before compute goes on."""
    place = seat(0, 1)
    main = Script(Variation(seed=3, rank=0, spread=0.01), EventPool())
    for step in range(6):
        with main.range(f"iteration {step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            if slow:
                main.edge(place.compute, place.copies_out)
                main.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, SLOW_BYTES, gbps=SLOW_GBPS)
            for _ in range(5):
                main.kernels(place.compute, transformer.MLP)
            if fast:
                main.edge(place.compute, place.copies_in)
                main.copy(place.copies_in, CopyDirection.DEVICE_TO_HOST, FAST_BYTES, gbps=FAST_GBPS)
                main.edge(place.copies_in, place.compute)
            for _ in range(5):
                main.kernels(place.compute, transformer.MLP)
            main.add(StreamSync(place.compute))
    report = rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=3)
    return Job((report,), mechanisms=Mechanisms(copy_engines=engines))


def step_ms(trap: BuiltTrap) -> float:
    return statistics.fmean(trap.simulation.step_times_ns()) / 1e6


def copies_on(trap: BuiltTrap, stream: int) -> Transfer:
    (found,) = [t for t in trap.unit().transfers if t.stream == stream]
    return found


def test_the_long_copy_blocks_nothing_and_the_short_one_does(tmp_path: Path) -> None:
    place = seat(0, 1)
    trap = BuiltTrap(job(), tmp_path / "both")
    slow_ms = union_ms(trap.rows(COPIES, place.copies_out.stream), trap.windows())
    fast_ms = union_ms(trap.rows(COPIES, place.copies_in.stream), trap.windows())
    # Both figures a tool has without dependencies: share of the step, and rate against the link's.
    assert slow_ms > 0.6 * step_ms(trap), "the long copy looks like the bottleneck"
    assert fast_ms < 0.2 * step_ms(trap), "the short one doesn't"

    true_slow_ms = step_ms(trap) - step_ms(BuiltTrap(job(slow=False), tmp_path / "fast"))
    true_fast_ms = step_ms(trap) - step_ms(BuiltTrap(job(fast=False), tmp_path / "slow"))
    true = true_blocking_ms(trap)["copy_d2h"]
    assert materially(slow_ms, true_slow_ms)
    assert abs(true_slow_ms) < 0.01 * slow_ms
    assert true_fast_ms == pytest.approx(true, rel=0.05)

    slow, fast = copies_on(trap, place.copies_out.stream), copies_on(trap, place.copies_in.stream)
    assert (slow.blocking_ms, slow.verdict) == (0.0, "nothing provably waited for them")
    assert fast.blocking_ms == pytest.approx(true, rel=0.01)
    assert fast.verdict is not None and fast.verdict.startswith("copy bound")
    assert slow.achieved_GBps == pytest.approx(SLOW_GBPS, rel=0.05)
    assert fast.achieved_GBps == pytest.approx(FAST_GBPS, rel=0.05)
    row = trap.guard("P12")
    assert row.outcome == "held"
    longest, _, worst = row.evidence.partition("; ")
    assert longest.startswith(f"longest u0: D2H device to pinned, occupancy {percent(slow.occupancy)}, ")
    assert longest.endswith("blocking 0 ms an iteration")
    assert worst.startswith(f"most waited for u0: D2H device to pinned, occupancy {percent(fast.occupancy)}, ")


def test_copies_off_the_path_alone_are_not_copy_bound(tmp_path: Path) -> None:
    trap = BuiltTrap(job(fast=False), tmp_path)
    share = union_ms(trap.rows(COPIES, seat(0, 1).copies_out.stream), trap.windows()) / step_ms(trap)

    assert share > 0.8
    assert true_blocking_ms(trap).get("copy_d2h", 0.0) == 0.0
    assert not any("copy bound" in (t.verdict or "") for t in trap.unit().transfers)
    assert trap.report.verdict.dominant.bucket == "compute"
    assert trap.guard("P12").outcome == "held"


def test_the_copy_that_held_the_engine_is_the_one_that_blocked(tmp_path: Path) -> None:
    place = seat(0, 1)
    trap = BuiltTrap(job(engines=True), tmp_path / "both")
    alone = BuiltTrap(job(slow=False, engines=True), tmp_path / "fast")
    true_ms = step_ms(trap) - step_ms(alone)
    naive_ms = union_ms(trap.rows(COPIES, place.copies_out.stream), trap.windows())

    assert true_ms > 1.0
    assert materially(naive_ms, true_ms)
    slow, fast = copies_on(trap, place.copies_out.stream), copies_on(trap, place.copies_in.stream)
    assert slow.blocking_ms == pytest.approx(true_ms, rel=0.05)
    assert fast.blocking_ms == pytest.approx(true_blocking_ms(alone)["copy_d2h"], rel=0.05)
