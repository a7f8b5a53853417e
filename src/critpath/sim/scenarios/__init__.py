"""The scenarios by name. A new one is a module with a `SCENARIO`, and a line here."""

from __future__ import annotations

from critpath.sim.errors import UnknownNameError
from critpath.sim.scenarios import (
    boundary_flush,
    busy_stream,
    copy_gap,
    data_parallel,
    dataloader,
    deep_relay,
    fsdp_offload,
    host_sync,
    inference_graphs,
    late_launch_collective,
    launch_bound,
    overlapping_streams,
    pageable_default_stream,
    polling,
    queue_full,
    sliced_capture,
    tensor_parallel,
    two_processes_one_gpu_ids,
)
from critpath.sim.scenarios.scenario import Options, Scenario

__all__ = ["SCENARIOS", "Options", "Scenario", "scenario_named"]

_KNOWN: tuple[Scenario, ...] = (
    boundary_flush.SCENARIO,
    busy_stream.SCENARIO,
    copy_gap.SCENARIO,
    data_parallel.SCENARIO,
    dataloader.SCENARIO,
    deep_relay.SCENARIO,
    fsdp_offload.SCENARIO,
    host_sync.SCENARIO,
    inference_graphs.SCENARIO,
    late_launch_collective.SCENARIO,
    launch_bound.SCENARIO,
    overlapping_streams.SCENARIO,
    pageable_default_stream.SCENARIO,
    polling.SCENARIO,
    queue_full.SCENARIO,
    sliced_capture.SCENARIO,
    tensor_parallel.SCENARIO,
    two_processes_one_gpu_ids.SCENARIO,
)
SCENARIOS = {scenario.name: scenario for scenario in _KNOWN}


def scenario_named(name: str) -> Scenario:
    """The scenario called `name`.

    Raises:
        UnknownNameError: when there is none.
    """
    try:
        return SCENARIOS[name]
    except KeyError:
        raise UnknownNameError.among(name, SCENARIOS, kind="scenario") from None
