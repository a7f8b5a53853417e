"""P24: the late rank isn't captured, and those that are agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.guards.registry import guard
from critpath.model.manifest import JobSection, Manifest
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options
from guards.traps import Trap


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap("straggler", tmp_path_factory.mktemp("sampled"), ranks=4, steps=6, late_rank=2, lag=0.3)


def test_captured_ranks_agree_and_the_late_one_isnt_cleared(trap: Trap) -> None:
    sampled = [trap.simulation.exports[i] for i in (0, 1)]
    report = analyze(sampled, Options(manifest=Manifest(Path("job.toml"), job=JobSection(ranks=4))))
    whole = trap.report.ranks
    assert whole is not None and whole.straggler is not None
    assert (whole.straggler.verdict, whole.straggler.unit) == ("persistent", "u2")
    assert report.ranks is not None and report.ranks.straggler is not None
    verdict = report.ranks.straggler
    assert verdict.verdict == "none"  # what a naive tool would tell of the job
    assert verdict.limited_to == ["u0", "u1"]
    (row,) = [g for g in report.guards if g.id == "P24"]
    assert row.outcome == "limited"
    assert "the job has 4 ranks, and the 2 others aren't cleared" in row.evidence
    assert "P24" in {limit.guard for limit in report.verdict.limits}


def test_the_late_ranks_lag_reads_as_transfer_on_the_captured_ones(trap: Trap) -> None:
    """With the late rank missing, the shortest participant waited too: the proxy is an upper bound, and no more."""
    true_ms = 0.35
    report = analyze([trap.simulation.exports[i] for i in (0, 1)])
    assert report.ranks is not None and report.ranks.collectives is not None
    (community,) = report.ranks.collectives.communicators
    assert community.transfer_proxy_ms is not None and community.transfer_proxy_ms > 2 * true_ms
    assert community.busbw_GBps is None
    assert trap.report.ranks is not None and trap.report.ranks.collectives is not None
    (whole,) = trap.report.ranks.collectives.communicators
    assert whole.transfer_proxy_ms == pytest.approx(true_ms, rel=0.03)


def test_without_a_declared_size_nothing_is_cleared_either(trap: Trap) -> None:
    assert trap.guard("P24").outcome == "held"  # the launcher's WORLD_SIZE says that four are all
    nobody_said = trap.report.model_copy(
        update={"capture": trap.report.capture.model_copy(update={"ranks_declared": None})}
    )
    outcome = guard("P24").check(nobody_said)
    assert outcome.outcome == "limited"
    assert "nobody declared how many ranks the job has" in outcome.evidence
