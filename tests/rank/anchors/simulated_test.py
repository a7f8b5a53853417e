"""Simulated captures with their NVTX ranges removed: the period is the truth's, or nothing is called a step."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from critpath.base.intervals import I64
from critpath.ingest.trace import read_trace
from critpath.model.identity import pid_of
from critpath.model.tables import NvtxRanges
from critpath.model.trace import UnitTrace
from critpath.rank.units import unit_keys, unit_trace
from critpath.rank.windows import Windows
from critpath.sim import simulate
from rank.builders import windows_of

TRAINING = ["data_parallel", "fsdp_offload", "launch_bound", "tensor_parallel", "two_processes_one_gpu_ids"]
"""Scenarios whose kernels show a backward pass or an update of parameters."""
OTHERS = ["boundary_flush", "busy_stream", "dataloader", "host_sync", "overlapping_streams"]


def _units(scenario: str, out: Path) -> list[tuple[UnitTrace, I64]]:
    """Units of the simulated job's reports with the true starts of their steps [ns]."""
    simulation = simulate(scenario, out, seed=1)
    found = []
    for path in simulation.exports:
        trace = read_trace(path)
        for key in unit_keys(trace, 0):
            truth = next(
                unit
                for unit in simulation.truth["units"]
                if (unit["file"], unit["pid"], unit["device"]) == (path.name, pid_of(key.process), key.device)
            )
            true_starts = [w["start_ns"] for w in truth["windows"]["range"]]
            found.append((unit_trace(trace, key), np.array(true_starts, np.int64)))
    return found


def _is_true(windows: Windows, starts_ns: I64) -> bool:
    """Whether each window holds the start of one step, and their median is that of the steps up to jitter."""
    held = np.searchsorted(starts_ns, windows.ends_ns) - np.searchsorted(starts_ns, windows.starts_ns)
    return bool((held == 1).all()) and abs(windows.period_ns / float(np.median(np.diff(starts_ns))) - 1) <= 0.02


@pytest.mark.parametrize("scenario", TRAINING)
def test_period_without_nvtx_is_the_truth(scenario: str, tmp_path: Path) -> None:
    for unit, starts_ns in _units(scenario, tmp_path):
        windows = windows_of(replace(unit, nvtx_ranges=NvtxRanges.empty()))
        assert windows is not None
        assert _is_true(windows, starts_ns)
        assert windows.cross_check is None or windows.cross_check.agrees


@pytest.mark.parametrize("scenario", OTHERS)
def test_what_shows_no_training_is_no_step_without_nvtx(scenario: str, tmp_path: Path) -> None:
    for unit, starts_ns in _units(scenario, tmp_path):
        windows = windows_of(replace(unit, nvtx_ranges=NvtxRanges.empty()))
        assert windows is None or _is_true(windows, starts_ns)


@pytest.mark.parametrize("scenario", [*TRAINING, *OTHERS])
def test_second_anchor_does_not_object_to_true_ranges(scenario: str, tmp_path: Path) -> None:
    for unit, starts_ns in _units(scenario, tmp_path):
        windows = windows_of(unit)
        assert windows is not None
        assert windows.kind == "nvtx"
        assert windows.starts_ns.tolist() == starts_ns[windows.index].tolist()
        assert not windows.is_material_disagreement
