"""Summaries of inputs, kept under the output folder, so that a run after a crash goes on where it stopped.

A summary is found by what it was made of: the input's path, size and time of change, its place among the inputs, the
options that shape it, and the tool's own code. Whatever differs in any of them makes another summary.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from critpath import __version__
from critpath.base.errors import OptionError
from critpath.ingest.label import identity
from critpath.ingest.source import InputFile
from critpath.pipeline.options import Options
from critpath.pipeline.summaries import InputSummary, UnitSummary

__all__ = ["SummaryCache"]

_FOREIGN_NAMES = frozenset(
    {
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        ("pathlib", "PosixPath"),
        ("critpath.base.errors", "_rebuild"),
    }
)
"""What summaries hold besides classes of critpath."""


class SummaryCache:
    """A folder of summaries.

    Args:
        folder: created with the first summary.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, file: InputFile, report: int, options: Options) -> InputSummary | None:
        """The summary of an input; None where there is none, or none that can be read."""
        key = _key(file, report, options)
        if key is None:
            return None
        try:
            found = _Reader(io.BytesIO((self._folder / f"{key}.summary").read_bytes())).load()
        # A file that was cut short, or comes from elsewhere, is no summary: it is made again.
        except (
            OSError,
            pickle.UnpicklingError,
            EOFError,
            AttributeError,
            ImportError,
            IndexError,
            TypeError,
            ValueError,
        ):
            return None
        if not isinstance(found, InputSummary) or not all(
            p.is_file() for u in found.units for p in u.kept_frames.values()
        ):
            return None
        return found

    def store(self, file: InputFile, report: int, options: Options, summary: InputSummary) -> InputSummary:
        """Keep a summary, its frames as files beside it; a failed one isn't kept. What is kept is returned.

        Raises:
            OptionError: the folder can't be made or written to.
        """
        key = _key(file, report, options)
        if key is None or summary.error is not None:
            return summary
        try:
            return self._stored(key, summary)
        except OSError as fault:
            raise OptionError(
                f"the summaries can't be written: {fault.strerror or fault}",
                where=str(self._folder),
                meaning="What was analysed could not be kept, so the analysis ended.",
                remedy="Name a folder that can be written to: --out DIR",
            ) from fault

    def _stored(self, key: str, summary: InputSummary) -> InputSummary:
        self._folder.mkdir(parents=True, exist_ok=True)
        units = tuple(self._with_kept_frames(unit, f"{key}.{place}") for place, unit in enumerate(summary.units))
        kept = replace(summary, units=units)
        target = self._folder / f"{key}.summary"
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            unfinished.write_bytes(pickle.dumps(kept, protocol=pickle.HIGHEST_PROTOCOL))
            unfinished.replace(target)
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        return kept

    def _with_kept_frames(self, unit: UnitSummary, name: str) -> UnitSummary:
        kept = {}
        for frame, rows in unit.frames.items():
            kept[frame] = self._folder / f"{name}.{frame}.parquet"
            rows.write_parquet(kept[frame])
        return replace(unit, frames={}, kept_frames=kept)


class _Reader(pickle.Unpickler):
    """Reads summaries only: a pickle may call whatever it names, so it may name nothing but what summaries hold."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith("critpath.") else None
        if isinstance(found, type):
            return found
        if (module, name) in _FOREIGN_NAMES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is in no summary")


def _key(file: InputFile, report: int, options: Options) -> str | None:
    """What a summary is found by; None where the input can't be looked at."""
    try:
        stats = [(str(path), stat.st_size, stat.st_mtime_ns) for path in _parts(file.path) for stat in [path.stat()]]
    except OSError:
        return None
    step = options.step
    said = (step.step and (step.step.pattern, step.step.flags), step.scope, step.span_ns, options.frames)
    told = (__version__, _code(), str(identity(file.path)), file.kind, stats, report, options.taxonomy.sha256, said)
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _parts(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir():
        yield from sorted(path.iterdir())


@cache
def _code() -> str:
    """The tool's own code: a summary that other code made may hold other figures."""
    digest = hashlib.sha256()
    root = files("critpath")
    for path in sorted(Path(str(root)).rglob("*")):
        if path.suffix in (".py", ".toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()
