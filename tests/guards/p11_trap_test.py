"""P11: a 30 ms synchronization during which the GPU is busy for 28."""

from __future__ import annotations

from pathlib import Path

import pytest

from guards.traps import Trap, materially


def test_host_wait_is_not_device_idle(tmp_path: Path) -> None:
    trap = Trap("host_sync", tmp_path)
    true_ms = trap.mean_ms("host_sync_while_idle_ns")
    n = len(trap.windows())
    start, end = trap.windows()[0]["start_ns"], trap.windows()[-1]["end_ns"]
    naive_ms = trap.rows(
        'SELECT sum(min("end", ?2) - max(start, ?1)) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION '
        'WHERE start < ?2 AND "end" > ?1',
        start,
        end,
    )[0][0] / (1e6 * n)

    assert naive_ms == pytest.approx(30, abs=1)
    assert true_ms == pytest.approx(2, abs=0.5)
    assert materially(naive_ms, true_ms)
    sync = trap.unit().host_sync
    assert sync is not None
    assert sync.while_device_idle_ms == pytest.approx(true_ms, abs=1e-6)
    assert trap.guard("P11").outcome == "held"


def test_stream_waits_and_queries_are_no_host_waits(tmp_path: Path) -> None:
    trap = Trap("host_sync", tmp_path)
    shapes = trap.rows(
        "SELECT eventId != 4294967295, streamId != 4294967295, count(*) "
        "FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION GROUP BY 1, 2"
    )
    counts = {(bool(event), bool(stream)): n for event, stream, n in shapes}
    assert counts[True, True] > 0, "no stream wait in the trap"
    assert counts[True, False] > 0, "no event query in the trap"

    sync = trap.unit().host_sync
    assert sync is not None
    stream_syncs = trap.rows(
        'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION '
        "WHERE eventId = 4294967295 AND streamId != 4294967295"
    )
    windows = trap.windows()
    true_ns = sum(
        max(0, min(end, w["end_ns"]) - max(start, w["start_ns"])) for w in windows for start, end in stream_syncs
    )
    assert sync.host_ms == pytest.approx(true_ns / len(windows) / 1e6, abs=1e-6)
