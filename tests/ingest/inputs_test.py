"""What a command line's words name, and inputs that can't be read: four parts, exit code 2, nothing left behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from critpath.adapters.cli import run
from critpath.base.errors import InputError
from critpath.ingest.source import InputFile, find_inputs
from critpath.ingest.trace import read_trace
from exports import Export


def export(path: Path, kernels: int = 3) -> Path:
    made = Export()
    for i in range(kernels):
        made.launched(1_000_000 * (i + 1), 1_000_000 * (i + 1) + 500_000, corr=i + 1, name=f"gemm{i % 7}")
    return made.write(path)


def listing(folder: Path) -> dict[str, str]:
    """Every file below a folder with its hash."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else "folder"
        for p in sorted(folder.rglob("*"))
    }


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    before = listing(folder)
    yield
    assert listing(folder) == before


Breakage = Callable[[Path], Path]


def truncated(path: Path, size: int) -> Path:
    os.truncate(path, size)
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def missing(path: Path) -> Path:
    return path.with_name("no_such.sqlite")


def folder_without_exports(path: Path) -> Path:
    folder = path.parent / "logs"
    folder.mkdir()
    (folder / "train.log").write_text("step 1")
    return folder


def folder_of_reports(path: Path) -> Path:
    folder = path.parent / "reports"
    folder.mkdir()
    (folder / "a.nsys-rep").write_bytes(b"x")
    return folder


def other_database(path: Path) -> Path:
    made = path.with_name("other.sqlite")
    with closing(sqlite3.connect(made)) as database:
        database.execute("CREATE TABLE users (name TEXT)")
        database.commit()
    return made


def corrupted_in_the_middle(path: Path) -> Path:
    export(path.with_name("large.sqlite"), kernels=2_000)
    large = path.with_name("large.sqlite")
    content = bytearray(large.read_bytes())
    page = 4096
    for start in range(page * 5, len(content) - page, page):
        content[start : start + 200] = b"\xff" * 200
    large.write_bytes(content)
    return large


def with_journal(suffix: str) -> Breakage:
    def make(path: Path) -> Path:
        path.with_name(path.name + suffix).write_bytes(b"pending")
        return path

    return make


def linked_with_journal(path: Path) -> Path:
    with_journal("-wal")(path)
    link = path.parent / "elsewhere"
    link.mkdir()
    (link / "link.sqlite").symlink_to(path)
    return link / "link.sqlite"


def linked_to_itself(path: Path) -> Path:
    loop = path.with_name("loop.sqlite")
    loop.symlink_to(loop.name)
    return loop


def schema_that_is_no_text(path: Path) -> Path:
    # SQLite quotes the byte in its own message, which is then no text either
    return written(path, path.read_bytes().replace(b"CREATE TABLE", b"CREATE \xc0ABLE"))


def report_file(path: Path) -> Path:
    return written(path.with_name("it's mine.nsys-rep"), b"\x00")


