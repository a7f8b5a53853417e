"""Expert-parallel training whose tokens HybridEP moves: see `moe`."""

from __future__ import annotations

from critpath.sim.moe_kernels import HYBRID_EP
from critpath.sim.program import Job
from critpath.sim.scenarios.moe import MoeOptions, moe_job
from critpath.sim.scenarios.scenario import Scenario

__all__ = ["SCENARIO"]


def job(options: MoeOptions) -> Job:
    """One report a rank."""
    return moe_job(options, HYBRID_EP)


SCENARIO = Scenario("moe_hybrid_ep", "expert parallelism with the kernels of HybridEP", MoeOptions, job)
