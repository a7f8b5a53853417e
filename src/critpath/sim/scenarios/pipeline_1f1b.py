"""Pipeline parallelism, one forward and one backward in turn: see `pipeline`."""

from __future__ import annotations

from critpath.sim.program import Job
from critpath.sim.scenarios.pipeline import PipelineOptions, one_forward_one_backward, pipeline_job
from critpath.sim.scenarios.scenario import Scenario

__all__ = ["SCENARIO"]


def job(options: PipelineOptions) -> Job:
    """One report a stage."""
    return pipeline_job(options, [one_forward_one_backward(stage, options) for stage in range(options.ranks)])


SCENARIO = Scenario("pipeline_1f1b", "pipeline stages that hold different parts, with bubbles", PipelineOptions, job)
