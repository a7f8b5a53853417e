"""Launches that wait for another thread: a lock it holds, a batch it has not loaded, a call into the system.

loader   [read ..... holds the lock ....]  raises "batch"
main     L L L [pthread_mutex_lock .....] L L [pthread_cond_wait ...] L L [mmap64 ......] L L
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.host_instructions import CondWait, LockAcquire, LockRelease, OsCall
from critpath.sim.instructions import Signal, SignalWait, StreamSync
from critpath.sim.program import Job, Thread
from critpath.sim.recording import Recording
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "HostLocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLocks(Options):
    """Options of `host_locks`."""

    lock_us: float = 2_600.0
    """How long the other thread holds the lock [µs]."""
    load_us: float = 3_800.0
    """How long it loads [µs]."""
    mmap_us: float = 1_500.0
    scheduling: bool = False
    """Whether the capture holds threads' leaving and regaining a CPU."""


def job(options: HostLocks) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: _threads(place, options))
    return Job(reports, graph_trace=options.graph_trace, recording=Recording(scheduling=options.scheduling))


def _threads(place: Seat, options: HostLocks) -> Sequence[Thread]:
    variation = Variation(options.seed, place.rank)
    main, loader = Script(variation), Script(variation)
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.add(Signal(f"step {step}"))
            main.kernels(place.compute, transformer.ATTENTION)
            main.cpu("python", 40)
            main.add(LockAcquire("interpreter"))
            main.kernels(place.compute, transformer.MLP)
            main.add(LockRelease("interpreter"))
            main.add(CondWait(f"batch {step}"))
            main.kernels(place.compute, transformer.MLP)
            main.add(OsCall("mmap64", round(options.mmap_us * 1_000)))
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
        loader.add(SignalWait(f"step {step}"), LockAcquire("interpreter"))
        loader.add(OsCall("read", round(0.7 * options.lock_us * 1_000)))
        loader.cpu("unpickle", 0.3 * options.lock_us)
        loader.add(LockRelease("interpreter"), OsCall("read", round(options.load_us * 1_000)), Signal(f"batch {step}"))
    return (
        main.thread(place.pid, "python", dispatch_ns=2_500),
        loader.thread(place.pid + 88, "pt_data_pin"),
    )


SCENARIO = Scenario("host_locks", "launches that wait for a lock, a batch and system calls", HostLocks, job)