BROKEN: dict[str, tuple[Breakage, str, str]] = {
    "missing": (missing, "there is no such file", "nsys export --type sqlite"),
    "glob without match": (lambda p: p.with_name("*.none"), "no file matches", "nsys export --type sqlite"),
    "folder without exports": (folder_without_exports, "the folder holds no export", "nsys export --type sqlite"),
    "folder of reports": (folder_of_reports, "the profiler's own report", "nsys export --type sqlite"),
    "empty": (lambda p: truncated(p, 0), "the file is empty", "nsys export --type sqlite"),
    "not SQLite": (lambda p: written(p, b"PK\x03\x04" * 99), "not a SQLite database", "nsys export --type sqlite"),
    "a text of 5 bytes": (lambda p: written(p, b"hello"), "not a SQLite database", "nsys export --type sqlite"),
    "another database": (other_database, "none of Nsight Systems' tables", "nsys export --type sqlite"),
    "header cut": (lambda p: truncated(p, 60), "cut short inside SQLite's header", "the copy is complete"),
    "magic cut": (lambda p: truncated(p, 9), "cut short inside SQLite's header", "the copy is complete"),
    "pages cut": (lambda p: truncated(p, 4096), "cut short: 4,096 bytes of", "the copy is complete"),
    "last byte cut": (lambda p: truncated(p, p.stat().st_size - 1), "cut short: ", "the copy is complete"),
    "corrupted": (corrupted_in_the_middle, "malformed", "the copy is complete"),
    "schema that is no text": (schema_that_is_no_text, "can't read the table of contents", "the copy is complete"),
    "link to itself": (linked_to_itself, "the file can't be opened", "you may read the file"),
    "wal": (with_journal("-wal"), "-wal holds changes", "Close the program"),
    "journal": (with_journal("-journal"), "-journal holds changes", "Close the program"),
    "link to a file with a wal": (linked_with_journal, "-wal holds changes", "Close the program"),
    "report": (report_file, "the profiler's own report", "nsys export --type sqlite '"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_input_is_told_in_four_parts_and_left_alone(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # a report is exported where nsys is found
    breakage, what, remedy = BROKEN[case]
    folder = tmp_path / "in"
    folder.mkdir()
    path = breakage(export(folder / "rank0.sqlite"))
    with unchanged(tmp_path):
        assert run(["analyze", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, meaning, told = err.splitlines()
    assert first.startswith("critpath: ")
    assert str(path) in first
    assert what in first
    assert meaning
    assert remedy in told


@pytest.mark.parametrize("words", [[""], ["", "a"]])
def test_an_empty_word_is_not_the_current_folder(words: list[str]) -> None:
    with pytest.raises(InputError, match="an empty word names no input"):
        find_inputs(words)


def test_no_word_names_nothing() -> None:
    with pytest.raises(InputError, match="no input was named"):
        find_inputs([])


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("method", ["open", "stat"])
def test_a_file_that_may_not_be_read_says_so(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # root may read everything, so the refusal is played
    path = export(tmp_path / "a.sqlite")
    monkeypatch.setattr(Path, method, refuse)
    with pytest.raises(InputError, match="the file can't be opened: Permission denied"):
        read_trace(path)


def test_a_folder_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(InputError, match="it can't be opened: Permission denied"):
        find_inputs([str(tmp_path)])


@pytest.mark.parametrize("path", ["no_such.sqlite", "."])
def test_reading_what_is_no_file_is_an_input_error(path: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be"):
        read_trace(tmp_path / path)


def test_a_folder_gives_its_exports_by_name_and_nothing_else(tmp_path: Path) -> None:
    for name in ("b.sqlite", "a.db", "c.sqlite3", "train.log", "a.nsys-rep", "d.sqlite-wal"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "sub.sqlite").mkdir()
    assert [p.path.name for p in find_inputs([str(tmp_path)])] == ["a.db", "b.sqlite", "c.sqlite3"]


def test_a_glob_takes_the_known_kinds_and_looks_into_folders(tmp_path: Path) -> None:
    for name in ("n0/a.sqlite", "n1/b.sqlite", "n1/b.nsys-rep", "n2/train.log", "n3.sqlite", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [p.path.name for p in find_inputs([f"{tmp_path}/n*"])] == ["a.sqlite", "b.sqlite", "n3.sqlite"]


def test_a_glob_takes_files_of_any_suffix_where_none_is_known(tmp_path: Path) -> None:
    (tmp_path / "capture.bin").write_bytes(b"")
    assert [p.path.name for p in find_inputs([f"{tmp_path}/c*"])] == ["capture.bin"]


def test_a_glob_of_unexported_reports_says_how_to_export(tmp_path: Path) -> None:
    (tmp_path / "a.nsys-rep").write_bytes(b"")
    with pytest.raises(InputError, match="nsys export --type sqlite"):
        read_trace(find_inputs([f"{tmp_path}/*.nsys-rep"])[0])


def test_a_file_named_twice_is_one_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = export(tmp_path / "a.sqlite")
    (tmp_path / "link.sqlite").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    assert find_inputs(["a.sqlite", "./a.sqlite", str(path), "link.sqlite", "*.sqlite", "."]) == [
        InputFile(Path("a.sqlite"), "sqlite")
    ]


def test_a_file_named_outright_may_have_any_suffix(tmp_path: Path) -> None:
    assert find_inputs([str(export(tmp_path / "capture"))]) == [InputFile(tmp_path / "capture", "sqlite")]


@pytest.mark.parametrize("name", ["a b.sqlite", "a?mode=rwc#x%20.sqlite", "réseau.sqlite", "[0].sqlite", "*.sqlite"])
def test_odd_file_names_are_read(name: str, tmp_path: Path) -> None:
    path = export(tmp_path / name)
    with unchanged(tmp_path):
        assert run(["analyze", str(path)]) == 0


def test_a_name_that_is_no_text_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = export(tmp_path / os.fsdecode(b"caf\xe9.sqlite"))
    assert run(["analyze", str(path), "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    assert r"caf\\xe9.sqlite" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_analysis_leaves_the_input_and_its_folder_alone(mode: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path = export(folder / "a.sqlite")
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
    assert sorted(p.name for p in folder.iterdir()) == ["a.sqlite"]
    with unchanged(tmp_path):
        assert run(["analyze", str(folder)]) == 0


def test_a_read_only_folder_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path = export(folder / "a.sqlite")
    path.chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert run(["analyze", str(path)]) == 0
    finally:
        folder.chmod(stat.S_IRWXU)


def test_an_empty_journal_beside_the_file_is_no_obstacle(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite")
    path.with_name("a.sqlite-wal").write_bytes(b"")
    with unchanged(tmp_path):
        assert run(["analyze", str(path)]) == 0


def test_a_copy_is_another_input(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite")
    shutil.copy(path, tmp_path / "b.sqlite")
    assert len(find_inputs([str(tmp_path)])) == 2
