"""What is recorded beside calls and device work: GPU metrics and the trainer's log."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import simulate, write_job
from critpath.sim.instructions import CopyDirection, Kernel, KernelLaunch
from critpath.sim.recording import Recording, TrainerLog
from critpath.sim.trainerlog import log_record, log_text
from sim.tiny import A, B, collective, copy, job_of, process, thread


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


GEMM = Kernel("nvjet_tst_192x192", "nvjet_tst_192x192", "nvjet_tst_192x192")


def sampled(path: Path, metric: str) -> list[tuple[int, int]]:
    return select(
        path,
        f"""SELECT timestamp, value FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)
            WHERE metricName = '{metric} [Throughput %]' ORDER BY timestamp""",
    )


def test_a_sample_is_what_the_device_did_since_the_one_before(tmp_path: Path) -> None:
    # intervals of 100, the first ends at 0
    # A  [gemm: 10 ................ 160]          90 of the first interval, 60 of the second
    # B      [copy in: 60-110]
    job = job_of(process(thread(KernelLaunch(A, GEMM, 150, 50, 10), copy(B, CopyDirection.HOST_TO_DEVICE, 50))))
    path = write_job(replace(job, recording=Recording(metrics_period_ns=100)), tmp_path).exports[0]
    assert sampled(path, "SMs Active") == [(100, 88), (200, 59)]
    assert sampled(path, "Tensor Active") == [(100, 64), (200, 43)]
    assert sampled(path, "PCIe RX Throughput") == [(100, 32), (200, 8)]


def test_a_waiting_collective_is_active_and_issues_nothing(tmp_path: Path) -> None:
    # rank 0 waits from 10 until 1000; then both move data until 1500
    early = process(thread(collective(A, 2, 500)))
    late = process(thread(KernelLaunch(A, GEMM, 990, 1, 10), collective(A, 2, 500)), rank=1, pid=101)
    job = replace(job_of(early, late), recording=Recording(metrics_period_ns=100))
    path = write_job(job, tmp_path).exports[0]
    assert sampled(path, "SMs Active")[5] == (600, 100)
    assert sampled(path, "SM Issue")[5] == (600, 2)
    assert sampled(path, "NVLink RX Responses User Data")[5] == (600, 0)
    assert sampled(path, "NVLink RX Responses User Data")[12] == (1_300, 74)
    assert sampled(path, "NVLink RX Requests User Data")[12] == (1_300, 7)


@pytest.mark.parametrize(
    ("generation", "name", "raw"), [("2022.1", "SM Active", False), ("2025.3", "SMs Active", True)]
)
def test_metric_names_depend_on_the_version_and_ids_on_the_report(
    tmp_path: Path, generation: str, name: str, raw: bool
) -> None:
    exports = simulate("gpu_metrics", tmp_path, generation=generation, steps=2).exports
    query = f"SELECT metricId FROM TARGET_INFO_GPU_METRICS WHERE metricName = '{name} [Throughput %]'"
    first, second = (select(path, query) for path in exports)
    assert len(first) == len(second) == 1
    assert first != second
    columns = {column for _, column, *_ in select(exports[0], "PRAGMA table_info(GPU_METRICS)")}
    assert ("rawTimestamp" in columns) is raw


def test_a_metric_of_several_units_is_several_metrics(tmp_path: Path) -> None:
    path = simulate("gpu_metrics", tmp_path, steps=2).exports[0]
    rows = select(
        path, "SELECT DISTINCT metricId FROM TARGET_INFO_GPU_METRICS WHERE metricName LIKE 'Compute Warps in Flight%'"
    )
    assert len(rows) == 3


def test_without_permission_there_are_no_samples_and_a_message(tmp_path: Path) -> None:
    path = simulate("gpu_metrics", tmp_path, steps=2, denied=True).exports[0]
    assert not select(path, "SELECT 1 FROM sqlite_master WHERE name LIKE '%GPU_METRICS'")
    assert len(select(path, "SELECT 1 FROM DIAGNOSTIC_EVENT WHERE text LIKE '%ERR_NVGPUCTRPERM%'")) == 1


def test_the_log_s_profiled_steps_are_longer_by_the_slowdown() -> None:
    log = TrainerLog(before=3, after=2, slowdown=1.25, first_iteration=10)
    record = log_record(log, [50_000_000, 50_000_000])
    assert record["iterations"] == [7, 8, 9, 10, 11, 12, 13]
    assert record["profiled_iterations"] == [10, 11]
    assert record["unprofiled_median_ns"] == pytest.approx(40_000_000, rel=0.01)
    times = re.findall(r"iteration +(\d+)/ +13 .*?\(ms\): ([\d.]+)", log_text(log, [50_000_000, 50_000_000]))
    assert [int(iteration) for iteration, _ in times] == record["iterations"]
    assert dict(times)["10"] == "50.0000"
    assert float(dict(times)["7"]) == pytest.approx(40, rel=0.02)


def test_the_log_and_the_truth_agree_with_the_capture(tmp_path: Path) -> None:
    simulation = simulate("perturbed_capture", tmp_path, slowdown=1.2, unit="s")
    truth = simulation.truth
    profiled = [
        time_ns
        for iteration, time_ns in zip(truth["log"]["iterations"], truth["log"]["step_times_ns"], strict=True)
        if iteration in truth["log"]["profiled_iterations"]
    ]
    assert profiled[:-1] == truth["job"]["step_times_ns"]
    text = (tmp_path / truth["log"]["file"]).read_text(encoding="utf-8")
    assert f"per iteration (s): {profiled[0] / 1e9:.4f}" in text
    overheads = select(simulation.exports[0], 'SELECT sum("end" - start) FROM PROFILER_OVERHEAD')[0][0]
    assert overheads < 0.1 * sum(profiled) * (1 - 1 / 1.2)
