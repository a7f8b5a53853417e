"""Reports read through the user's own nsys, which a script stands for here."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path

import pytest

from critpath.base.errors import InputError
from critpath.ingest import nsys_export
from critpath.ingest.nsys_export import exported
from critpath.ingest.source import InputFile
from critpath.ingest.trace import read_trace
from critpath.pipeline.analyze import analyze
from exports import Export


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "node 0.nsys-rep"
    path.parent.mkdir()
    path.write_bytes(b"not yet exported")
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """A program `nsys` on PATH, with the words it was called with beside it; `$output` is the file it should write."""
    folder = tmp_path / "bin"
    folder.mkdir()
    words = folder / "words.json"
    program = folder / "nsys"
    program.write_text(
        f"#!/bin/sh\n{shlex.quote(sys.executable)} -c 'import json, sys; json.dump(sys.argv[2:], open(sys.argv[1], "
        f'"w"))\' {shlex.quote(str(words))} "$@"\noutput=$5\n{body}\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return words


def copying(tmp_path: Path) -> str:
    export = Export()
    export.launched(1_000, 2_000, corr=1)
    return f'cp {shlex.quote(str(export.write(tmp_path / "prepared.sqlite")))} "$output"'


def test_a_report_is_exported_and_read(report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = nsys(tmp_path, monkeypatch, copying(tmp_path))
    trace = read_trace(report)
    assert len(trace.kernels) == 1
    assert (trace.source.kind, trace.source.path) == ("nsys-rep", str(report))
    assert trace.source.bytes == report.stat().st_size
    called = json.loads(words.read_text())
    assert called[:4] == ["export", "--type", "sqlite", "--output"]
    assert called[5:] == ["--force-overwrite", "true", str(report)]


def test_nothing_stays_behind_and_nothing_is_written_beside_the_report(
    report: Path, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys(tmp_path, monkeypatch, copying(tmp_path))
    with exported(report) as path:
        assert path.is_relative_to(temporary)
        assert list(report.parent.iterdir()) == [report]
    assert list(temporary.iterdir()) == []
    assert list(report.parent.iterdir()) == [report]


def test_the_export_is_removed_when_its_reader_fails(
    report: Path, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys(tmp_path, monkeypatch, 'echo "no database at all, but text" > "$output"')
    with pytest.raises(InputError, match="not a SQLite database") as told:
        read_trace(report)
    assert told.value.where == str(report)
    assert list(temporary.iterdir()) == []


def test_a_failure_is_told_with_the_last_lines_of_nsys(
    report: Path, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys(tmp_path, monkeypatch, 'seq 20; echo "The report is newer than this nsys" >&2; exit 3')
    with pytest.raises(InputError) as told:
        read_trace(report)
    assert told.value.what == "nsys export failed with status 3: 17 | 18 | 19 | 20 | The report is newer than this nsys"
    assert f"nsys export --type sqlite {shlex.quote(str(report))}" in told.value.remedy
    assert list(temporary.iterdir()) == []


def test_an_export_without_a_file_is_no_success(report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nsys(tmp_path, monkeypatch, "exit 0")
    with pytest.raises(InputError, match="ended well but wrote no file"):
        read_trace(report)


def test_an_export_that_takes_too_long_is_ended_with_all_it_started(
    report: Path, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    nsys(tmp_path, monkeypatch, f"sleep 60 & echo $! > {shlex.quote(str(child))}; echo started; wait")
    monkeypatch.setattr(nsys_export, "TIMEOUT_S", 2.0)
    with pytest.raises(InputError, match="took longer than 2 s: started"):
        read_trace(report)
    assert ended(int(child.read_text()))
    assert list(temporary.iterdir()) == []


def ended(pid: int) -> bool:
    """Whether a process is gone, or waits only for being collected, within a second."""
    for _ in range(20):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_without_nsys_the_command_to_run_is_told(report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="the profiler's own report, not an export") as told:
        read_trace(report)
    assert told.value.remedy.endswith(f"nsys export --type sqlite {shlex.quote(str(report))}")


def test_a_report_in_the_folder_for_temporary_files_has_its_export_elsewhere(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nsys(tmp_path, monkeypatch, copying(tmp_path))
    report = temporary / "a.nsys-rep"
    report.write_bytes(b"x")
    with exported(report) as path:
        assert path.parent.parent.resolve() != temporary.resolve()
        assert list(temporary.iterdir()) == [report]


def test_the_report_names_what_the_user_gave(report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nsys(tmp_path, monkeypatch, copying(tmp_path))
    found = analyze([InputFile(report, "nsys-rep")]).inputs[0]
    assert (found.path, found.kind, found.status) == (str(report), "nsys-rep", "ok")
