"""Ranks that an export states, and those that it only seems to state."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.trace import Trace
from critpath.pipeline.analyze import analyze
from critpath.render.text import text
from exports import Export, gpid, tid

A, B = 111, 112


def process(export: Export, pid: int = A, *, devices: int = 1) -> None:
    for device in range(devices):
        export.launched(1_000_000, 2_000_000, corr=device + 1, pid=pid, deviceId=device, contextId=device + 1)


def trace(export: Export, tmp_path: Path) -> Trace:
    return read_trace(export.write(tmp_path / "rank9.sqlite"))


def told(export: Export, tmp_path: Path) -> list[tuple[int | None, str]]:
    report = analyze([export.write(tmp_path / "rank9.sqlite")])
    return [(unit.rank, unit.rank_source) for unit in report.units]


def xla(device: int, rank: int) -> str:
    return f"Xla:#global={rank},local={device},process=0,slice=0#"


def jax(export: Export, device: int, rank: int) -> None:
    export.add("TARGET_INFO_NVTX_CUDA_DEVICE", name=xla(device, rank), vmId=1, deviceId=device)


def test_a_files_name_states_no_rank(tmp_path: Path) -> None:
    export = Export()
    process(export)
    assert told(export, tmp_path) == [(None, "unknown")]


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"])
def test_the_sole_gpu_process_has_the_rank_of_its_environment(variable: str, tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(**{variable: "5"})
    assert told(export, tmp_path) == [(5, "environment")]


@pytest.mark.parametrize("variable", ["LOCAL_RANK", "WORLD_SIZE", "MY_RANK", "RANKS"])
def test_other_variables_state_no_rank(variable: str, tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(**{variable: "5"})
    assert told(export, tmp_path) == [(None, "unknown")]


@pytest.mark.parametrize("value", ["", "-1", "1.0", "0x5", "5 ", "five", "99999999"])
def test_a_rank_is_a_plain_number(value: str, tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(RANK=value)
    assert told(export, tmp_path) == [(None, "unknown")]


def test_a_launchers_environment_is_not_its_childrens(tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    process(export, B)
    export.environment(RANK="0")
    assert told(export, tmp_path) == [(None, "unknown")] * 2


def test_a_process_whose_device_rows_were_lost_is_a_gpu_process_too(tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    export.call(0, 10, corr=1, pid=B)
    export.environment(RANK="0")
    assert told(export, tmp_path) == [(None, "unknown")]


@pytest.mark.parametrize(("name", "value", "rank"), [
    ("APPLICATION_PID", "111", 3),
    ("APPLICATION_PID", "77", None),
    ("PROCESS_0:PID", "0", 3),
    ("PROCESS_0:PID", "77", None),
    ("PROCESS_0:PID", "[redacted]", 3),
])  # fmt: skip
def test_the_environment_is_that_of_the_launched_process(
    name: str, value: str, rank: int | None, tmp_path: Path
) -> None:
    export = Export()
    process(export)
    export.environment(RANK="3")
    export.capture(name, value)
    assert [r for r, _ in told(export, tmp_path)] == [rank]


def test_launched_processes_that_contradict_one_another_state_no_rank(tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.capture("PROCESS_0:ENVIRONMENT_VARIABLE", "RANK=0")
    export.capture("PROCESS_1:ENVIRONMENT_VARIABLE", "RANK=1")
    assert told(export, tmp_path) == [(None, "unknown")]


def test_a_rank_is_the_units_only_where_its_process_used_one_device(tmp_path: Path) -> None:
    export = Export()
    process(export, devices=2)
    export.environment(RANK="3")
    assert told(export, tmp_path) == [(None, "unknown")] * 2


def test_mpi_states_the_rank_of_each_process(tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    process(export, B)
    for pid, rank in ((A, 6), (B, 4)):
        export.add("MPI_RANKS", globalTid=tid(pid), rank=rank)
        export.add("MPI_RANKS", globalTid=tid(pid, 9), rank=rank)
    export.environment(RANK="0")
    assert told(export, tmp_path) == [(6, "mpi"), (4, "mpi")]


def test_mpi_ranks_of_processes_without_gpu_say_nothing(tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    export.add("MPI_RANKS", globalTid=tid(B), rank=4)
    export.environment(RANK="2")
    assert told(export, tmp_path) == [(2, "environment")]


@pytest.mark.parametrize("ranks", [(1, 2), (-1,), (10_000_000,)])
def test_mpi_ranks_that_contradict_one_another_or_are_none_say_nothing(ranks: tuple[int, ...], tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    for rank in ranks:
        export.add("MPI_RANKS", globalTid=tid(A), rank=rank)
    assert told(export, tmp_path) == [(None, "unknown")]


def test_jax_names_the_rank_of_each_device(tmp_path: Path) -> None:
    export = Export()
    process(export, devices=2)
    jax(export, 0, 12)
    jax(export, 1, 13)
    assert told(export, tmp_path) == [(12, "jax"), (13, "jax")]


def test_jax_names_state_nothing_of_several_processes(tmp_path: Path) -> None:
    export = Export()
    process(export, A)
    process(export, B)
    jax(export, 0, 12)
    assert told(export, tmp_path) == [(None, "unknown")] * 2


def test_jax_names_that_contradict_one_another_state_nothing(tmp_path: Path) -> None:
    export = Export()
    process(export)
    jax(export, 0, 12)
    jax(export, 0, 13)
    assert told(export, tmp_path) == [(None, "unknown")]


@pytest.mark.parametrize("name", ["Xla:#global=3", "Xla:#global=,local=0#", "device 0", "Xla:#local=0,global=3#"])
def test_other_device_names_are_no_ranks(name: str, tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.add("TARGET_INFO_NVTX_CUDA_DEVICE", name=name, vmId=1, deviceId=0)
    assert told(export, tmp_path) == [(None, "unknown")]


def test_mpi_counts_before_jax_and_jax_before_the_environment(tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(RANK="3")
    jax(export, 0, 2)
    assert told(export, tmp_path) == [(2, "jax")]
    (tmp_path / "rank9.sqlite").unlink()
    export.add("MPI_RANKS", globalTid=tid(A), rank=1)
    assert told(export, tmp_path) == [(1, "mpi")]


SECRETS = {
    "HF_TOKEN": "hf_Zq81secretsecret",
    "WANDB_API_KEY": "0123456789abcdefdeadbeef",
    "DB_PASSWORD": "hunter2hunter2",
    "RANK": "hunter2hunter2",
    "CUDA_VISIBLE_DEVICES": "hunter2hunter2",
    "WORLD_SIZE": "8;hunter2hunter2",
}


def test_no_setting_of_an_environment_leaves_ingest(tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(**SECRETS)
    for name in ("PROCESS_0:COMMAND", "PROCESS_0:ARGUMENT_1", "ENVIRONMENT_VARIABLE"):
        export.capture(name, "--password=hunter2hunter2")
    export.add("TARGET_INFO_SYSTEM_ENV", name="DeviceEnvironment", value="hf_Zq81secretsecret")
    export.add("PROCESSES", globalPid=gpid(A), pid=A, name="python3")
    export.add("DIAGNOSTIC_EVENT", severity=2, text="started with HF_TOKEN=hf_Zq81secretsecret in /home/ada/run")
    for value in SECRETS.values():
        export.string(value)
    path = export.write(tmp_path / "a.sqlite")
    found = read_trace(path)
    report = analyze([path])
    outputs = [
        repr((found.environment, found.capture_options, found.source, found.processes)),
        report.to_json(),
        text(report),
    ]
    for output in outputs:
        for secret in (*SECRETS.values(), "ada"):
            assert secret not in output


def test_allowed_settings_of_the_right_form_are_read(tmp_path: Path) -> None:
    export = Export()
    process(export)
    export.environment(WORLD_SIZE="8", CUDA_VISIBLE_DEVICES="0,1", CUDA_DEVICE_MAX_CONNECTIONS="1", HOME="/root")
    assert trace(export, tmp_path).environment == {
        "WORLD_SIZE": "8",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    }
