"""P23: a capture that merely began earlier, and clocks that are 40 ms off and drift by 20 ppm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from critpath.pipeline.analyze import analyze
from critpath.sim import write_job
from critpath.sim.scenarios import straggler as scenario
from guards.built_trap import BuiltTrap
from guards.traps import Trap


def test_a_window_that_began_earlier_is_no_straggler(tmp_path: Path) -> None:
    trap = Trap("straggler", tmp_path, ranks=4, steps=6, kind="start_skew", skew_ms=102, late_rank=2)
    meeting = trap.simulation.execution.collectives[0]
    waits = {op.run.process.rank: op.end_ns - op.start_ns for op in meeting.ops}
    naive_ms = (waits[2] - min(waits.values())) / 1e6
    assert naive_ms > 100
    assert trap.report.ranks is not None and trap.report.ranks.straggler is not None
    verdict = trap.report.ranks.straggler
    assert (verdict.verdict, verdict.unit, verdict.late_ms) == ("start-skew", "u2", None)
    assert "began earlier" in verdict.evidence
    assert "no straggler" in verdict.evidence


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> BuiltTrap:
    """Two hosts of two ranks, 40 ms and 20 ppm apart; rank 1 of the first is late."""
    options = scenario.Straggler(ranks=4, ranks_a_host=2, steps=40, layers=4, lag=0.05, late_rank=1)
    job = scenario.SCENARIO.job(options)
    reports = [
        replace(r, clock=replace(r.clock, utc_error_ns=40_000_000, drift_ppm=20.0)) if r.hostname == "node1" else r
        for r in job.reports
    ]
    return BuiltTrap(replace(job, reports=tuple(reports)), tmp_path_factory.mktemp("drift"))


def test_offset_and_drift_are_found_within_the_residual(drifting: BuiltTrap) -> None:
    """What comes out is where both clocks truly stood against each other, at the first window that all have."""
    assert drifting.report.ranks is not None
    aligned = drifting.report.ranks.alignment
    assert aligned is not None
    (host,) = aligned.hosts
    assert host.quality == "good"
    assert host.offset_ns is not None and host.drift_ppm is not None and host.residual_ns is not None
    sign = 1 if aligned.reference == "node0" else -1
    elapsed = 3.2e9  # ns since the sessions' zero: a drift counts from there
    assert sign * host.offset_ns == pytest.approx(40_000_000 + 20e-6 * elapsed, abs=20_000)
    naive_ns = 40_000_000
    assert naive_ns > 1_000 * host.residual_ns.p95
    assert drifting.guard("P23").outcome == "held"


def test_lateness_is_the_ranks_own_not_its_clocks(drifting: BuiltTrap) -> None:
    starts = {}
    for unit in drifting.report.units:
        source = drifting.report.inputs[unit.input]
        assert unit.window is not None and source.session_start_utc_ns is not None
        starts[unit.id] = unit.window.edges_ns[2][0] + source.session_start_utc_ns
    naive = max(starts, key=lambda u: starts[u])
    assert naive in ("u2", "u3")  # by UTC, the ranks of the other host seem 40 ms late
    assert drifting.report.ranks is not None and drifting.report.ranks.straggler is not None
    verdict = drifting.report.ranks.straggler
    assert (verdict.verdict, verdict.unit) == ("persistent", "u1")
    assert verdict.late_ms is not None and verdict.late_ms < 1


def test_hosts_that_meet_nowhere_give_durations_only(tmp_path: Path) -> None:
    jobs = [scenario.SCENARIO.job(scenario.Straggler(ranks=2, steps=4, kind="none", seed=seed)) for seed in (5, 6)]
    reports = []
    for i, job in enumerate(jobs):
        for r in job.reports:
            (process,) = r.processes
            named = replace(process, rank=2 * i + (process.rank or 0))
            reports.append(replace(r, name=f"job{i}-{r.name}", hostname=f"far{i}", processes=(named,)))
    exports = [
        path
        for i, job in enumerate(jobs)
        for path in write_job(
            replace(job, reports=tuple(r for r in reports if r.hostname == f"far{i}")), tmp_path / str(i)
        ).exports
    ]

    report = analyze(exports)
    assert report.ranks is not None and report.ranks.alignment is not None
    qualities = [h.quality for h in report.ranks.alignment.hosts]
    (row,) = [g for g in report.guards if g.id == "P23"]
    assert qualities == ["none"]
    assert report.ranks.alignment.hosts[0].offset_ns is None
    assert row.outcome == "limited"
    assert "durations only" in row.evidence
    assert np.isfinite(report.units[3].budget.iteration.mean_ms)  # type: ignore[union-attr]
