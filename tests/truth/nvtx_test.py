"""Device time of NVTX ranges in real exports, against rows counted one by one with SQLite alone."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from critpath.pipeline.analyze import analysis
from critpath.pipeline.options import Options

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real"
NAMES = ["power_iteration_nvtx_2025.3.1", "lm_train_wsl_2025.1.3"]

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="shared/data/real is not beside the checkout")


def _rows(path: Path, query: str) -> list[tuple[int, ...]]:
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def _tables(path: Path) -> set[str]:
    return {str(r[0]) for r in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def _ops(path: Path) -> list[tuple[int, int, int, int]]:
    """(thread, start of the call, start, end) of every op that has a call."""
    found = []
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        if f"CUPTI_ACTIVITY_KIND_{table}" in _tables(path):
            found += _rows(
                path,
                "SELECT r.globalTid, r.start, o.start, o.end FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
                f"JOIN CUPTI_ACTIVITY_KIND_{table} o ON o.correlationId = r.correlationId "
                "AND o.globalPid = (r.globalTid & -16777216)",
            )
    return found  # type: ignore[return-value]


def _union_ns(spans: list[tuple[int, int]]) -> int:
    total, reached = 0, -1
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


@pytest.mark.parametrize("name", NAMES)
def test_device_time_of_every_range_equals_brute_force(name: str) -> None:
    path = REAL / f"{name}.sqlite"
    frame = analysis([str(path)], Options(frames=True)).frames["nvtx"]
    found = {(t, a, b): ns for t, a, b, ns in frame.select("thread", "start_ns", "end_ns", "device_ns").iter_rows()}
    by_thread = defaultdict(list)
    for thread, called, start, end in _ops(path):
        by_thread[thread].append((called, start, end))
    ranges = _rows(path, "SELECT globalTid, start, end FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end > start")
    assert len(ranges) > 20
    by_device = 0
    for thread, start, end in ranges:
        spans = [(a, b) for called, a, b in by_thread[thread] if start <= called < end]
        assert found[thread, start, end] == _union_ns(spans), (thread, start, end)
        ran = [(a, b) for _, a, b in by_thread[thread] if start <= a < end]
        by_device += _union_ns(ran) != _union_ns(spans)
    # The naive figure takes what ran while the range was open on the host; the host runs ahead of the device.
    assert by_device > len(ranges) // 10


@pytest.mark.parametrize("name", NAMES)
def test_place_of_the_critical_path_is_a_range_around_the_launch(name: str) -> None:
    path = REAL / f"{name}.sqlite"
    frame = analysis([str(path)], Options(frames=True)).frames["critical_path"]
    told = frame.filter(pl.col("kind") == "op").get_column("nvtx")
    assert told.is_not_null().sum() > 0
    query = (
        "SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) FROM NVTX_EVENTS "
        "WHERE eventType IN (59, 60)"
    )
    texts = {re.sub(r"\d+", "{n}", str(r[0])) for r in _rows(path, query) if r[0] is not None}
    for place in told.drop_nulls().unique().to_list():
        innermost = re.sub(r"\d+", "{n}", place.removesuffix(" (backward)").split(" > ")[-1])
        assert innermost in texts, place
