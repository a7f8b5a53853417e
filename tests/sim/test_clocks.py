"""Clocks that are wrong, and the payloads by which ranks can still be matched."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import scenario_named, simulate, write_job
from critpath.sim.program import Clock, Costs, Job, Report
from critpath.sim.recording import NcclPayload, Recording
from sim.tiny import A, kernel, process, step, thread


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def test_a_clock_without_errors_only_moves_the_zero() -> None:
    clock = Clock(session_start_ns=100)
    assert clock.exact
    assert (clock.at(150), clock.all_at([100, 150]), clock.on_device(0, 150)) == (50, [0, 50], 50)


def test_drift_grows_with_time_and_bias_does_not() -> None:
    clock = Clock(session_start_ns=0, drift_ppm=20.0, device_bias_ns=(0, 3_000))
    assert clock.at(1_000_000_000) == 1_000_020_000
    assert clock.on_device(1, 1_000_000_000) == 1_000_023_000
    assert clock.on_device(2, 0) == 0
    assert not clock.exact


def written(tmp_path: Path, clock: Clock) -> tuple[Path, dict[str, Any]]:
    program = (*step(0, kernel(A, 1_000_000)), *step(1, kernel(A, 1_000_000)))
    report = Report("rank0", "node0", (process(thread(*program)),), clock)
    simulation = write_job(Job((report,), Costs.free()), tmp_path)
    return simulation.exports[0], simulation.truth


def test_rows_carry_the_clock_s_errors(tmp_path: Path) -> None:
    # kernels at 10-1000010 and 1000010-2000010
    path, truth = written(tmp_path, Clock(drift_ppm=50.0, device_bias_ns=(7_000,)))
    rows = select(path, 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL')
    assert rows == [(7_010, 1_007_060), (1_007_060, 2_007_110)]
    assert select(path, "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start") == [(0,), (1,)]
    (window,) = truth["units"][0]["windows"]["period"]
    assert (window["start_ns"], window["end_ns"]) == (7_010, 1_007_060)
    assert window["budget"]["iteration_ns"] == 1_000_050
    assert window["budget"]["compute_busy_ns"] == 1_000_050


def test_utc_may_be_wrong_while_the_host_s_own_clock_is_not(tmp_path: Path) -> None:
    _, right = written(tmp_path / "right", Clock())
    _, wrong = written(tmp_path / "wrong", Clock(utc_error_ns=-4_000_000))
    first, second = right["reports"][0], wrong["reports"][0]
    assert second["utc_epoch_ns"] - first["utc_epoch_ns"] == -4_000_000
    assert second["system_clock_ns"] == first["system_clock_ns"]


def test_hosts_of_one_job_get_errors_of_their_own(tmp_path: Path) -> None:
    simulation = simulate("straggler", tmp_path, ranks=4, ranks_a_host=2, utc_error_ms=5.0, drift_ppm=20.0, bias_us=6.0)
    clocks = [report.clock for report in simulation.job.reports]
    assert clocks[0].drift_ppm == clocks[1].drift_ppm != clocks[2].drift_ppm == clocks[3].drift_ppm
    assert len({clock.device_bias_ns for clock in clocks}) == 4


@pytest.mark.parametrize("payload", ["none", "schemas", "blobs"])
@pytest.mark.parametrize("generation", ["2025.3", "2026.2"])
def test_payloads_are_what_the_export_was_asked_for(tmp_path: Path, payload: str, generation: str) -> None:
    path = simulate("straggler", tmp_path, ranks=2, steps=2, nccl_payload=payload, generation=generation).exports[0]
    there = {name for (name,) in select(path, "SELECT name FROM sqlite_master WHERE name LIKE 'NVTX_PAYLOAD%'")}
    kept = generation == "2026.2"
    assert bool(there) is (kept and payload != "none")
    blobs = select(path, "SELECT count(binaryData) FROM NVTX_EVENTS") if generation != "2022.1" else [(0,)]
    assert (blobs[0][0] > 0) is (kept and payload == "blobs")


def test_a_blob_names_communicator_rank_and_size(tmp_path: Path) -> None:
    simulation = simulate("straggler", tmp_path, ranks=2, steps=2, nccl_payload="blobs")
    ids = set()
    for rank, path in enumerate(simulation.exports):
        init = select(
            path,
            """SELECT binaryData FROM NVTX_EVENTS JOIN StringIds ON StringIds.id = textId
               WHERE value = 'ncclCommInitRankConfig'""",
        )
        domain, schema, size, _, communicator, ranks, own, device = struct.unpack("<4QQ3i", init[0][0][:52])
        assert (len(init), domain, schema, size, ranks, own, device) == (1, 1, 16_777_227, 24, 2, rank, rank)
        reduce = select(
            path,
            "SELECT binaryData FROM NVTX_EVENTS JOIN StringIds ON StringIds.id = textId WHERE value = 'ncclAllReduce'",
        )
        _, schema, _, _, same, size = struct.unpack("<6Q", reduce[0][0][:48])
        assert (schema, same, size) == (16_777_221, communicator, 50_331_648)
        ids.add(communicator)
    assert len(ids) == 1


def test_schemas_repeat_for_each_process_and_leave_offset_0_out(tmp_path: Path) -> None:
    path = simulate("straggler", tmp_path, ranks=2, steps=2, nccl_payload="schemas").exports[0]
    entries = select(
        path, "SELECT idx, type, name, offset FROM NVTX_PAYLOAD_SCHEMA_ENTRIES WHERE schemaId = 16777227 ORDER BY idx"
    )
    assert entries == [
        (0, 18, "NCCL communicator ID", None),
        (1, 5, "No. of ranks", 8),
        (2, 5, "Rank", 12),
        (3, 5, "CUDA device", 16),
    ]


def test_a_message_s_blob_names_the_peer(tmp_path: Path) -> None:
    scenario = scenario_named("context_parallel")
    job = scenario.job(scenario.chosen(ranks=3, steps=2))
    simulation = write_job(replace(job, recording=Recording(nccl_payload=NcclPayload.BLOBS)), tmp_path)
    sends = select(
        simulation.exports[1],
        "SELECT binaryData FROM NVTX_EVENTS JOIN StringIds ON StringIds.id = textId WHERE value = 'ncclSend'",
    )
    _, schema, *_, peer = struct.unpack("<6Qi", sends[0][0][:52])
    assert (schema, peer) == (16_777_225, 2)
