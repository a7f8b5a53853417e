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
    frame = analysis([str(path)], Options(frames=True)).frames["nvtx"].collect()
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
def test_host_causes_and_blocking_operations_name_their_place(name: str) -> None:
    absent = analysis([str(REAL / f"{name}.sqlite")], Options()).report.units[0].absent
    assert absent is not None
    rows = [*absent.launch_starved.by_host_cause, *absent.blocking.by_operation]
    largest = max(rows, key=lambda row: row.ms)
    assert largest.nvtx is not None
    assert largest.nvtx.split(" > ")[0] in {"Loop", "Run Benchmark"}


@pytest.mark.parametrize("name", NAMES)
def test_place_of_the_critical_path_is_a_range_around_the_launch(name: str) -> None:
    path = REAL / f"{name}.sqlite"
    frame = analysis([str(path)], Options(frames=True)).frames["critical_path"].collect()
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


def _windows(path: Path) -> list[tuple[int, int]]:
    frame = analysis([str(path)], Options(frames=True)).frames["budget"].collect()
    return list(frame.select("start_ns", "end_ns").iter_rows())


def _share(path: Path, launched: list[tuple[int, int]], windows: list[tuple[int, int]]) -> float:
    """Their union over that of all ops, inside the windows."""
    busy = [(start, end) for _, _, start, end in _ops(path)]

    def inside(spans: list[tuple[int, int]]) -> int:
        return sum(_union_ns([(max(s, a), min(e, b)) for s, e in spans if s < b and a < e]) for a, b in windows)

    return inside(launched) / inside(busy)


@pytest.mark.parametrize(("name", "grouped", "like"), [
    ("power_iteration_nvtx_2025.3.1", "Compute {n}", "Compute [0-9]*"),
    ("power_iteration_nvtx_2025.3.1", "Compute & Residual {n}", "Compute & Residual *"),
    ("power_iteration_nvtx_2025.3.1", "Copy {n}", "Copy [0-9]*"),
    ("lm_train_wsl_2025.1.3", "Backward", "Backward"),
])  # fmt: skip
def test_shares_of_the_phases_equal_brute_force(name: str, grouped: str, like: str) -> None:
    path = REAL / f"{name}.sqlite"
    unit = analysis([str(path)], Options()).report.units[0]
    assert unit.nvtx is not None
    row = next(r for r in unit.nvtx.ranges if r.name == grouped)
    windows, ops = _windows(path), _ops(path)
    ranges = _rows(
        path,
        "SELECT globalTid, start, end FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end > start AND "
        f"coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) GLOB '{like}'",
    )
    own = [(s, e) for thread, called, s, e in ops if any(t == thread and a <= called < b for t, a, b in ranges)]
    every = [(s, e) for _, called, s, e in ops if any(a <= called < b for _, a, b in ranges)]
    assert row.share == pytest.approx(_share(path, own, windows), abs=1e-9)
    assert row.any_thread_share == pytest.approx(_share(path, every, windows), abs=1e-9)


def test_forward_and_backward_of_a_real_training_step_make_up_its_device_time() -> None:
    """Autograd launches most of the backward pass from its own thread: its range alone would tell a trifle."""
    unit = analysis([str(REAL / "lm_train_wsl_2025.1.3.sqlite")], Options()).report.units[0]
    assert unit.nvtx is not None
    forward, backward = (next(r for r in unit.nvtx.ranges if r.name == name) for name in ("Forward", "Backward"))
    assert forward.path == "Run Benchmark > Warm-up > Warm-up Step {n} > Forward"
    assert 0.95 < forward.any_thread_share + backward.any_thread_share < 1.05
    assert backward.any_thread_share > 1.5 * forward.any_thread_share
    assert backward.share < 0.15
