"""`critpath demo`: a simulated job with known causes, analyzed."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from critpath.adapters.commands.simulate import simulated
from critpath.adapters.executors import executor as workers
from critpath.adapters.output import Format, print_note, print_report, progress, write_report
from critpath.pipeline.analyze import analysis
from critpath.pipeline.mapping import MapSettings
from critpath.pipeline.options import Options

__all__ = ["demo"]


def demo(
    *,
    ranks: int = 4,
    scenario: str = "data_parallel",
    seed: int = 0,
    out: Path | None = None,
    format_: Annotated[Format, Parameter(name="--format")] = "text",
) -> int:
    """Simulate a training job with known causes and analyze it; no GPU is needed.

    Args:
        ranks: ranks of the job.
        scenario: what to simulate, see `critpath simulate --help`.
        seed: another job of the same kind.
        out: folder for the exports, their truth and report.json; by default the exports are not kept.
        format_: text for people, md for a page, json for programs.
    """
    with ExitStack() as stack:
        folder = out if out is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        simulation = simulated(scenario, folder / "exports", seed=seed, ranks=ranks)
        print_note(f"Simulated {scenario}: {ranks} ranks, seed {seed}. The same commands work on your own exports.")
        files = simulation.exports
        with progress(len(files)) as advance, workers(None, inputs=len(files)) as pool:
            made = analysis(files, Options(frames=out is not None), MapSettings(executor=pool, progress=advance))
        if out is not None:
            write_report(made.report, out, made.frames)
        print_report(made.report, format_)
    return 0
