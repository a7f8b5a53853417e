from pathlib import Path

import pytest

from critpath.model.report import JobPath, Report
from critpath.pipeline.analyze import analyze
from critpath.sim.simulation import simulate


def path_of(report: Report) -> JobPath:
    assert report.ranks is not None and report.ranks.critical_path is not None
    return report.ranks.critical_path


@pytest.mark.parametrize("hosts_of", [8, 2])
@pytest.mark.parametrize("late", [0, 3])
def test_the_late_rank_holds_the_jobs_step(late: int, hosts_of: int, tmp_path: Path) -> None:
    made = simulate(
        "straggler", tmp_path, ranks=4, steps=8, lag=0.3, late_rank=late, ranks_a_host=hosts_of, utc_error_ms=50,
        causes=False,
    )  # fmt: skip
    report = analyze(made.exports)
    path = path_of(report)
    assert report.ranks is not None and report.ranks.step is not None
    assert path.units[0].unit == f"u{late}"
    assert path.units[0].share > 0.85
    # A unit that waits for it is on the path only after the collective.
    assert all(row.share < 0.05 for row in path.units[1:])
    assert sum(row.ms for row in path.transfers) == pytest.approx(0.35, rel=0.03)
    assert path.units[0].largest is not None and path.units[0].largest.startswith("op ")
    assert path.unmatched_ms == 0


@pytest.mark.parametrize("scenario", ["straggler", "data_parallel", "tensor_parallel", "moe_hybrid_ep", "moe_deepep"])
def test_the_path_is_as_long_as_the_step(scenario: str, tmp_path: Path) -> None:
    report = analyze(simulate(scenario, tmp_path, ranks=4, steps=6, causes=False).exports)
    path = path_of(report)
    mean = (
        sum(max(u.series.iteration_ms[-path.steps :][i] for u in report.units) for i in range(path.steps)) / path.steps
    )
    assert path.mean_ms == pytest.approx(mean, rel=0.02)
    assert sum(r.ms for r in (*path.units, *path.transfers)) == pytest.approx(path.mean_ms)
    assert sum(r.share for r in (*path.units, *path.transfers)) == pytest.approx(1)


def test_the_path_of_a_pipeline_goes_through_its_stages(tmp_path: Path) -> None:
    made = simulate(
        "pipeline_1f1b",
        tmp_path,
        ranks=4,
        steps=5,
        layers=4,
        slow_stage=2,
        slowdown=2,
        nccl_payload="blobs",
        causes=False,
    )
    path = path_of(analyze(made.exports))
    assert path.units[0].unit == "u2"
    assert path.units[0].share > 0.6
    assert {row.unit for row in path.units} == {"u0", "u1", "u2", "u3"}
    assert path.unmatched_ms < 0.05 * path.mean_ms


def test_where_peers_are_unknown_that_is_told(tmp_path: Path) -> None:
    path = path_of(analyze(simulate("straggler", tmp_path, ranks=4, steps=5, lag=0.3, causes=False).exports[:1]))
    assert path.unmatched_ms > 0.2 * path.mean_ms
    assert path.transfers == []
