"""Map: every input to its summary, by whatever executor, in the order of the inputs.

    files ─► executor.submit(summarise, file, …) ─► InputSummary, as they finish ─► in order

A worker that dies takes its own input along and no other: that input becomes a failed row, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
from pathlib import Path

from critpath.base.errors import CritpathError, InputError
from critpath.ingest.label import label
from critpath.ingest.source import InputFile
from critpath.pipeline.inputs import summarise_input
from critpath.pipeline.options import Options
from critpath.pipeline.summaries import InputSummary
from critpath.pipeline.summary_cache import SummaryCache

__all__ = ["MapSettings", "Progress", "map_inputs"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the inputs are: `done` of `total`, `failed` of those done."""

    done: int
    failed: int
    total: int

    @property
    def left(self) -> int:
        """Inputs still to come."""
        return self.total - self.done


@dataclass(frozen=True, slots=True)
class MapSettings:
    """How inputs are mapped.

    Attributes:
        executor: who does it; None does it here, one after the other.
        cache: folder for summaries, which a later run with the same inputs and options takes up; None keeps nothing.
        progress: called after each input.
    """

    executor: Executor | None = None
    cache: Path | None = None
    progress: Callable[[Progress], None] = lambda progress: None


def map_inputs(files: Sequence[InputFile], options: Options, how: MapSettings) -> list[InputSummary]:
    """The summary of each input, in their order; one that can't be read, or whose worker died, has an error.

    Raises:
        CritpathError: an input can't be read, and `options.strict` is set.
    """
    found: list[InputSummary | None] = [None] * len(files)
    failed = 0

    def note(place: int, summary: InputSummary) -> None:
        nonlocal failed
        if summary.error is not None:
            failed += 1
            if options.strict:
                raise summary.error
        found[place] = summary
        how.progress(Progress(sum(row is not None for row in found), failed, len(files)))

    if how.executor is None:
        for place, file in enumerate(files):
            note(place, _summarise(file, place, options, how.cache))
    else:
        _spread(how.executor, files, options, how.cache, note)
    return [row for row in found if row is not None]


def _spread(
    executor: Executor,
    files: Sequence[InputFile],
    options: Options,
    cache: Path | None,
    note: Callable[[int, InputSummary], None],
) -> None:
    futures: dict[Future[InputSummary], int] = {}
    try:
        for place, file in enumerate(files):
            futures[_submitted(executor, file, place, options, cache)] = place
        for future in as_completed(futures):
            place = futures.pop(future)
            try:
                summary = future.result()
            except BrokenExecutor as fault:
                summary = InputSummary(path=label(files[place].path), error=_worker_died(files[place], fault))
            note(place, summary)
    finally:
        for future in futures:
            future.cancel()


def _submitted(
    executor: Executor, file: InputFile, place: int, options: Options, cache: Path | None
) -> Future[InputSummary]:
    """The work on one input; an executor that takes none any more fails it, as a dead worker does."""
    try:
        return executor.submit(_summarise, file, place, options, cache)
    except BrokenExecutor as fault:
        refused: Future[InputSummary] = Future()
        refused.set_exception(fault)
        return refused


def _summarise(file: InputFile, report: int, options: Options, cache: Path | None) -> InputSummary:
    """What a worker does: take the summary from the cache, or make it and keep it there."""
    if cache is None:
        return summarise_input(file, report, options)
    kept = SummaryCache(cache)
    known = kept.load(file, report, options)
    return known if known is not None else kept.store(file, report, options, summarise_input(file, report, options))


def _worker_died(file: InputFile, fault: BrokenExecutor) -> CritpathError:
    told = str(fault).split("\n", 1)[0].rstrip(".") or type(fault).__name__
    return InputError(
        f"the worker that analysed it died: {told}",
        where=label(file.path),
        meaning="Nothing is known of its units; the other inputs are analysed.",
        remedy="Mostly it ran out of memory: run again with fewer workers, as --executor processes:1. "
        "With --out, inputs that are done are taken from there.",
    )
