"""P04: stages that hold different parts, and a rank with one more layer, are not slow."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from critpath.model.manifest import Manifest, ReportRow
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options
from guards.traps import Trap, materially


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap("pipeline_1f1b", tmp_path_factory.mktemp("stages"), ranks=4, steps=5, nccl_payload="blobs")


def test_the_last_stage_is_no_straggler(stages: Trap) -> None:
    naive = [stages.mean_ms("compute_busy_ns", unit=i) for i in range(4)]
    assert materially(max(naive), sorted(naive)[1])
    ranks = stages.report.ranks
    assert ranks is not None and ranks.straggler is not None
    assert ranks.straggler.verdict in ("none", "inconclusive")
    assert ranks.straggler.unit is None
    assert [set(g.units) for g in ranks.groups] == [{"u1", "u2"}, {"u0"}, {"u3"}]
    assert [u.group for u in stages.report.units] == ["g1", "g0", "g0", "g2"]
    assert stages.guard("P04").outcome == "held"
    assert "4 units in 3 groups" in stages.guard("P04").evidence


def one_more(db: sqlite3.Connection) -> None:
    """The rank runs every tenth of its kernels twice: one more group of experts."""
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    sums = ", ".join('"end"' if c == "start" else '"end" + 1000' if c == "end" else f'"{c}"' for c in columns)
    db.execute(f"INSERT INTO {table} SELECT {sums} FROM {table} WHERE rowid % 10 = 0")


def test_a_rank_with_more_work_is_compared_with_nobody(tmp_path: Path) -> None:
    trap = Trap("straggler", tmp_path, ranks=4, steps=6, kind="none")
    with sqlite3.connect(trap.simulation.exports[2]) as db:
        one_more(db)
    report = analyze(trap.simulation.exports)
    assert report.ranks is not None
    assert [set(g.units) for g in report.ranks.groups] == [{"u0", "u1", "u3"}, {"u2"}]


def test_parts_that_were_declared_wrongly_are_told(stages: Trap) -> None:
    rows = tuple(ReportRow(path, f"report {i}", part="middle") for i, path in enumerate(stages.simulation.exports))
    report = analyze(stages.simulation.exports, Options(manifest=Manifest(Path("job.toml"), reports=rows)))
    (row,) = [g for g in report.guards if g.id == "P04"]
    assert row.outcome == "limited"
    assert "declared as part middle do different work" in row.evidence
