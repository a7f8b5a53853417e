"""Where results and messages go: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import polars as pl
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from critpath.base.errors import CritpathError, OptionError
from critpath.model.report import Report
from critpath.pipeline.mapping import Progress
from critpath.render.markdown import markdown
from critpath.render.plain import WIDTH
from critpath.render.text import rendering, text
from critpath.render.words import printable

__all__ = [
    "Format",
    "ResultConsole",
    "print_drawing",
    "print_error",
    "print_note",
    "print_report",
    "print_result",
    "progress",
    "write_report",
]

Format = Literal["text", "json", "md"]


class ResultConsole(Console):
    """A console on stdout whose reader may leave early, which is the same as for plain text."""

    def on_broken_pipe(self) -> None:
        """Tell the caller, instead of ending the program as a failure."""
        raise BrokenPipeError


def print_report(report: Report, form: Format) -> None:
    """The report on stdout: JSON, Markdown, or text with colours only on a terminal."""
    if form == "json":
        sys.stdout.write(report.to_json())
    elif form == "md":
        sys.stdout.write(markdown(report))
    else:
        print_drawing(rendering(report), text(report))


def print_drawing(drawing: RenderableType, plain_text: str) -> None:
    """A drawing on a terminal, its plain text anywhere else."""
    if sys.stdout.isatty():
        ResultConsole(width=WIDTH, highlight=False).print(drawing)
    else:
        sys.stdout.write(plain_text)


def print_result(line: str) -> None:
    """A line of a command's result, on stdout."""
    sys.stdout.write(line.rstrip("\n") + "\n")


def print_note(line: str) -> None:
    """A message beside the result, on stderr; it may quote foreign text, whose control characters are replaced."""
    sys.stderr.write("\n".join(map(printable, line.split("\n"))) + "\n")


def print_error(error: CritpathError) -> None:
    """The four parts of an error, on stderr."""
    print_note(f"critpath: {error}")


@contextmanager
def progress(inputs: int) -> Iterator[Callable[[Progress], None]]:
    """A callback after each input, drawn on stderr where that is a terminal and there is more than one input."""
    if inputs < 2 or not sys.stderr.isatty():
        yield lambda state: None
        return
    columns = (
        TextColumn("inputs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn()
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("inputs", total=inputs, told="")

        def advance(state: Progress) -> None:
            told = f"{state.failed} failed, {state.left} left" if state.failed else f"{state.left} left"
            bars.update(task, completed=state.done, total=state.total, told=told)

        yield advance


def write_report(report: Report, out: Path, frames: Mapping[str, pl.LazyFrame] | None = None) -> None:
    """Write report.json, and frames/*.parquet where there are frames, into a folder; each file whole or not at all.

    Raises:
        OptionError: the folder can't be made or written to.
    """
    try:
        _write_whole(out / "report.json", lambda path: path.write_text(report.to_json(), encoding="utf-8"))
        for name, frame in (frames or {}).items():
            _write_whole(out / "frames" / f"{name}.parquet", frame.sink_parquet)
    except OSError as fault:
        raise OptionError(
            f"the report can't be written: {fault.strerror or fault}",
            where=str(out),
            meaning="The analysis was made, but nothing was kept.",
            remedy="Name a folder that can be written to: --out DIR",
        ) from fault


def _write_whole(target: Path, write: Callable[[Path], object]) -> None:
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write(unfinished)
        unfinished.replace(target)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
