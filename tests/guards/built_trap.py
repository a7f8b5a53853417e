"""A trap whose job the test writes itself, for what no scenario holds."""

from __future__ import annotations

from pathlib import Path

from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.sim import write_job
from critpath.sim.program import Job
from guards.traps import Trap

__all__ = ["BuiltTrap"]


class BuiltTrap(Trap):
    """A trap of any job, with windows of scope `period`.

    Args:
        job: what to execute.
        folder: where its exports go.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        self.simulation = write_job(job, folder)
        self.report = analyze(self.simulation.exports, Options(step=step_options(scope="period")))
        self.scope = "period"
