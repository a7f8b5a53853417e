"""P06: dispatch kernels of which 60 % is layout and notification."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.traps import Trap, materially, string_id, union_ms

LAYOUT = "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)"
NOTIFY = "void deep_ep::intranode::notify_dispatch<8>(int const*, int*)"
DISPATCH = "void deep_ep::intranode::dispatch<8, 768>(int4*, float*)"
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"


def dispatched(db: sqlite3.Connection) -> None:
    """Each collective becomes a layout (20 %), a notification (40 %) and a payload (40 %), one after the other."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({KERNEL})")]
    sql = f"SELECT {', '.join(f'k.[{c}]' for c in columns)} FROM {KERNEL} k JOIN StringIds ON id = demangledName"
    rows = [dict(zip(columns, row, strict=True)) for row in db.execute(f"{sql} WHERE value LIKE 'nccl%'")]
    db.execute(f"DELETE FROM {KERNEL} WHERE demangledName IN (SELECT id FROM StringIds WHERE value LIKE 'nccl%')")
    for row in rows:
        start, length = row["start"], row["end"] - row["start"]
        edges = (start, start + length // 5, start + 3 * length // 5, row["end"])
        for name, begin, end in zip((LAYOUT, NOTIFY, DISPATCH), edges[:-1], edges[1:], strict=True):
            new = string_id(db, name)
            part = row | {"start": begin, "end": end, "demangledName": new, "shortName": new, "mangledName": new}
            db.execute(f"INSERT INTO {KERNEL} VALUES ({', '.join('?' * len(columns))})", [part[c] for c in columns])


def test_most_of_dispatch_moves_no_payload(tmp_path: Path) -> None:
    trap = Trap("tensor_parallel", tmp_path, ranks=2, edit=dispatched)
    spans = f'SELECT start, "end" FROM {KERNEL} JOIN StringIds ON id = demangledName WHERE value LIKE ?'
    naive_ms = union_ms(trap.rows(spans, "%dispatch%"), trap.windows())
    payload_ms = union_ms(trap.rows(spans, "%::dispatch<%"), trap.windows())

    assert naive_ms == pytest.approx(trap.mean_ms("comm_busy_ns"), abs=1e-6)
    assert materially(naive_ms, payload_ms)
    assert payload_ms == pytest.approx(0.4 * naive_ms, rel=0.02)
    comm = trap.unit().communication
    assert comm is not None
    by_component = {(row.backend, row.component): row.union_ms for row in comm.backends}
    assert set(by_component) == {("deepep", "control"), ("deepep", "transport_sync")}
    assert by_component["deepep", "transport_sync"] == pytest.approx(payload_ms, abs=1e-6)
    assert by_component["deepep", "control"] == pytest.approx(naive_ms - payload_ms, abs=1e-6)
    row = trap.guard("P06")
    assert row.outcome == "held"
    assert "deepep control" in row.evidence
    assert "is no network time, and no bandwidth is made of it" in row.evidence


def test_no_bandwidth_is_claimed(tmp_path: Path) -> None:
    report = Trap("tensor_parallel", tmp_path, ranks=2, edit=dispatched).report
    assert report.ranks is not None and report.ranks.collectives is not None
    assert report.ranks.collectives.communicators
    assert all(c.busbw_GBps is None for c in report.ranks.collectives.communicators)


def test_waiting_is_told_apart_where_ranks_match(tmp_path: Path) -> None:
    """The shortest participant of each dispatch took the transfer alone; what the others took longer is waiting."""
    trap = Trap("moe_deepep", tmp_path, ranks=4)
    true_ms = [0.0] * 4
    for meeting in trap.simulation.execution.collectives:
        last = max(op.start_ns for op in meeting.ops)
        for op in meeting.ops:
            (place,) = [i for i, run in enumerate(trap.simulation.execution.runs) if run is op.run]
            clock = op.run.report.clock
            start = clock.on_device(op.stream.device, op.start_ns)
            edges = trap.unit(place).window.edges_ns  # type: ignore[union-attr]
            if any(a <= start < b for a, b in edges):
                true_ms[place] += (last - op.start_ns) / 1e6 / len(edges)
    for place, wait_ms in enumerate(true_ms):
        comm = trap.unit(place).communication
        assert comm is not None
        assert comm.jitter_wait_ms == pytest.approx(wait_ms, rel=0.05)
        assert comm.jitter_wait_ms > 0.1 * comm.union_ms
    assert "it waited" in trap.guard("P06").evidence
