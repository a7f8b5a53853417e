"""Scenarios of parallel training and of shared machines: their structure, not their durations."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import OptionValueError, simulate
from critpath.sim.executed import Op, OpKind
from critpath.sim.scenarios.pipeline import PipelineOptions, Turn, interleaved, one_forward_one_backward


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def short(turns: list[Turn]) -> str:
    return " ".join(f"{'F' if turn.forward else 'B'}{turn.chunk}{turn.micro_batch}" for turn in turns)


def test_the_last_stage_alternates_from_the_start_and_the_first_warms_up() -> None:
    options = PipelineOptions(ranks=3, micro_batches=4)
    assert short(one_forward_one_backward(2, options)) == "F00 B00 F01 B01 F02 B02 F03 B03"
    assert short(one_forward_one_backward(0, options)) == "F00 F01 F02 B00 F03 B01 B02 B03"


def test_interleaving_passes_groups_of_micro_batches_through_parts_in_turn() -> None:
    options = PipelineOptions(ranks=2, micro_batches=2, chunks=2)
    assert short(interleaved(1, options)) == "F00 F01 F10 B10 F11 B11 B00 B01"
    assert short(interleaved(0, options)) == "F00 F01 F10 F11 B10 B11 B00 B01"


@pytest.mark.parametrize("scenario", ["pipeline_1f1b", "pipeline_interleaved"])
def test_stages_hold_different_parts_and_wait_in_messages(tmp_path: Path, scenario: str) -> None:
    simulation = simulate(scenario, tmp_path, steps=2)
    names = [{op.what.short for op in run.ops if op.kind is OpKind.COMPUTE} for run in simulation.execution.runs]  # type: ignore[union-attr]
    assert "indexSelectLargeIndex" in names[0] - names[1]
    assert "cunn_SoftMaxForwardSmem" in names[-1] - names[1]
    for unit in simulation.truth["units"]:
        for window in unit["windows"]["period"]:
            assert window["budget"]["exposed_comm_ns"] > 0.1 * window["budget"]["iteration_ns"]


@pytest.mark.parametrize(("scenario", "backend"), [("moe_hybrid_ep", "hybrid_ep"), ("moe_deepep", "deepep")])
def test_most_of_a_dispatcher_s_time_is_not_transfer(tmp_path: Path, scenario: str, backend: str) -> None:
    simulation = simulate(scenario, tmp_path, steps=3, imbalance=0.5)
    ops = [op for run in simulation.execution.runs for op in run.ops if communication(op) in (backend, "other")]
    meetings = [m for m in simulation.execution.collectives if m.collective.operation in ("dispatch", "combine")]
    transferred = sum(len(m.ops) * m.transfer_ns for m in meetings)
    assert transferred < 0.6 * sum(op.end_ns - op.start_ns for op in ops)
    nccl = [op for op in simulation.execution.runs[0].ops if communication(op) == "nccl"]
    assert len(nccl) == 3


def communication(op: Op) -> str | None:
    return getattr(op.what, "communication", None)


def test_a_ring_s_keys_arrive_before_the_block_that_needs_them(tmp_path: Path) -> None:
    simulation = simulate("context_parallel", tmp_path, ranks=3, steps=2)
    messages = simulation.execution.collectives
    assert {m.collective.communicator.name for m in messages} == {"cp:0>1", "cp:1>2", "cp:2>0"}
    assert {m.collective.communicator.known_size for m in messages} == {3}


def test_one_process_launches_on_every_device_from_its_own_thread(tmp_path: Path) -> None:
    simulation = simulate("jax_like", tmp_path, steps=3)
    path = simulation.exports[0]
    pairs = select(
        path,
        """SELECT DISTINCT k.deviceId, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL k
           JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)""",
    )
    assert len(pairs) == 8 == len({device for device, _ in pairs}) == len({thread for _, thread in pairs})
    names = select(path, "SELECT name FROM TARGET_INFO_NVTX_CUDA_DEVICE ORDER BY deviceId")
    assert names[5] == ("Xla:#global=5,local=5,process=0,slice=0#",)
    assert [unit["device"] for unit in simulation.truth["units"]] == list(range(8))


def test_eight_processes_call_eight_gpus_device_0(tmp_path: Path) -> None:
    simulation = simulate("eight_processes", tmp_path, steps=2, uncaptured=7)
    path = simulation.exports[0]
    assert select(path, "SELECT DISTINCT deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL") == [(0,)]
    assert len(select(path, "SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL")) == 1
    assert len(select(path, "SELECT DISTINCT globalTid >> 24 FROM CUPTI_ACTIVITY_KIND_RUNTIME")) == 8
    assert len(select(path, "SELECT DISTINCT uuid FROM TARGET_INFO_CUDA_DEVICE")) == 8
    assert len(simulation.truth["units"]) == 8
    assert [spoil["kind"] for spoil in simulation.truth["spoiled"]] == ["LostProcess"] * 7


def test_colliding_hosts_share_every_id_and_no_gpu(tmp_path: Path) -> None:
    simulation = simulate("colliding_hosts", tmp_path, steps=2)
    first, second = simulation.exports

    def ids(path: Path) -> list[tuple[Any, ...]]:
        return select(
            path,
            """SELECT globalPid, deviceId, contextId, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL
               ORDER BY correlationId""",
        )

    assert ids(first) == ids(second)
    uuids = "SELECT uuid FROM TARGET_INFO_GPU"
    assert not set(select(first, uuids)) & set(select(second, uuids))
    hosts = "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'"
    assert select(first, hosts) != select(second, hosts)


def last_ranks(simulation: Any) -> list[int]:
    return [m.last.run.process.rank for m in simulation.execution.collectives]


def test_stragglers_are_who_they_are_told_to_be(tmp_path: Path) -> None:
    persistent = simulate("straggler", tmp_path / "p", late_rank=2)
    assert set(last_ranks(persistent)[1:]) == {2}
    rotating = simulate("straggler", tmp_path / "r", kind="rotating", late_rank=1)
    assert last_ranks(rotating)[1:] == [2, 3, 0, 1, 2]
    skewed = simulate("straggler", tmp_path / "s", kind="start_skew", late_rank=3, skew_ms=100.0)
    units = skewed.truth["units"]
    assert 3 not in last_ranks(skewed)[:1]
    first = [unit["windows"]["range"][0]["budget"] for unit in units]
    assert first[3]["iteration_ns"] - first[0]["iteration_ns"] > 90_000_000


@pytest.mark.parametrize("cause", ["kernels", "work", "host"])
def test_whatever_makes_a_rank_late_makes_it_late_by_as_much(tmp_path: Path, cause: str) -> None:
    simulation = simulate("straggler", tmp_path, cause=cause, late_rank=2, lag=0.3)
    assert set(last_ranks(simulation)[1:]) == {2}
    waits = [unit["windows"]["period"][2]["budget"]["comm_busy_ns"] for unit in simulation.truth["units"]]
    lag_ns = max(waits) - waits[2]
    assert 0.7 < lag_ns / 900_000 < 1.3


def test_a_straggler_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionValueError, match="kind is one of"):
        simulate("straggler", tmp_path, kind="sometimes")


def test_sharing_a_gpu_doubles_a_step(tmp_path: Path) -> None:
    alone = simulate("two_processes_shared_gpu", tmp_path / "free", sharing="free")
    for sharing in ("sliced", "resident"):
        shared = simulate("two_processes_shared_gpu", tmp_path / sharing, sharing=sharing)
        ratio = shared.truth["job"]["step_times_ns"][1] / alone.truth["job"]["step_times_ns"][1]
        assert 1.8 < ratio < 2.1
    gpus = [gpu["uuid"] for p in alone.truth["reports"][0]["processes"] for gpu in p["gpus"]]
    assert len(gpus) == 2 > len(set(gpus))


@pytest.mark.parametrize("generation", ["2022.1", "2026.2"])
def test_migrations_name_no_stream_context_or_call(tmp_path: Path, generation: str) -> None:
    simulation = simulate("uvm_faults", tmp_path, steps=2, generation=generation)
    rows = select(
        simulation.exports[0],
        """SELECT DISTINCT contextId, streamId, correlationId, copyKind, srcKind, dstKind, migrationCause
           FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind > 10 ORDER BY copyKind, migrationCause""",
    )
    assert rows == [(0, 0, 0, 11, 7, 7, 1), (0, 0, 0, 11, 7, 7, 2), (0, 0, 0, 12, 7, 7, 2)]


def test_held_back_launches_start_together_long_after_their_calls(tmp_path: Path) -> None:
    simulation = simulate("wsl_batched", tmp_path, steps=2)
    ops = simulation.execution.runs[0].ops
    handed_over = {op.submitted_ns for op in ops}
    assert len(handed_over) < len(ops) / 10
    assert max(op.submitted_ns - op.call_start_ns for op in ops) > 500_000
