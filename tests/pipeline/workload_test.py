"""What the manifest declares of the job, in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from critpath.ingest.manifest import read_manifest
from critpath.model.report import Report, SourceTree
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from exports import Export

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def stepping(path: Path) -> Path:
    """Six steps of 1 ms in which 0.4 ms are computed, under ranges of two names."""
    made = Export()
    made.environment(RANK="0", WORLD_SIZE="64")
    for i in range(6):
        start = 1_000_000 * (i + 1)
        made.nvtx(start, start + 900_000, f"train {i}")
        made.nvtx(start + 1_000, start + 800_000, f"inner {i}")
        made.launched(start + 100_000, start + 500_000, corr=i + 1, lag=50_000)
    return made.write(path)


def declared(folder: Path, text: str, **options: Any) -> Report:
    path = stepping(folder / "a.sqlite")
    (folder / "job.toml").write_text(text)
    return analyze([path], Options(manifest=read_manifest(folder / "job.toml"), **options))


def test_the_workload_is_the_manifests(tmp_path: Path) -> None:
    text = """
    [model]
    precision = "fp8"
    global_batch = 8
    micro_batch = 2
    seq_length = 4096
    [parallel]
    tp = 2
    pp = 3
    vpp = 4
    cp = 5
    ep = 6
    etp = 7
    dp = 8
    [run]
    framework_revisions = {core = "abc"}
    container = "image"
    """
    found = declared(tmp_path, text).workload.model_dump()
    del found["step_definition"]
    assert found == {
        "model": None,
        "task": None,
        "precision": "fp8",
        "seq_length": 4096,
        "micro_batch": 2,
        "global_batch": 8,
        "framework_revisions": {"core": "abc"},
        "container": "image",
        "tp": 2,
        "pp": 3,
        "vpp": 4,
        "cp": 5,
        "ep": 6,
        "etp": 7,
        "dp": 8,
    }


@pytest.mark.parametrize(("text", "ranks"), [("[job]\nranks = 16", 16), ("", 64)])
def test_the_jobs_ranks_are_the_manifests_else_the_environments(text: str, ranks: int, tmp_path: Path) -> None:
    assert declared(tmp_path, text).capture.ranks_declared == ranks


def anchor(report: Report) -> tuple[str, str, str]:
    window = report.units[0].window
    assert window is not None
    return window.anchor.kind, window.anchor.text, window.scope


def test_the_step_is_the_manifests(tmp_path: Path) -> None:
    report = declared(tmp_path, "[step]\nnvtx = 'inner .*'\nscope = 'range'")
    assert anchor(report) == ("nvtx", "inner .*", "range")


def test_a_window_of_the_manifest_is_the_step(tmp_path: Path) -> None:
    assert anchor(declared(tmp_path, "[step]\nwindow = [1000000, 3000000]"))[:2] == ("explicit", "1000000:3000000")


@pytest.mark.parametrize(
    ("given", "pattern", "span", "scope"),
    [
        ({}, "inner .*", None, "range"),
        ({"step": "train .*"}, "train .*", None, "range"),
        ({"scope": "period"}, "inner .*", None, "period"),
        ({"window": "1:2"}, None, (1, 2), "range"),
    ],
)
def test_the_command_line_wins_over_the_manifest(
    given: dict[str, str], pattern: str | None, span: tuple[int, int] | None, scope: str, tmp_path: Path
) -> None:
    (tmp_path / "job.toml").write_text("[step]\nnvtx = 'inner .*'\nscope = 'range'")
    found = step_options(**given, declared=read_manifest(tmp_path / "job.toml").step)
    assert (found.step.pattern if found.step else None, found.span_ns, found.scope) == (pattern, span, scope)


@pytest.mark.parametrize(
    ("revision", "declared_as", "matches"),
    [
        (COMMIT, COMMIT, True),
        (COMMIT, COMMIT[:8].upper(), True),
        (COMMIT, "f" * 40, False),
        (COMMIT, "v2.9.0", None),
        (COMMIT, None, None),
        (None, COMMIT, None),
    ],
)
def test_a_tree_matches_when_its_commit_is_a_declared_one(
    revision: str | None, declared_as: str | None, matches: bool | None, tmp_path: Path
) -> None:
    text = f"[run]\nframework_revisions = {{core = '{declared_as}'}}" if declared_as else ""
    found = declared(tmp_path, text, source=SourceTree(available=True, revision=revision)).capture.source
    assert (found.available, found.revision, found.matches_profiled) == (True, revision, matches)


def test_without_a_tree_there_is_none(tmp_path: Path) -> None:
    assert declared(tmp_path, f"[run]\nframework_revisions = {{a = '{COMMIT}'}}").capture.source == SourceTree()
