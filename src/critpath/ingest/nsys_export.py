"""The profiler's own reports, exported by the user's own `nsys` for as long as they are read."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from critpath.base.errors import InputError
from critpath.ingest.label import label

__all__ = ["TIMEOUT_S", "exported"]

TIMEOUT_S = 3600.0
"""Longest time that one export may take [s]; reports of many GB need minutes."""

_LAST_LINES = 5


@contextmanager
def exported(report: Path, timeout_s: float | None = None) -> Iterator[Path]:
    """A SQLite export of a report, in a folder of its own that is removed afterwards.

    Nothing is written beside the report, where `nsys` would put it by itself.

    Args:
        report: an existing `.nsys-rep` or `.qdrep`.
        timeout_s: longest time of the export [s]; `TIMEOUT_S` by default.

    Raises:
        InputError: there is no `nsys`, or it failed, or took too long.
    """
    program = shutil.which("nsys")
    if program is None:
        raise InputError(
            "this is the profiler's own report, not an export, and there is no nsys here to export it",
            where=label(report),
            meaning="Only exports have a documented schema, so nothing was analysed.",
            remedy=f"Export it where nsys is installed: nsys export --type sqlite {shlex.quote(str(report))}",
        )
    with tempfile.TemporaryDirectory(prefix="critpath-", dir=_room_for(report), ignore_cleanup_errors=True) as folder:
        target = Path(folder) / "report.sqlite"
        _export(program, report, target, TIMEOUT_S if timeout_s is None else timeout_s)
        yield target


def _room_for(report: Path) -> Path:
    """The folder for temporary files, unless it is the report's own."""
    taken = report.resolve().parent
    usual = Path(tempfile.gettempdir()).resolve()
    rooms = [usual, *(Path(name) for name in ("/var/tmp", "/tmp") if os.access(name, os.W_OK))]  # noqa: S108
    return next((room for room in rooms if room != taken), usual)


def _export(program: str, report: Path, target: Path, timeout_s: float) -> None:
    words = [program, "export", "--type", "sqlite", "--output", str(target), "--force-overwrite", "true"]
    # A file and not a pipe: what nsys started may hold a pipe open long after nsys itself has ended.
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603  (no shell; the program is the one that PATH names)
                [*words, str(report.resolve())],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as fault:
            raise _failed(report, f"nsys can't be started: {fault.strerror or fault}", "") from fault
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired as fault:
            raise _failed(report, f"nsys export took longer than {timeout_s:g} s", _end_of(said)) from fault
        finally:
            _end(process)
        if status != 0:
            raise _failed(report, f"nsys export failed with status {status}", _end_of(said))
        if not target.is_file():
            raise _failed(report, "nsys export ended well but wrote no file", _end_of(said))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End nsys and what it started, where it hasn't ended by itself."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _end_of(said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line.strip() for line in said.read().decode("utf-8", "replace").splitlines()]
    return " | ".join([line for line in lines if line][-_LAST_LINES:])


def _failed(report: Path, what: str, last_lines: str) -> InputError:
    return InputError(
        f"{what}: {last_lines}" if last_lines else what,
        where=label(report),
        meaning="The report was not exported, so nothing of it was analysed.",
        remedy=(
            f"Try it by hand: nsys export --type sqlite {shlex.quote(str(report))}; an nsys older than the one that "
            "captured can't read it, and TMPDIR needs room for the export."
        ),
    )
