"""The scenarios by name. A new one is a module with a `SCENARIO`, and a line here."""

from __future__ import annotations

from critpath.sim.errors import UnknownNameError
from critpath.sim.scenarios import (
    boundary_flush,
    busy_stream,
    colliding_hosts,
    contention,
    context_parallel,
    copy_engine_queue,
    copy_gap,
    damaged,
    data_parallel,
    dataloader,
    deep_relay,
    eight_processes,
    fsdp_offload,
    gpu_metrics,
    host_locks,
    host_sync,
    inference_graphs,
    jax_like,
    late_launch_collective,
    launch_bound,
    moe_deepep,
    moe_hybrid_ep,
    one_connection,
    overlapping_streams,
    pageable_default_stream,
    perturbed_capture,
    pipeline_1f1b,
    pipeline_interleaved,
    polling,
    queue_full,
    sliced_capture,
    straggler,
    tensor_parallel,
    two_processes_one_gpu_ids,
    two_processes_shared_gpu,
    unrecorded_waits,
    uvm_faults,
    wsl_batched,
    zero_timestamps,
)
from critpath.sim.scenarios.scenario import Options, Scenario

__all__ = ["SCENARIOS", "Options", "Scenario", "scenario_named"]

_KNOWN: tuple[Scenario, ...] = (
    boundary_flush.SCENARIO,
    busy_stream.SCENARIO,
    colliding_hosts.SCENARIO,
    contention.SCENARIO,
    context_parallel.SCENARIO,
    copy_engine_queue.SCENARIO,
    copy_gap.SCENARIO,
    damaged.SCENARIO,
    data_parallel.SCENARIO,
    dataloader.SCENARIO,
    deep_relay.SCENARIO,
    eight_processes.SCENARIO,
    fsdp_offload.SCENARIO,
    gpu_metrics.SCENARIO,
    host_locks.SCENARIO,
    host_sync.SCENARIO,
    inference_graphs.SCENARIO,
    jax_like.SCENARIO,
    late_launch_collective.SCENARIO,
    launch_bound.SCENARIO,
    moe_deepep.SCENARIO,
    moe_hybrid_ep.SCENARIO,
    one_connection.SCENARIO,
    overlapping_streams.SCENARIO,
    pageable_default_stream.SCENARIO,
    perturbed_capture.SCENARIO,
    pipeline_1f1b.SCENARIO,
    pipeline_interleaved.SCENARIO,
    polling.SCENARIO,
    queue_full.SCENARIO,
    sliced_capture.SCENARIO,
    straggler.SCENARIO,
    tensor_parallel.SCENARIO,
    two_processes_one_gpu_ids.SCENARIO,
    two_processes_shared_gpu.SCENARIO,
    unrecorded_waits.SCENARIO,
    uvm_faults.SCENARIO,
    wsl_batched.SCENARIO,
    zero_timestamps.SCENARIO,
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
