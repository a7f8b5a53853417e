"""`critpath analyze`: its options about inputs, ranks and the job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from columnar import columnar
from critpath.adapters.cli import run
from exports import Export


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(2):
        made = Export()
        made.launched(1_000_000, 2_000_000, corr=1, pid=100 + i)
        made.write(tmp_path / f"node{i}.sqlite")
    (tmp_path / "job.toml").write_text(
        "[job]\nranks = 4\n[[report]]\npath = 'node1.sqlite'\nrank = 3\npart = 'last'\n"
        "[[report]]\npath = 'node0.sqlite'\nrank = 0\n"
    )
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *words: Path | str) -> dict[str, Any]:
    assert run(["analyze", *map(str, words), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ranks(found: dict[str, Any]) -> list[tuple[int | None, str]]:
    return [(unit["rank"], unit["rank_source"]) for unit in found["units"]]


def test_a_manifest_alone_names_the_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "--manifest", folder / "job.toml")
    assert ranks(found) == [(3, "manifest"), (0, "manifest")]
    assert found["capture"]["ranks_declared"] == 4


def test_a_manifest_annotates_named_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, folder / "node0.sqlite", "--manifest", folder / "job.toml")
    assert ranks(found) == [(0, "manifest")]


def test_a_rank_expression_reads_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ranks(report(capsys, folder, "--rank-regex", r"node(\d)")) == [(0, "rank-regex"), (1, "rank-regex")]


def test_a_source_tree_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("a" * 40)
    found = report(capsys, folder, "--source", folder)
    assert found["capture"]["source"] == {"available": True, "revision": "a" * 40, "matches_profiled": None}


def test_quoted_patterns_and_folders_of_tables_are_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columnar(folder / "node0.sqlite", folder / "other_pqtdir", "parquet")
    columnar(folder / "node1.sqlite", folder / "other_arwdir", "arrow")
    found = report(capsys, folder / "node*.sqlite", folder / "other_arwdir", folder / "other_pqtdir")
    assert [given["kind"] for given in found["inputs"]] == ["sqlite", "sqlite", "arrowdir", "parquetdir"]


REFUSED = [
    ([], "no input was named"),
    (["--manifest", "nix.toml"], "the file can't be read"),
    (["FOLDER", "--rank-regex", r"\d"], "has no groups"),
    (["FOLDER", "--rank-regex", r"x(\d)"], "matches no input's name"),
    (["FOLDER", "--source", "nix"], "the source tree can't be read"),
    (["FOLDER", "--scope", "rang"], "Did you mean"),
]


@pytest.mark.parametrize(("words", "what"), REFUSED, ids=[str(words) for words, _ in REFUSED])
def test_options_that_cant_be_meant_are_refused(
    words: list[str], what: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", *(str(folder) if word == "FOLDER" else word for word in words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err


def test_the_command_line_wins_over_the_manifests_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "job.toml").write_text("[step]\nwindow = [0, 3000000]\nscope = 'range'\n")
    found = report(capsys, folder, "--manifest", folder / "job.toml")
    assert found["units"][0]["window"]["anchor"]["text"] == "0:3000000"
    found = report(capsys, folder, "--manifest", folder / "job.toml", "--window", "1000000:2000000")
    assert found["units"][0]["window"]["anchor"]["text"] == "1000000:2000000"
