"""An all-gather done by copies communicates, though no kernel does; a copy between devices alone does not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from critpath.model.report import Report, violations
from critpath.pipeline.analyze import analyze
from critpath.sim import simulate

D2D = 8


def _analyzed(folder: Path, range_name: str | None) -> Report:
    """One rank with D2D copies before compute, each issued inside a range of the given name."""
    export = simulate("fsdp_offload", folder, ranks=1).exports[0]
    if range_name is not None:
        db = sqlite3.connect(export)
        calls = db.execute(
            'SELECT r.start, r."end", r.globalTid FROM CUPTI_ACTIVITY_KIND_MEMCPY m '
            "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) WHERE m.copyKind = ?",
            (D2D,),
        ).fetchall()
        assert calls, "the scenario has no copy between devices"
        db.executemany(
            'INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId) VALUES (?, ?, 59, ?, ?, 1)',
            [(start - 50, end + 50, range_name, thread) for start, end, thread in calls],
        )
        db.commit()
        db.close()
    return analyze([export])


@pytest.mark.parametrize("name", ["ncclAllGather", "ncclGroupEnd", "ncclSend"])
def test_copies_inside_a_communication_call_are_a_collective(name: str, tmp_path: Path) -> None:
    plain, marked = _analyzed(tmp_path / "a", None), _analyzed(tmp_path / "b", name)
    before, after = plain.units[0].communication, marked.units[0].communication
    assert before is not None
    assert after is not None
    assert "copy_engine" not in {row.backend for row in before.backends}
    row = next(row for row in after.backends if row.backend == "copy_engine")
    assert row.component == "collective"
    assert row.count == sum(t.count for t in marked.units[0].transfers if t.direction == "D2D")
    assert row.union_ms > 0
    assert after.union_ms > before.union_ms
    assert after.nccl_only is not None
    assert before.nccl_only is not None
    assert after.nccl_only.union_ms == pytest.approx(before.nccl_only.union_ms, abs=1e-6)
    assert violations(marked) == []


def test_their_blocking_is_of_their_own_class(tmp_path: Path) -> None:
    plain, marked = _analyzed(tmp_path / "a", None), _analyzed(tmp_path / "b", "ncclAllGather")
    before, after = plain.units[0].absent, marked.units[0].absent
    assert before is not None
    assert after is not None
    assert before.blocking is not None
    assert after.blocking is not None
    assert after.blocking.by_class["copy_engine"] == pytest.approx(before.blocking.by_class["copy_d2d"], abs=1e-6)
    assert "copy_d2d" not in after.blocking.by_class
    assert after.blocking_ms == pytest.approx(before.blocking_ms, abs=1e-6)


@pytest.mark.parametrize("name", ["ncclCommInitRank", "ncclCommCount", "aten::copy_", "all_gather"])
def test_other_ranges_prove_nothing(name: str, tmp_path: Path) -> None:
    communication = _analyzed(tmp_path, name).units[0].communication
    assert communication is not None
    assert "copy_engine" not in {row.backend for row in communication.backends}
