"""Which exports the words on a command line name."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from critpath.base.errors import InputError

__all__ = ["SUFFIXES", "find_inputs"]

SUFFIXES = (".sqlite", ".sqlite3", ".db")
"""File suffixes taken from a folder; a file named outright may have any."""


def find_inputs(words: Iterable[str]) -> list[Path]:
    """The exports that files, folders and globs name, in order, each once.

    In a folder the known kinds are taken and other files ignored, by name order.

    Raises:
        InputError: a word names nothing, or a folder holds no export.
    """
    found: list[Path] = []
    for word in words:
        found.extend(_named_by(word))
    unique: dict[Path, Path] = {}
    for path in found:
        unique.setdefault(path.resolve(), path)
    if not unique:
        raise _nothing("no input was named", "the command line")
    return list(unique.values())


def _named_by(word: str) -> list[Path]:
    path = Path(word)
    if path.is_dir():
        inside = sorted(p for p in path.iterdir() if p.suffix in SUFFIXES and p.is_file())
        if not inside:
            raise _nothing("the folder holds no export", word)
        return inside
    if path.exists():
        _refuse_unexported(path)
        return [path]
    matches = sorted(Path(name) for name in glob.glob(word))  # noqa: PTH207  (an absolute pattern has no base folder)
    files = [p for p in matches if p.is_file()]
    if not files:
        what = "no file matches" if glob.has_magic(word) else "there is no such file"
        raise _nothing(what, word)
    return files


def _nothing(what: str, where: str) -> InputError:
    return InputError(
        what,
        where=where,
        meaning="Nothing was analysed; an empty selection says nothing about a run.",
        remedy="Name a file made with `nsys export --type sqlite report.nsys-rep`, or a folder of such files.",
    )


def _refuse_unexported(path: Path) -> None:
    if path.suffix in (".nsys-rep", ".qdrep", ".qdstrm"):
        raise InputError(
            "this is the profiler's own report, not an export",
            where=str(path),
            meaning="Only exports have a documented schema, so nothing was analysed.",
            remedy=f"Export it first: nsys export --type sqlite {path}",
        )
