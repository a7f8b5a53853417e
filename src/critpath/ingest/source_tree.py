"""The source tree of what was profiled: whether it is there, and its revision, read without running git."""

from __future__ import annotations

import re
from pathlib import Path

from critpath.base.errors import OptionError
from critpath.ingest.label import label
from critpath.model.report import SourceTree

__all__ = ["read_source_tree"]

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_LINKS = 5
"""Symbolic references of git name one another seldom, and never so often."""


def read_source_tree(folder: Path | None) -> SourceTree:
    """The source tree given by the user; an unavailable one where none was.

    Only git data of exactly this folder count: a tree inside another repository, as installed packages inside a
    project, is not at that one's revision. Uncommitted changes are not seen.

    Raises:
        OptionError: the folder isn't there or can't be read.
    """
    if folder is None:
        return SourceTree()
    try:
        next(folder.iterdir(), None)
        return SourceTree(available=True, revision=_revision(folder))
    except OSError as fault:
        raise OptionError(
            f"the source tree can't be read: {fault.strerror or fault}",
            where=f"--source {label(folder)}",
            meaning="Nothing was analysed.",
            remedy="Name the folder that holds the sources of what was profiled.",
        ) from fault


def _revision(folder: Path) -> str | None:
    git = _git_folder(folder / ".git")
    if git is None:
        return None
    # A second working tree has a HEAD of its own, and shares the branches of the first.
    common = _text(git / "commondir")
    stores = [git, git / common] if common else [git]
    told = _text(git / "HEAD")
    for _ in range(_MOST_LINKS):
        if told is None or _HASH.fullmatch(told):
            return told
        name = told.removeprefix("ref: ")
        if name == told:
            return None
        told = next((value for store in stores if (value := _reference(store, name))), None)
    return None


def _git_folder(entry: Path) -> Path | None:
    if entry.is_dir():
        return entry
    link = _text(entry) if entry.is_file() else None
    return entry.parent / link.removeprefix("gitdir: ") if link and link.startswith("gitdir: ") else None


def _reference(store: Path, name: str) -> str | None:
    # A reference is a name below its store, not a way out of it.
    if ".." in Path(name).parts or Path(name).is_absolute():
        return None
    loose = _text(store / name)
    if loose is not None:
        return loose
    for line in (_text(store / "packed-refs") or "").splitlines():
        commit, _, packed = line.partition(" ")
        if packed == name and _HASH.fullmatch(commit):
            return commit
    return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
