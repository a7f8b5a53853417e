"""Windows and budgets of simulated captures against what the execution knows, to the nanosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.identity import pid_of
from critpath.model.report import unexplained_nulls, violations
from critpath.model.taxonomy import Taxonomy
from critpath.pipeline.analyze import analyze
from critpath.rank.set_aside import without_damage
from critpath.rank.summary import RankSummary, StepOptions, summarise
from critpath.rank.units import unit_keys, unit_trace
from critpath.sim import GENERATIONS, scenario_names, simulate
from critpath.sim.scenarios import scenario_named

_SEEDS = (1, 2, 3)

FAITHFUL = [name for name in scenario_names() if scenario_named(name).faithful]
"""Scenarios whose export shows the execution as it was; of the others, rows were lost or damaged on purpose."""


def _summaries(exports: tuple[Path, ...], options: StepOptions) -> dict[tuple[str, int, int], RankSummary]:
    found = {}
    for path in exports:
        trace, _ = without_damage(read_trace(path))
        for key in unit_keys(trace, 0):
            summary = summarise(unit_trace(trace, key), Taxonomy.bundled(), options)
            assert summary is not None, (path.name, key)
            found[path.name, pid_of(key.process), key.device] = summary
    return found


def _assert_equals_truth(summary: RankSummary, truth: dict[str, Any], scope: str) -> None:
    windows = {w["step"]: w for w in truth["windows"][scope]}
    assert summary.windows.kind == "nvtx", summary.windows.text
    assert len(summary.windows) >= 1
    for i, step in enumerate(summary.windows.index.tolist()):
        true = windows[step]
        b = summary.budget
        found = {
            "start_ns": int(summary.windows.starts_ns[i]),
            "end_ns": int(summary.windows.ends_ns[i]),
            "iteration_ns": int(b.iteration_ns[i]),
            "device_busy_ns": int(b.device_busy_ns[i]),
            "device_idle_ns": int(b.device_idle_ns[i]),
            "noncomm_busy_ns": int(b.noncomm_busy_ns[i]),
            "comm_busy_ns": int(b.comm_busy_ns[i]),
            "compute_busy_ns": int(b.compute_busy_ns[i]),
            "compute_absent_ns": int(b.compute_absent_ns[i]),
            "exposed_comm_ns": int(b.exposed_ns[i]),
            "host_sync_while_idle_ns": int(summary.host_sync.while_device_idle_ns[i]),
        }
        assert found == {"start_ns": true["start_ns"], "end_ns": true["end_ns"], **true["budget"]}, (step, scope)


@pytest.mark.parametrize("scope", ["period", "range"])
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("scenario", FAITHFUL)
def test_windows_and_budgets_equal_the_truth(scenario: str, generation: str, scope: str, tmp_path: Path) -> None:
    simulation = simulate(scenario, tmp_path, generation=generation)
    found = _summaries(simulation.exports, StepOptions(scope=scope))
    assert len(found) == len(simulation.truth["units"])
    for truth in simulation.truth["units"]:
        _assert_equals_truth(found[truth["file"], truth["pid"], truth["device"]], truth, scope)


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("scenario", FAITHFUL)
def test_other_seeds_equal_their_truth(scenario: str, seed: int, tmp_path: Path) -> None:
    simulation = simulate(scenario, tmp_path, seed=seed)
    found = _summaries(simulation.exports, StepOptions())
    for truth in simulation.truth["units"]:
        _assert_equals_truth(found[truth["file"], truth["pid"], truth["device"]], truth, "period")


@pytest.mark.parametrize("scenario", scenario_names())
def test_report_agrees_with_itself_and_explains_its_nulls(scenario: str, tmp_path: Path) -> None:
    report = analyze(simulate(scenario, tmp_path).exports)
    assert violations(report) == []
    assert unexplained_nulls(report) == []
