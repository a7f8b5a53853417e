"""P09: few handles behind thousands of records, processes with equal ids, exports without sync ids, rows shuffled."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.absent_truth import true_blocking_ms
from guards.event_edges import found_edges, true_edges
from guards.traps import Trap

WAITS, RECORDS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
STREAM_WAITS = f"SELECT count(*) FROM {WAITS} WHERE eventId != 4294967295 AND streamId != 4294967295"
JOINED = f"SELECT {{what}} FROM {WAITS} s JOIN {RECORDS} e ON {{on}} WHERE s.streamId != 4294967295"
BARE = "s.eventId = e.eventId"


def shuffled(db: sqlite3.Connection) -> None:
    """Rows of waits and records in an order that has nothing to do with time."""
    for table in (WAITS, RECORDS):
        db.execute(f"CREATE TEMP TABLE aside AS SELECT * FROM {table} ORDER BY rowid * 7919 % 10007")
        db.execute(f"DELETE FROM {table}")
        db.execute(f"INSERT INTO {table} SELECT * FROM aside")
        db.execute("DROP TABLE aside")


def assert_true(trap: Trap) -> None:
    """Every edge of the execution and no other, and with them what blocked, on every unit."""
    found, true = found_edges(trap.simulation), true_edges(trap.simulation)
    assert sum(map(len, true.values())) > 0
    assert found == true
    for unit in range(len(trap.report.units)):
        absent = trap.unit(unit).absent
        assert absent is not None and absent.blocking is not None
        assert absent.blocking.by_class == pytest.approx(true_blocking_ms(trap, unit), rel=0.01, abs=0.01)
        assert absent.unresolved_wait_share == 0.0


def test_four_handles_behind_thousands_of_records(tmp_path: Path) -> None:
    trap = Trap("deep_relay", tmp_path, handles=4, steps=40, blocks=14, ranks=1)
    handles, records = trap.rows(f"SELECT count(DISTINCT eventId), count(*) FROM {RECORDS}")[0]
    waits = trap.rows(STREAM_WAITS)[0][0]
    naive = trap.rows(JOINED.format(what="count(*)", on=BARE))[0][0]

    assert handles == 4
    assert records > 4_000
    assert naive > 1_000 * waits, "the bare join must tie each wait to a thousand records"
    assert_true(trap)
    row = trap.guard("P09")
    assert row.outcome == "held"
    assert "0.0 % of stream waits lack their record" in row.evidence


def test_two_processes_with_equal_ids(tmp_path: Path) -> None:
    trap = Trap("two_processes_one_gpu_ids", tmp_path)
    waits = trap.rows(STREAM_WAITS)[0][0]
    by_sync_id, foreign = trap.rows(
        JOINED.format(
            what="count(*), sum(s.globalPid != e.globalPid)", on="s.eventSyncId = e.eventSyncId AND s.eventSyncId > 0"
        )
    )[0]

    assert by_sync_id == 2 * waits, "without the process even the sync id ties each wait to two records"
    assert foreign == waits
    assert_true(trap)
    assert trap.guard("P09").outcome == "held"


@pytest.mark.parametrize("generation", ["2022.1", "2026.2"])
@pytest.mark.parametrize("scenario", ["deep_relay", "two_processes_one_gpu_ids"])
def test_without_sync_ids_the_latest_record_before_the_wait(scenario: str, generation: str, tmp_path: Path) -> None:
    trap = Trap(scenario, tmp_path, generation=generation, event_sync_ids=False)
    waits = trap.rows(STREAM_WAITS)[0][0]
    within = trap.rows(JOINED.format(what="count(*)", on=f"{BARE} AND s.globalPid = e.globalPid"))[0][0]

    assert within > 5 * waits, "even within its process a handle stands for many records"
    assert_true(trap)
    assert trap.guard("P09").outcome == "held"


@pytest.mark.parametrize("sync_ids", [True, False])
def test_rows_stand_in_any_order(sync_ids: bool, tmp_path: Path) -> None:
    trap = Trap("deep_relay", tmp_path, edit=shuffled, event_sync_ids=sync_ids)
    rows = trap.rows(
        JOINED.format(what="s.rowid, e.correlationId, s.correlationId", on=f"{BARE} AND e.globalPid = s.globalPid")
        + " ORDER BY s.rowid, e.rowid"
    )
    latest: dict[int, int] = {}
    naive: dict[int, int] = {}
    for wait, record, waited in rows:
        naive[wait] = record  # the last row of the handle, as a tool takes it that trusts the order of rows
        if record < waited:
            latest[wait] = max(latest.get(wait, 0), record)

    assert sum(naive[wait] == record for wait, record in latest.items()) < 0.1 * len(latest)
    assert_true(trap)


def no_records(db: sqlite3.Connection) -> None:
    db.execute(f"DELETE FROM {RECORDS}")


def test_waits_without_records_are_said(tmp_path: Path) -> None:
    trap = Trap("deep_relay", tmp_path, edit=no_records)
    absent = trap.unit().absent
    assert absent is not None and absent.blocking is not None

    assert absent.unresolved_wait_share == 1.0
    assert absent.blocking.by_class.get("nccl", 0.0) == 0.0
    row = trap.guard("P09")
    assert row.outcome == "limited"
    assert "100.0 % of stream waits" in row.evidence


def no_waits(db: sqlite3.Connection) -> None:
    db.execute(f"DROP TABLE {WAITS}")


def test_records_without_waits_are_said(tmp_path: Path) -> None:
    trap = Trap("deep_relay", tmp_path, edit=no_waits)
    absent = trap.unit().absent
    assert absent is not None

    assert absent.unresolved_wait_share == 0.0, "no wait is there that could lack its record"
    assert absent.blocking_bound == "lower"
    for guard in ("P07", "P08", "P09", "P10", "P12"):
        assert trap.guard(guard).outcome == "limited", guard
    assert "waits were not exported" in trap.guard("P09").evidence
