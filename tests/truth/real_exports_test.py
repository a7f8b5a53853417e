"""Figures of real exports against brute force that knows nothing of this project."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from critpath.model.report import Report, Unit, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from real_exports import FOLDER, expected_units, files_without_units, needs_real_exports

pytestmark = needs_real_exports


def _whole_span(file: str, expected: dict[str, Any]) -> tuple[Report, Unit]:
    window = f"{expected['first_ns']}:{expected['last_ns']}"
    report = analyze([FOLDER / file], Options(step=step_options(window=window)))
    unit = next(u for u in report.units if (u.pid, u.device) == (expected["pid"], expected["device"]))
    return report, unit


def _ns(milliseconds: float) -> int:
    return round(milliseconds * 1e6)


@pytest.mark.parametrize(
    ("file", "expected"), expected_units(), ids=lambda v: v if isinstance(v, str) else str(v["pid"])
)
def test_whole_span_equals_brute_force(file: str, expected: dict[str, Any]) -> None:
    report, unit = _whole_span(file, expected)
    assert unit.budget is not None
    assert unit.work_volume is not None
    assert unit.communication is not None
    assert unit.communication.nccl_only is not None
    assert unit.host_sync is not None
    h2d = [t for t in unit.transfers if t.direction == "H2D"]
    found = {
        "device_busy_ns": _ns(unit.budget.device_busy.mean_ms),
        "device_idle_ns": _ns(unit.budget.device_idle.mean_ms),
        "compute_union_ns": _ns(unit.budget.compute_busy.mean_ms),
        "kernel_sum_ns": _ns(unit.work_volume.kernel_sum_ms),
        "kernel_union_ns": _ns(unit.work_volume.kernel_union_ms),
        "kernels": unit.work_volume.kernels,
        "launch_linked_kernels": unit.work_volume.linked_kernels,
        "nccl_union_ns": _ns(unit.communication.nccl_only.union_ms),
        "nccl_exposed_ns": _ns(unit.communication.nccl_only.exposed_ms),
        "h2d_count": sum(t.count for t in h2d),
        "h2d_bytes": sum(t.bytes for t in h2d),
        "h2d_union_ns": _ns(sum(t.union_ms for t in h2d)),
        "copies": sum(t.count for t in unit.transfers),
        "pageable_copies": sum(t.count for t in unit.transfers if "pageable" in (t.src, t.dst)),
        "pinned_copies": sum(t.count for t in unit.transfers if "pinned" in (t.src, t.dst)),
        "host_sync_ns": _ns(unit.host_sync.host_ms),
        "host_sync_while_idle_ns": _ns(unit.host_sync.while_device_idle_ms),
    }
    assert found == {name: expected[name] for name in found}
    assert violations(report) == []
    assert unexplained_nulls(report) == []


@pytest.mark.parametrize("file", sorted({file for file, _ in expected_units()}))
def test_units_are_those_of_brute_force(file: str) -> None:
    report = analyze([FOLDER / file])
    expected = [(unit["pid"], unit["device"]) for name, unit in expected_units() if name == file]
    assert [(u.pid, u.device) for u in report.units] == expected
    assert violations(report) == []
    assert unexplained_nulls(report) == []


@pytest.mark.parametrize("file", files_without_units())
def test_export_without_device_rows_says_so(file: str) -> None:
    report = analyze([FOLDER / file])
    assert report.units == []
    assert report.verdict.dominant.bucket == "inconclusive"
    assert report.verdict.headline.startswith("Nothing can be said of a step")
    assert unexplained_nulls(report) == []


def test_bus_location_and_uuid_of_a_gpu_shared_by_two_processes() -> None:
    report = analyze([FOLDER / "mpi_2proc_1gpu_2022.3.4.sqlite"])
    first, second = report.units
    assert first.physical_gpu is not None
    assert second.physical_gpu is not None
    assert first.physical_gpu.uuid == second.physical_gpu.uuid == "82adc02e-b125-1414-1e17-32f87758a605"
    assert first.physical_gpu.shared_with == [second.id]
    assert first.physical_gpu.device_busy is not None
    assert first.budget is not None
    assert first.physical_gpu.device_busy.mean_ms > first.budget.device_busy.mean_ms


def test_inputs_stay_as_they_were() -> None:
    before = {p.name: _digest(p) for p in sorted(FOLDER.iterdir())}
    for path in sorted(FOLDER.glob("*.sqlite")):
        analyze([path])
    assert {p.name: _digest(p) for p in sorted(FOLDER.iterdir())} == before


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
