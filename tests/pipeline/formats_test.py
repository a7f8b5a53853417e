"""One capture as SQLite, Parquet, Arrow files and Arrow streams: the same report from each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import real_exports
from columnar import columnar
from critpath.model.report import Report
from critpath.pipeline.analyze import analyze
from critpath.sim import GENERATIONS, simulate

FORMS = ("parquet", "arrow", "stream")
KINDS = {"parquet": "parquetdir", "arrow": "arrowdir", "stream": "arrowdir"}


def told(report: Report) -> dict[str, Any]:
    """The report without what an input's form decides: its path, kind and size."""
    found: dict[str, Any] = json.loads(report.to_json())
    for given in found["inputs"]:
        del given["path"], given["kind"], given["bytes"]
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scenario", ["data_parallel", "fsdp_offload", "two_processes_one_gpu_ids", "launch_bound"])
def test_a_simulated_capture_gives_the_same_report_in_every_form(scenario: str, form: str, tmp_path: Path) -> None:
    exports = simulate(scenario, tmp_path, seed=3).exports
    folders = [columnar(path, tmp_path / f"{path.stem}_{form}", form) for path in exports]
    report = analyze(folders)
    assert told(report) == told(analyze(exports))
    assert {given.kind for given in report.inputs} == {KINDS[form]}
    assert all(given.bytes for given in report.inputs)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_so_does_a_capture_of_any_generation(generation: str, tmp_path: Path) -> None:
    path, *_ = simulate("data_parallel", tmp_path, ranks=2, generation=generation).exports
    assert told(analyze([columnar(path, tmp_path / "a_pqtdir", "parquet")])) == told(analyze([path]))


@real_exports.needs_real_exports
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", sorted(real_exports.FOLDER.glob("*.sqlite")), ids=lambda path: path.stem)
def test_a_real_capture_gives_the_same_report_in_every_form(path: Path, form: str, tmp_path: Path) -> None:
    assert told(analyze([columnar(path, tmp_path / "out", form)])) == told(analyze([path]))
