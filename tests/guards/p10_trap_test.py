"""P10: completion times that are all 0, an export without the column, and a filter that drops every record."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.absent_truth import true_blocking_ms
from guards.event_edges import found_edges, true_edges
from guards.traps import Trap, materially

RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
JOINED = (
    f"SELECT {{what}} FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s JOIN {RECORDS} e "
    "ON e.globalPid = s.globalPid AND e.eventSyncId = s.eventSyncId "
    "WHERE s.streamId != 4294967295 AND s.eventId != 4294967295 AND {when}"
)


def blocking_ms(trap: Trap) -> dict[str, float]:
    absent = trap.unit().absent
    assert absent is not None and absent.blocking is not None
    return absent.blocking.by_class


def assert_true(trap: Trap) -> None:
    """Every edge of the execution and no other, and with them what blocked."""
    assert found_edges(trap.simulation) == true_edges(trap.simulation)
    true = true_blocking_ms(trap)
    assert true["nccl"] > 0.1
    assert blocking_ms(trap) == pytest.approx(true, rel=0.01, abs=0.01)


def test_a_filter_by_completion_time_drops_every_dependency(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2)
    assert trap.rows(f"SELECT DISTINCT timestamp FROM {RECORDS}") == [(0,)]
    first, last = trap.windows()[0]["start_ns"], trap.windows()[-1]["end_ns"]
    every = trap.rows(JOINED.format(what="count(*)", when="1"))[0][0]
    naive = trap.rows(JOINED.format(what="count(*)", when="e.timestamp BETWEEN ? AND ?"), first, last)[0][0]

    assert every > 0
    assert naive == 0
    assert_true(trap)
    row = trap.guard("P10")
    assert row.outcome == "held"
    assert "0.0 % of stream waits lack a record" in row.evidence


def test_a_completion_time_of_zero_says_that_nothing_was_waited_for(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2)
    waits = trap.rows(JOINED.format(what="s.start, e.timestamp", when="1"))
    naive_ms = sum(max(0, done - start) for start, done in waits) / len(trap.windows()) / 1e6

    assert naive_ms == 0.0
    assert materially(naive_ms, sum(true_blocking_ms(trap).values()))
    assert blocking_ms(trap)["nccl"] == pytest.approx(true_blocking_ms(trap)["nccl"], rel=0.01)


@pytest.mark.parametrize("generation", ["2022.1", "2024.6"])
def test_an_export_without_the_column_tells_the_same(generation: str, tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2, generation=generation)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        trap.rows(f"SELECT timestamp FROM {RECORDS}")

    assert_true(trap)
    assert trap.guard("P10").outcome == "held"


def test_relays_are_followed_to_the_op_that_ends(tmp_path: Path) -> None:
    trap = Trap("deep_relay", tmp_path)
    on_stream = {stream for (stream,) in trap.rows("SELECT DISTINCT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL")}
    relayed = trap.rows(f"SELECT streamId FROM {RECORDS}")
    naive = sum(stream in on_stream for (stream,) in relayed) / len(relayed)

    assert naive < 0.5, "most records must stand on streams where no op ever ran"
    assert_true(trap)


def no_records(db: sqlite3.Connection) -> None:
    db.execute(f"DELETE FROM {RECORDS}")


def test_without_records_the_limit_is_said(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=2, edit=no_records)
    absent = trap.unit().absent
    assert absent is not None

    assert blocking_ms(trap).get("nccl", 0.0) == 0.0
    assert absent.blocking_bound in {"lower", "estimate"}
    row = trap.guard("P10")
    assert row.outcome == "limited"
    assert "100.0 % of stream waits" in row.evidence
    assert any(limit.guard == "P10" for limit in trap.report.verdict.limits)


def no_calls(db: sqlite3.Connection) -> None:
    db.execute("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")


def test_without_the_times_of_issue_blocking_is_a_lower_bound_and_waits_are_not_blamed(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1, edit=no_calls)
    absent = trap.unit().absent
    assert absent is not None

    assert absent.unresolved_wait_share == 0.0
    assert absent.blocking_bound in {"lower", "estimate"}
    assert "not exported" not in trap.guard("P10").evidence
