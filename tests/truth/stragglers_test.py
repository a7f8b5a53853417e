"""Verdicts on stragglers against what was planted, over ranks, hosts, causes and wrong clocks."""

from __future__ import annotations

import os
import random
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from critpath.model.report import Report
from critpath.pipeline.analyze import analyze
from critpath.sim.simulation import Simulation, simulate

EXAM = bool(os.environ.get("CRITPATH_EXAM"))
PLANTED = range(200 if EXAM else 24)
DECOYS = range(320 if EXAM else 24)


def shape(dice: random.Random, most: int) -> dict[str, Any]:
    hosts_of = dice.choice([2, 4, 8])
    return {
        "ranks": dice.choice([n for n in (4, 8, 16, 32, 64) if n <= most and n <= 8 * hosts_of]),
        "ranks_a_host": hosts_of,
        "steps": dice.choice([6, 8, 10]),
        "layers": dice.choice([2, 4]),
        "utc_error_ms": dice.choice([0, 50]),
        "drift_ppm": dice.choice([0, 30]),
        "bias_us": dice.choice([0, 12]),
        "nccl_payload": dice.choice(["none", "blobs"]),
    }


def ranks_of(report: Report) -> dict[str, int | None]:
    return {unit.id: unit.rank for unit in report.units}


@pytest.mark.parametrize("seed", PLANTED)
def test_a_planted_straggler_is_found_and_its_cause_told(seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"planted:{seed}")  # noqa: S311
    options = shape(dice, 64 if EXAM else 16)
    cause, late = dice.choice(["kernels", "work", "host"]), dice.randrange(options["ranks"])
    lag = dice.choice([0.03, 0.05, 0.1, 0.25, 0.5])
    made = simulate("straggler", tmp_path, seed=seed, causes=False, late_rank=late, lag=lag, cause=cause, **options)
    report = analyze(made.exports)
    assert report.ranks is not None and report.ranks.straggler is not None and report.ranks.step is not None
    found, true_ms = report.ranks.straggler, true_lateness_ms(made, late)
    if true_ms < 0.02 * report.ranks.step.median_ms:
        assert found.verdict in ("none", "inconclusive", "persistent"), found.evidence
        assert found.unit is None or ranks_of(report)[found.unit] == late
        return
    assert found.verdict == "persistent", found.evidence
    assert ranks_of(report)[str(found.unit)] == late
    kinds = {"kernels": "slower-kernels", "work": "more-work", "host": "host"}
    if lag >= 0.1:
        assert found.cause == kinds[cause], found.cause_text
    assert found.late_ms == pytest.approx(true_ms, rel=0.12, abs=0.015)


def true_lateness_ms(made: Simulation, rank: int) -> float:
    """How much later than the median of the others it arrived, a mean over all collectives but the first."""
    late = []
    for meeting in made.execution.collectives[1:]:
        starts = {op.run.process.rank: op.start_ns for op in meeting.ops}
        late.append(starts.pop(rank) - median(starts.values()))
    return sum(late) / len(late) / 1e6


@pytest.mark.parametrize("seed", DECOYS)
def test_decoys_are_no_stragglers(seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"decoy:{seed}")  # noqa: S311
    options = shape(dice, 32 if EXAM else 16)
    kind = ["none", "start_skew", "rotating", "sampled", "stages", "small"][seed % 6]
    late = dice.randrange(options["ranks"])
    more: dict[str, Any] = {"none": {"kind": "none"}, "start_skew": {"kind": "start_skew", "skew_ms": 102}}.get(
        kind, {}
    )
    if kind == "rotating":
        more = {"kind": "rotating", "lag": dice.choice([0.1, 0.25])}
    if kind == "small":
        more = {"lag": dice.choice([0.004, 0.008, 0.012])}
    if kind == "stages":
        made = simulate(
            "pipeline_1f1b", tmp_path, seed=seed, causes=False, ranks=4, nccl_payload=options["nccl_payload"]
        )
    else:
        made = simulate("straggler", tmp_path, seed=seed, causes=False, late_rank=late, **more, **options)
    exports = [e for i, e in enumerate(made.exports) if kind != "sampled" or e.stem != f"rank{late}"]
    report = analyze(exports)
    assert report.ranks is not None and report.ranks.straggler is not None
    found = report.ranks.straggler
    allowed = {"start_skew": {"start-skew"}, "rotating": {"rotating"}, "none": {"none"}}
    assert found.verdict in allowed.get(kind, {"none", "inconclusive"}), found.evidence
    assert found.late_ms is None or kind == "rotating"


def test_eight_identical_ranks_have_no_straggler(tmp_path: Path) -> None:
    report = analyze(simulate("straggler", tmp_path, ranks=8, kind="none", causes=False).exports)
    assert report.ranks is not None and report.ranks.straggler is not None
    assert report.ranks.straggler.verdict == "none"
    assert len(report.ranks.straggler.limited_to) == 8


def test_the_rank_with_the_busiest_experts_is_late_by_its_work(tmp_path: Path) -> None:
    """The wait lies in the kernels that notify all ranks, which no NCCL range tells."""
    report = analyze(simulate("moe_deepep", tmp_path, ranks=4, steps=6, hot_rank=2, causes=False).exports)
    assert report.ranks is not None and report.ranks.straggler is not None
    found = report.ranks.straggler
    assert (found.verdict, found.unit, found.cause) == ("persistent", "u2", "more-work")
    assert report.verdict.headline.endswith("ms late a step.")
    assert "The others wait for rank 2" in report.verdict.headline
