"""Which exports the words on a command line name."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterable
from pathlib import Path

from critpath.base.errors import InputError

__all__ = ["SUFFIXES", "find_inputs"]

SUFFIXES = (".sqlite", ".sqlite3", ".db")
"""File suffixes taken from a folder; a file named outright may have any."""

_UNEXPORTED = (".nsys-rep", ".qdrep", ".qdstrm")


def find_inputs(words: Iterable[str]) -> list[Path]:
    """The exports that files, folders and globs name, in order, each once.

    In a folder the known kinds are taken and other files ignored, by name order.

    Raises:
        InputError: a word names nothing, or a folder holds no export.
    """
    found: list[Path] = []
    for word in words:
        try:
            found.extend(_named_by(word))
        except OSError as fault:
            raise _nothing(f"it can't be opened: {fault.strerror or fault}", word) from fault
    unique: dict[Path, Path] = {}
    for path in found:
        unique.setdefault(path.resolve(), path)
    if not unique:
        raise _nothing("no input was named", "the command line")
    return list(unique.values())


def _named_by(word: str) -> list[Path]:
    # An empty word is an unset variable of a shell; as a path it would be the current folder.
    if not word:
        raise _nothing("an empty word names no input", "the command line")
    path = Path(word)
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        _refuse_unexported(path)
        return [path]
    matches = sorted(Path(name) for name in glob.glob(word))  # noqa: PTH207  (an absolute pattern has no base folder)
    if not matches:
        what = "no file matches" if glob.has_magic(word) else "there is no such file"
        raise _nothing(what, word)
    return _matched(matches, word)


def _in_folder(folder: Path) -> list[Path]:
    inside = sorted(folder.iterdir())
    exports = [p for p in inside if p.suffix in SUFFIXES and p.is_file()]
    if not exports:
        for path in inside:
            _refuse_unexported(path)
        raise _nothing("the folder holds no export", str(folder))
    return exports


def _matched(matches: list[Path], word: str) -> list[Path]:
    """What a pattern means among its matches: exports and folders of them; else whatever files there are."""
    found: list[Path] = []
    for path in matches:
        if path.is_dir():
            found.extend(p for p in sorted(path.iterdir()) if p.suffix in SUFFIXES and p.is_file())
        elif path.suffix in SUFFIXES:
            found.append(path)
    if found:
        return found
    files = [p for p in matches if p.is_file()]
    for path in files:
        _refuse_unexported(path)
    if not files:
        raise _nothing("it matches folders without exports only", word)
    return files


def _nothing(what: str, where: str) -> InputError:
    return InputError(
        what,
        where=where,
        meaning="Nothing was analysed; an empty selection says nothing about a run.",
        remedy="Name a file made with `nsys export --type sqlite report.nsys-rep`, or a folder of such files.",
    )


def _refuse_unexported(path: Path) -> None:
    if path.suffix in _UNEXPORTED:
        raise InputError(
            "this is the profiler's own report, not an export",
            where=str(path),
            meaning="Only exports have a documented schema, so nothing was analysed.",
            remedy=f"Export it first: nsys export --type sqlite {shlex.quote(str(path))}",
        )
