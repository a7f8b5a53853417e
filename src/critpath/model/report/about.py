"""How the quantities of a report are to be read: unit, bound, formula, guards, and the frame with their rows."""

from __future__ import annotations

from critpath.model.report.verdict import About
from critpath.model.report.words import Bound

__all__ = ["ABOUT"]


def _ms(formula: str, *guards: str, bound: Bound = "exact", frame: str | None = None) -> About:
    return About(unit="ms/iteration", bound=bound, formula=formula, guards=list(guards), frame=frame)


ABOUT: dict[str, About] = {
    "units[].window.median_ms": _ms("median length of the windows kept", "P02", "P26", "P28", frame="budget"),
    "units[].window.outside_step_ms": _ms(
        "mean time from a range's end to the next one's start", "P28", frame="budget"
    ),
    "units[].budget.iteration": _ms("end - start of each window", "P02", frame="budget"),
    "units[].budget.device_busy": _ms("union of all device ops, clipped to each window", "P01", "P21", frame="budget"),
    "units[].budget.device_idle": _ms("iteration - device busy", "P11", frame="budget"),
    "units[].budget.noncomm_busy": _ms("union of compute, memsets and opaque graphs", "P05", "P20", frame="budget"),
    "units[].budget.comm_busy": _ms("union of the communication taxonomy's ops", "P05", "P06", frame="budget"),
    "units[].budget.compute_busy": _ms(
        "union of kernels outside the communication taxonomy, fused ones included", "P01", "P20", frame="budget"
    ),
    "units[].budget.compute_absent": _ms("iteration - compute busy", "P08", frame="budget"),
    "units[].budget.occupied_not_computing": _ms("device busy - compute busy", "P08", frame="budget"),
    "units[].work_volume.kernel_sum_ms": _ms(
        "sum of kernel durations, clipped to each window; work volume, never wall time", "P01", frame="operations"
    ),
    "units[].work_volume.kernel_union_ms": _ms("union of all kernels, clipped to each window", "P01", frame="budget"),
    "units[].absent.launch_starved_ms": _ms(
        "[start of the interval, issue-ready time of the op that ends it)", "P07", "P08", "P21", frame="gaps"
    ),
    "units[].absent.blocking_ms": About(
        unit="ms/iteration",
        bound="estimate",
        formula="[issue-ready time, end of the resolved producer); blocking_bound tells the bound of each unit",
        guards=["P07", "P08", "P09", "P10"],
        frame="gaps",
    ),
    "units[].absent.dependency_stalled_ms": _ms(
        "what launch-starved, blocking and opaque graphs leave of compute absent", "P08", "P12", frame="gaps"
    ),
    "units[].absent.opaque_graph_ms": _ms("intervals at or behind an opaque graph row", "P21", frame="gaps"),
    "units[].critical_path.top[].ms": _ms(
        "back from the op that ends the window, through the later of its last producer and its launch",
        "P08",
        bound="estimate",
        frame="critical_path",
    ),
    "units[].critical_path.near[].slack_us": About(
        unit="us",
        bound="estimate",
        formula="ops of the path: what held them longest - what would hold them next",
        guards=["P08"],
        frame="edges",
    ),
    "units[].communication.union_ms": _ms("exposed + overlapped; not network time", "P05", "P06", frame="operations"),
    "units[].communication.exposed_ms": _ms(
        "communication union minus all other device ops", "P07", bound="upper", frame="operations"
    ),
    "units[].communication.overlapped_ms": _ms(
        "communication union minus exposed", "P07", bound="lower", frame="operations"
    ),
    "units[].communication.nccl_only.exposed_ms": _ms(
        "NCCL minus all other device ops, other backends included", "P05", "P07", bound="upper"
    ),
    "units[].communication.transfer_proxy_ms": _ms(
        "shortest participant's duration, summed over matched instances",
        "P06",
        "P23",
        bound="upper",
        frame="collectives",
    ),
    "units[].communication.jitter_wait_ms": _ms(
        "own duration - transfer proxy", "P06", "P23", bound="lower", frame="collectives"
    ),
    "units[].communication.contention[].cost_ms": _ms(
        "(median overlapped - median alone) * overlapped executions / windows", "P06", bound="estimate"
    ),
    "units[].communication.overlap_cost[].net_ms": _ms(
        "overlap of the executions compared - their cost", "P06", "P07", bound="upper"
    ),
    "units[].graphs.opaque_ms": _ms("union of the rows of graphs traced as one row", "P21", frame="operations"),
    "units[].launches.delay.median_us": About(
        unit="us", bound="exact", formula="start of op - start of its call", guards=["P11", "P21"], frame="operations"
    ),
    "units[].launches.queue.mean": About(
        unit="1",
        bound="exact",
        formula="time launches were called and not started, summed over launches / length of the windows",
        guards=["P11", "P21"],
        frame="operations",
    ),
    "units[].launches.calls[].host_ms": _ms("lengths of the calls added up, over all threads", "P11"),
    "units[].nvtx.ranges[].device": _ms(
        "union of the ops that the range's own thread launched while it was open, clipped to each window",
        "P01",
        frame="nvtx",
    ),
    "units[].nvtx.ranges[].any_thread_ms": _ms(
        "union of the ops that any thread launched while the range was open", "P01", bound="upper"
    ),
    "capture.profiler_overhead_recorded_ms": _ms(
        "union of the profiler's own overhead rows inside the windows; no slowdown", "P25", bound="lower"
    ),
    "units[].host_sync.host_ms": _ms("union of waiting calls over the threads of the process", "P11"),
    "units[].host_sync.while_device_idle_ms": _ms("host waits in which the device was idle", "P11", bound="upper"),
    "units[].communication.aligned_wait_ms": _ms(
        "own start of each matched collective to the last participant's, by aligned clocks",
        "P06",
        "P23",
        bound="estimate",
        frame="collectives",
    ),
    "units[].communication.blocking_transfer_ms": _ms(
        "blocking by each matched collective, at most its transfer proxy",
        "P06",
        "P07",
        bound="upper",
        frame="collectives",
    ),
    "units[].communication.blocking_peer_wait_ms": _ms(
        "blocking by each matched collective beyond its transfer proxy",
        "P06",
        "P07",
        bound="lower",
        frame="collectives",
    ),
    "ranks.step.median_ms": _ms("median over common steps of the longest window", "P02", "P03", frame="ranks"),
    "ranks.straggler.late_ms": _ms(
        "sum over a step's collectives of (the others' median time - own time), against the group's median",
        "P04",
        "P23",
        "P24",
        bound="estimate",
        frame="ranks",
    ),
    "ranks.critical_path.units[].ms": _ms(
        "own links of the path that goes on with the last to arrive at each collective", "P08", bound="estimate"
    ),
    "ranks.collectives.communicators[].busbw_GBps": About(
        unit="GB/s",
        bound="lower",
        formula="bytes x factor of the collective / transfer proxy, all participants captured",
        guards=["P06", "P24"],
        frame="collectives",
    ),
    "opportunities[].recoverable_ms": _ms(
        "mean over windows of the intervals that the cause owns", "P07", "P31", bound="upper", frame="opportunities"
    ),
    "opportunities[].new_step_ceiling_ms": _ms("T - R", "P25", "P31", bound="lower", frame="opportunities"),
    "opportunities[].throughput_gain_ceiling_pct": About(
        unit="%", bound="upper", formula="(T / (T - R) - 1) * 100", guards=["P25", "P31"], frame="opportunities"
    ),
}
"""Entries of a report's `about`, by path with `[]` for any index."""
