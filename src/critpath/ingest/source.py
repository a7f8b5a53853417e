"""Which inputs the words on a command line name, and of which kind each is."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from critpath.base.errors import InputError
from critpath.ingest.label import identity, label
from critpath.model.report.words import InputKind

__all__ = ["SENTINEL_TABLES", "SUFFIXES", "InputFile", "find_inputs", "input_file", "known_input"]

SUFFIXES = (".sqlite", ".sqlite3", ".db")
"""Suffixes of SQLite files taken from a folder; a file named outright may have any."""

SENTINEL_TABLES = ("StringIds", "META_DATA_EXPORT")
"""A folder that holds one of these as a columnar file is an export, whatever its name ends in."""

_REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
_UNFINISHED_SUFFIX = ".qdstrm"
_SQLITE_MAGIC = b"SQLite format 3\x00"
_COLUMNAR: dict[InputKind, str] = {"parquetdir": ".parquet", "arrowdir": ".arrow"}
_FOLDER_SUFFIX = re.compile(r"(_pqtdir|_arwdir|\.parquetdir|\.arrowdir|_parquetdir|_arrowdir)$")
_PREFERENCE: tuple[InputKind, ...] = ("sqlite", "parquetdir", "arrowdir", "nsys-rep")


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input: a file, or a folder of one file a table.

    Attributes:
        path: as the user named it.
        kind: what it is, by its content; what is of no known kind counts as sqlite, whose reader says what is wrong.
    """

    path: Path
    kind: InputKind


def find_inputs(words: Iterable[str]) -> list[InputFile]:
    """The inputs that files, folders and globs name, in order, each once.

    In a folder the known kinds are taken and other files ignored, by name order. Of several forms of one capture
    beside each other, as `a.nsys-rep`, `a.sqlite` and `a_pqtdir`, one is taken: an export before the report.

    Raises:
        InputError: a word names nothing, or a folder holds no input.
    """
    found: list[InputFile] = []
    for word in words:
        try:
            found.extend(_named_by(word))
        except OSError as fault:
            raise _nothing(f"it can't be opened: {fault.strerror or fault}", word) from fault
    unique: dict[Path, InputFile] = {}
    for given in found:
        unique.setdefault(identity(given.path), given)
    if not unique:
        raise _nothing("no input was named", "the command line")
    return list(unique.values())


def input_file(path: Path) -> InputFile:
    """The input of exactly this path, which need not exist; whoever reads it says what is wrong with it."""
    try:
        return InputFile(path, _kind(path) or "sqlite")
    except OSError:
        return InputFile(path, "sqlite")


def known_input(path: Path) -> InputFile | None:
    """The input of exactly this path; None for a folder without tables of its own, and for what isn't there.

    Raises:
        OSError: a folder can't be looked into.
    """
    if not path.exists():
        return None
    kind = _kind(path) or (None if path.is_dir() else "sqlite")
    return InputFile(path, kind) if kind else None


def _kind(path: Path) -> InputKind | None:
    """What a path is by its content, and by its name only for the profiler's own report; None where it is no input."""
    if path.is_dir():
        for kind, suffix in _COLUMNAR.items():
            if any((path / f"{table}{suffix}").is_file() for table in SENTINEL_TABLES):
                return kind
        return None
    if path.suffix in _REPORT_SUFFIXES and not _is_sqlite(path):
        return "nsys-rep"
    return "sqlite" if path.suffix in SUFFIXES else None


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def _named_by(word: str) -> list[InputFile]:
    # An empty word is an unset variable of a shell; as a path it would be the current folder.
    if not word:
        raise _nothing("an empty word names no input", "the command line")
    path = Path(word)
    if path.is_dir():
        return [input_file(path)] if _kind(path) else _in_folder(path)
    if path.exists():
        _refuse_unfinished(path)
        return [input_file(path)]
    matches = sorted(Path(name) for name in glob.glob(word))  # noqa: PTH207  (an absolute pattern has no base folder)
    if not matches:
        what = "no file matches" if glob.has_magic(word) else "there is no such file"
        raise _nothing(what, word)
    return _matched(matches, word)


def _in_folder(folder: Path) -> list[InputFile]:
    inside = sorted(folder.iterdir())
    found = _known(inside)
    if not found:
        for path in inside:
            _refuse_unfinished(path)
        raise _nothing("the folder holds no export", label(folder))
    return _one_form_each(found)


def _known(paths: Iterable[Path]) -> list[InputFile]:
    """The paths of a known kind; hidden ones are copies that file managers and network shares leave."""
    kinds = ((path, _kind(path)) for path in paths if not path.name.startswith("."))
    return [InputFile(path, kind) for path, kind in kinds if kind]


def _matched(matches: list[Path], word: str) -> list[InputFile]:
    """What a pattern means among its matches: inputs and folders of them; else whatever files there are."""
    found = []
    for path in matches:
        known = _known([path])
        found.extend(known or (_known(sorted(path.iterdir())) if path.is_dir() else []))
    if found:
        return _one_form_each(found)
    files = [p for p in matches if p.is_file()]
    for path in files:
        _refuse_unfinished(path)
    if not files:
        raise _nothing("it matches folders without exports only", word)
    return [input_file(path) for path in files]


def _one_form_each(found: list[InputFile]) -> list[InputFile]:
    """Of several forms of one capture the preferred one; read twice, its units would contradict each other's rank."""
    best: dict[tuple[Path, str], InputKind] = {}
    for given in found:
        capture = _capture(given)
        best[capture] = min(best.get(capture, given.kind), given.kind, key=_PREFERENCE.index)
    return [given for given in found if given.kind == best[_capture(given)]]


def _capture(given: InputFile) -> tuple[Path, str]:
    """The capture that a path is a form of, by its folder and its name without what a form adds to it."""
    if given.kind in _COLUMNAR:
        return given.path.parent, _FOLDER_SUFFIX.sub("", given.path.name)
    return given.path.parent, given.path.stem


def _nothing(what: str, where: str) -> InputError:
    return InputError(
        what,
        where=label(Path(where)),
        meaning="Nothing was analysed; an empty selection says nothing about a run.",
        remedy="Name a file made with `nsys export --type sqlite report.nsys-rep`, or a folder of such files.",
    )


def _refuse_unfinished(path: Path) -> None:
    if path.suffix == _UNFINISHED_SUFFIX:
        raise InputError(
            "this is what the profiler left before it could make its report",
            where=label(path),
            meaning="Only exports have a documented schema, so nothing was analysed.",
            remedy="Import it with the QdstrmImporter of the same nsys, then: nsys export --type sqlite on its report",
        )
