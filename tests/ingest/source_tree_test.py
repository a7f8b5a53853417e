"""The revision of a source tree, read from git's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.base.errors import OptionError
from critpath.ingest.source_tree import read_source_tree
from critpath.model.report import SourceTree

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def repository(folder: Path, head: str, **files: str) -> Path:
    git = folder / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text(head + "\n")
    for name, text in files.items():
        path = git / name.replace("__", "/").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def revision(folder: Path) -> str | None:
    found = read_source_tree(folder)
    assert found.available
    return found.revision


def test_a_detached_head_is_the_revision(tmp_path: Path) -> None:
    assert revision(repository(tmp_path, COMMIT)) == COMMIT


def test_a_branch_is_followed(tmp_path: Path) -> None:
    assert revision(repository(tmp_path, "ref: refs/heads/main", refs__heads__main=f"{COMMIT}\n")) == COMMIT


def test_a_packed_branch_is_found(tmp_path: Path) -> None:
    packed = f"# pack-refs with: peeled\n{'f' * 40} refs/heads/main2\n{COMMIT} refs/heads/main\n^{'e' * 40}\n"
    assert revision(repository(tmp_path, "ref: refs/heads/main", packed_refs=packed)) == COMMIT


def test_a_second_working_tree_has_its_own_head_and_the_firsts_branches(tmp_path: Path) -> None:
    first = repository(tmp_path / "first", "ref: refs/heads/main", refs__heads__side=COMMIT)
    own = first / ".git" / "worktrees" / "second"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/side\n")
    (own / "commondir").write_text("../..\n")
    second = tmp_path / "second"
    second.mkdir()
    (second / ".git").write_text(f"gitdir: {own}\n")
    assert revision(second) == COMMIT


@pytest.mark.parametrize("head", ["ref: refs/heads/unborn", "ref: ../../secret", "nonsense", "", "ref: HEAD"])
def test_a_head_that_leads_nowhere_tells_no_revision(head: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(COMMIT)
    assert revision(repository(tmp_path / "tree", head)) is None


def test_a_folder_inside_a_repository_has_no_revision_of_its_own(tmp_path: Path) -> None:
    inner = repository(tmp_path, COMMIT) / "venv"
    inner.mkdir()
    assert revision(inner) is None


def test_no_tree_is_unavailable() -> None:
    assert read_source_tree(None) == SourceTree(available=False)


def test_a_tree_that_isnt_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="the source tree can't be read") as told:
        read_source_tree(tmp_path / "nix")
    assert told.value.where == f"--source {tmp_path / 'nix'}"
