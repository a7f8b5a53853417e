"""Expert-parallel training whose tokens DeepEP moves: see `moe`."""

from __future__ import annotations

from critpath.sim.moe_kernels import DEEP_EP
from critpath.sim.program import Job
from critpath.sim.scenarios.moe import MoeOptions, moe_job
from critpath.sim.scenarios.scenario import Scenario

__all__ = ["SCENARIO"]


def job(options: MoeOptions) -> Job:
    """One report a rank."""
    return moe_job(options, DEEP_EP)


SCENARIO = Scenario("moe_deepep", "expert parallelism with the kernels of DeepEP", MoeOptions, job)
