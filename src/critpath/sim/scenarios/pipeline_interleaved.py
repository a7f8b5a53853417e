"""Pipeline parallelism with several parts of the model on each stage: see `pipeline`."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.program import Job
from critpath.sim.scenarios.pipeline import PipelineOptions, interleaved, pipeline_job
from critpath.sim.scenarios.scenario import Scenario

__all__ = ["SCENARIO", "Interleaved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaved(PipelineOptions):
    """Options of `pipeline_interleaved`."""

    micro_batches: int = 4
    chunks: int = 2


def job(options: Interleaved) -> Job:
    """One report a stage."""
    return pipeline_job(options, [interleaved(stage, options) for stage in range(options.ranks)])


SCENARIO = Scenario("pipeline_interleaved", "pipeline stages with several parts each", Interleaved, job)
