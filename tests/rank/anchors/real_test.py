"""Real exports: what is a step there, and what only looks like one."""

from dataclasses import replace
from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.tables import NvtxRanges
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.device import collective_period, kernel_sequence_period
from critpath.rank.units import unit_keys, unit_trace
from rank.builders import sequence_of, windows_of

REAL = Path(__file__).parents[4] / "shared" / "data" / "real"


def _units(name: str) -> list[UnitTrace]:
    path = REAL / name
    if not path.exists():
        pytest.skip(f"no {name} in ../shared/data/real")
    trace = read_trace(path)
    return [unit_trace(trace, key) for key in unit_keys(trace, 0)]


def _silent(unit: UnitTrace) -> UnitTrace:
    return replace(unit, nvtx_ranges=NvtxRanges.empty())


def test_warm_up_steps_of_a_training_run_agree_with_its_optimizer() -> None:
    (unit,) = _units("lm_train_wsl_2025.1.3.sqlite")
    windows = windows_of(unit)
    assert windows is not None
    assert (windows.kind, windows.text) == ("nvtx", "Warm-up Step #")
    assert windows.labels == ("Warm-up Step 2", "Warm-up Step 3", "Warm-up Step 4")
    assert windows.dropped[0].index == 0
    assert windows.cross_check is not None
    assert (windows.cross_check.kind, windows.cross_check.ratio) == ("optimizer", 1.0)
    assert abs(windows.cross_check.difference_pct) < 0.5


def test_optimizer_tells_the_same_step_without_ranges() -> None:
    (unit,) = _units("lm_train_wsl_2025.1.3.sqlite")
    named, silent = windows_of(unit), windows_of(_silent(unit))
    assert named is not None
    assert silent is not None
    assert silent.kind == "optimizer"
    assert silent.period_ns == pytest.approx(named.period_ns, rel=0.005)


def test_steps_of_a_numerical_loop_are_confirmed_by_its_kernels() -> None:
    (unit,) = _units("power_iteration_nvtx_2025.3.1.sqlite")
    windows = windows_of(unit)
    assert windows is not None
    assert windows.text == "Step # to #"
    assert windows.labels[0] == "Step 0 to 10"
    assert len(windows) == 43
    assert windows.cross_check is not None
    assert (windows.cross_check.kind, windows.cross_check.ratio) == ("kernel-sequence", 1.0)
    assert windows.cross_check.agrees
    assert windows_of(_silent(unit)) is None


@pytest.mark.parametrize("name", ["mfu_2gpu_before_2026.2.1.sqlite", "mfu_2gpu_after_2026.2.1.sqlite"])
def test_layers_of_a_diffusion_slice_are_no_steps(name: str) -> None:
    # 17 layers of 17 ms in 0.3 s, each with two exchanges: as regular as any training run
    for unit in _units(name):
        assert windows_of(unit) is None
        sequence = sequence_of(unit)
        for period in (collective_period(sequence), kernel_sequence_period(sequence)):
            assert period is None or not period.is_step


@pytest.mark.parametrize(
    "name",
    ["h100_2gpu_fastvideo_1s_2026.2.1.sqlite", "mpi_2proc_1gpu_2022.3.4.sqlite", "torch_tiny_2026.1.1.sqlite"],
)
def test_inference_slice_solver_and_single_calls_have_no_step(name: str) -> None:
    for unit in _units(name):
        assert windows_of(unit) is None
