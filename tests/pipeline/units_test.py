"""Which units a report has, who shares a GPU, and what a broken input or a contradiction does to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.base.errors import InputError
from critpath.model.report import Report, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.mapping import MapSettings, Progress
from critpath.pipeline.options import Options
from exports import PID, Export

MS = 1_000_000


def report_of(*exports: Export, folder: Path, options: Options | None = None) -> Report:
    paths = [export.write(folder / f"{i}.sqlite") for i, export in enumerate(exports)]
    report = analyze(paths, options)
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    return report


def one(*, pid: int = PID, device: int = 0, start: int = 0, rank: int | None = None) -> Export:
    export = Export()
    export.launched((start + 1) * MS, (start + 2) * MS, corr=1, pid=pid, deviceId=device)
    if rank is not None:
        export.environment(RANK=str(rank))
    return export


def broken(folder: Path) -> Path:
    path = folder / "broken.sqlite"
    path.write_bytes(b"")
    return path


def test_a_broken_input_is_a_row_and_the_others_are_analysed(tmp_path: Path) -> None:
    good = one().write(tmp_path / "good.sqlite")
    report = analyze([broken(tmp_path), good])
    assert [i.status for i in report.inputs] == ["failed", "ok"]
    assert "the file is empty" in (report.inputs[0].error or "")
    assert [(u.id, u.input) for u in report.units] == [("u0", 1)]
    assert violations(report) == []
    assert unexplained_nulls(report) == []


def test_strict_refuses_a_broken_input(tmp_path: Path) -> None:
    good = one().write(tmp_path / "good.sqlite")
    with pytest.raises(InputError, match="the file is empty"):
        analyze([good, broken(tmp_path)], Options(strict=True))


def test_only_broken_inputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file is empty"):
        analyze([broken(tmp_path)])


def test_progress_is_told_after_each_input(tmp_path: Path) -> None:
    told: list[Progress] = []
    analyze([broken(tmp_path), one().write(tmp_path / "a.sqlite")], how=MapSettings(progress=told.append))
    assert told == [Progress(1, 1, 2), Progress(2, 1, 2)]
    assert told[0].left == 1


def test_two_units_of_one_rank_are_not_believed_and_the_reason_is_told(tmp_path: Path) -> None:
    report = report_of(one(rank=3), one(rank=3), one(rank=4), folder=tmp_path)
    assert [(u.rank, u.rank_source) for u in report.units] == [(None, "unknown"), (None, "unknown"), (4, "environment")]
    reasons = {e.path: e.reason for e in report.unavailable if e.path.endswith(".rank")}
    assert reasons == {
        "units[0].rank": "environment states rank 3, which u1 states too; neither is believed",
        "units[1].rank": "environment states rank 3, which u0 states too; neither is believed",
    }


def test_eight_processes_with_one_device_each_are_eight_units(tmp_path: Path) -> None:
    export = Export()
    for i in range(8):
        # every process sees one GPU and calls it 0; correlation ids, streams and contexts collide
        export.launched((i + 1) * MS, (i + 3) * MS, corr=1, pid=100 + i)
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=7 - i, cudaId=0, pid=100 + i, uuid=f"a{i}")
        export.add("TARGET_INFO_GPU", id=i, cuDevice=i, smCount=132, uuid=f"a{7 - i}", name="H100", busLocation=f"{i}")
    report = report_of(export, folder=tmp_path)
    assert [(u.pid, u.device) for u in report.units] == [(100 + i, 0) for i in range(8)]
    assert [u.physical_gpu.uuid for u in report.units if u.physical_gpu] == [f"a{i}" for i in range(8)]
    assert all(u.physical_gpu and not u.physical_gpu.shared_with for u in report.units)
    assert [u.work_volume.kernels for u in report.units if u.work_volume] == [1] * 8


def test_one_process_with_eight_devices_is_eight_units(tmp_path: Path) -> None:
    export = Export()
    for i in range(8):
        export.launched((i + 1) * MS, (i + 3) * MS, corr=i + 1, deviceId=i, contextId=i + 1)
    report = report_of(export, folder=tmp_path)
    assert [(u.pid, u.device) for u in report.units] == [(PID, i) for i in range(8)]
    assert [u.budget.device_busy.mean_ms for u in report.units if u.budget] == [2.0] * 8


def test_devices_of_one_process_never_share_the_only_gpu_listed(tmp_path: Path) -> None:
    export = Export()
    for i in range(2):
        export.launched((i + 1) * MS, (i + 3) * MS, corr=i + 1, deviceId=i, contextId=i + 1)
    export.add("TARGET_INFO_GPU", id=0, cuDevice=0, smCount=132, uuid="a0", name="H100")
    report = report_of(export, folder=tmp_path)
    assert [u.physical_gpu.shared_with for u in report.units if u.physical_gpu] == [[], []]
    assert [u.gpu for u in report.units] == ["H100", "H100"]


def shared() -> Export:
    """
    A   [1, 3)     one GPU, in ms
    B       [2, 5)
    """
    export = Export("2022.1")
    export.launched(1 * MS, 3 * MS, corr=1, pid=100)
    export.launched(2 * MS, 5 * MS, corr=1, pid=101)
    export.add("TARGET_INFO_GPU", id=0, cuDevice=0, smCount=108, uuid="a0", name="A100")
    return export


def test_processes_on_one_gpu_get_the_devices_union_beside_their_own(tmp_path: Path) -> None:
    report = report_of(shared(), folder=tmp_path, options=None)
    a, b = report.units
    assert a.physical_gpu is not None
    assert b.physical_gpu is not None
    assert (a.physical_gpu.shared_with, b.physical_gpu.shared_with) == (["u1"], ["u0"])
    assert a.budget is not None
    assert a.budget.device_busy.mean_ms == 2.0
    assert a.physical_gpu.device_busy is not None
    assert a.physical_gpu.device_busy.mean_ms == 2.0
    assert b.physical_gpu.device_busy is not None
    assert b.physical_gpu.device_busy.mean_ms == 3.0


def test_mig_instances_of_one_bus_are_not_shared(tmp_path: Path) -> None:
    export = shared()
    export.version = (2026, 2)
    for pid in (100, 101):
        export.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=pid, uuid=f"MIG-{pid}")
    report = report_of(export, folder=tmp_path)
    assert [u.physical_gpu.shared_with for u in report.units if u.physical_gpu] == [[], []]


def test_processes_without_device_rows_are_told(tmp_path: Path) -> None:
    export = one(pid=100)
    for pid in range(101, 108):
        export.call(0, 10, corr=1, pid=pid)
    report = report_of(export, folder=tmp_path)
    assert len(report.units) == 1
    assert sum(p.device_rows == 0 and p.api_rows == 1 for p in report.capture.processes) == 7


def test_launches_without_any_device_row_are_no_idle_device(tmp_path: Path) -> None:
    export = Export()
    for i in range(1_234):
        export.call(i, i + 1, corr=i + 1)
    report = report_of(export, folder=tmp_path)
    assert report.units == []
    assert report.verdict.dominant.bucket == "inconclusive"
    assert "1,234 CUDA API calls were captured and not one device op" in report.verdict.headline


def test_a_capture_without_cuda_says_so(tmp_path: Path) -> None:
    export = Export()
    export.nvtx(0, 10, "step")
    report = report_of(export, folder=tmp_path)
    assert "CUDA was not traced, or not used" in report.verdict.headline


def test_a_process_unknown_is_told_as_one(tmp_path: Path) -> None:
    export = one()
    export.kernel(5 * MS, 6 * MS, globalPid=None)
    report = report_of(export, folder=tmp_path)
    assert [u.pid for u in report.units] == [0, PID]
    assert any("1 device ops name no process" in w.text for w in report.capture.warnings)


def test_a_device_unknown_makes_no_unit_and_is_told(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.launched(MS, 2 * MS, corr=1)
    export.kernel(2 * MS, 3 * MS, deviceId=None)
    report = report_of(export, folder=tmp_path)
    assert [u.device for u in report.units] == [0]
    assert any("kernels: 1 records name no device" in w.text for w in report.capture.warnings)


def test_a_synchronization_counts_on_the_device_of_its_context(tmp_path: Path) -> None:
    export = Export()
    for device in (0, 1):
        export.launched(1 * MS, 10 * MS, corr=device + 1, deviceId=device, contextId=device + 1)
    # the export says device 0, as it does for every row
    export.sync(2 * MS, 5 * MS, stream=7, contextId=2, deviceId=0)
    report = report_of(export, folder=tmp_path)
    assert [u.host_sync.host_ms for u in report.units if u.host_sync] == [0.0, 3.0]


def test_profilers_messages_are_told_without_secrets(tmp_path: Path) -> None:
    export = one()
    export.add("DIAGNOSTIC_EVENT", severity=2, source=3, text="lost events of /home/ada/run, TOKEN=abc")
    (warning,) = report_of(export, folder=tmp_path).capture.warnings
    assert (warning.severity, warning.source) == ("warning", "Analysis")
    assert "lost events" in warning.text
    assert "ada" not in warning.text
    assert "abc" not in warning.text


def test_mistyped_values_are_told(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.launched(MS, 2 * MS, corr=1)
    export.kernel(2.5 * MS, 3 * MS)
    report = report_of(export, folder=tmp_path)
    assert any("CUPTI_ACTIVITY_KIND_KERNEL.start: 1 values are no integers" in w.text for w in report.capture.warnings)
    assert [u.set_aside.outside for u in report.units if u.set_aside] == [1]


def test_copies_of_unknown_size_have_no_part_in_a_rate(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.copy(1_000, 2_000, bytes=8_000)
    export.copy(2_000, 9_000, bytes=None)
    report = report_of(export, folder=tmp_path)
    (row,) = report.units[0].transfers
    assert (row.count, row.bytes, row.achieved_GBps) == (2, 8_000, 8.0)
    assert any("1 copies or memsets tell no usable size" in w.text for w in report.capture.warnings)


def test_no_size_at_all_gives_no_rate(tmp_path: Path) -> None:
    export = Export(loose=True)
    export.copy(1_000, 2_000, bytes=None, streamId=None)
    (row,) = report_of(export, folder=tmp_path).units[0].transfers
    assert (row.achieved_GBps, row.stream) == (None, None)
