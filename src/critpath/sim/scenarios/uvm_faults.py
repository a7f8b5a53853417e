"""Managed memory: kernels that wait for pages inside, and a prefetch that holds its stream.

compute     [kernel ··fault··fault·····]            [kernel]      the fault's migrations lie inside the kernel
migrations          [in]  [in]        [prefetch in]               rows without stream, context or call
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.host_instructions import Prefetch
from critpath.sim.instructions import CopyDirection, Fault, KernelLaunch, StreamSync
from critpath.sim.kernels import ELEMENTWISE_ADD
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "UvmFaults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UvmFaults(Options):
    """Options of `uvm_faults`."""

    rounds: int = 4
    faults: int = 6
    """Migrations inside each faulting kernel."""
    migration_us: float = 45.0
    prefetch_us: float = 180.0


def job(options: UvmFaults) -> Job:
    """One process with one device a rank; ranks don't meet."""
    return Job(lone_ranks(options, lambda place: _threads(place, options)), graph_trace=options.graph_trace)


def _faulting(place: Seat, options: UvmFaults) -> KernelLaunch:
    """A kernel that needs pages again and again, the last time after others were evicted for them."""
    length_ns = round(options.migration_us * 1_000)
    faults = [Fault(8_000 + i * (length_ns + 6_000), 2_097_152, length_ns) for i in range(options.faults)]
    faults[-1:] = [Fault(faults[-1].after_ns, 2_097_152, length_ns, CopyDirection.MIGRATION_OUT)]
    whole_ns = faults[-1].after_ns + length_ns + 20_000
    return KernelLaunch(place.compute, ELEMENTWISE_ADD, whole_ns, faults=tuple(faults))


def _threads(place: Seat, options: UvmFaults) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.rounds):
                main.add(_faulting(place, options))
                main.kernels(place.compute, transformer.MLP)
                main.add(Prefetch(place.compute, 8_388_608, round(options.prefetch_us * 1_000)))
                main.kernels(place.compute, transformer.ATTENTION)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("uvm_faults", "page faults inside kernels, and prefetches in stream order", UvmFaults, job)
