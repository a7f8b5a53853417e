"""Data-parallel steps in which one rank is late: always the same, another each step, none, or merely from the start.

persistent   rank 2 works longer in every step          rotating   a different rank in each step
start_skew   one rank begins 100 ms early and waits: its window is long, its end is everyone's
Clocks of hosts and devices may be wrong; then nothing but matched collectives tells who was late.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.program import Job, Report, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import GPUS_A_HOST, Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "Straggler"]

_KINDS = ("persistent", "rotating", "none", "start_skew")
_CAUSES = ("kernels", "work", "host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler(Options):
    """Options of `straggler`."""

    ranks: int = 4
    steps: int = 6
    layers: int = 4
    kind: str = "persistent"
    """Who is late: persistent, rotating, none or start_skew."""
    cause: str = "kernels"
    """Why: all kernels longer, more work of one kind, or a host that pauses."""
    late_rank: int = 1
    lag: float = 0.25
    """How much longer a late rank takes for its compute."""
    skew_ms: float = 100.0
    """How much earlier the rank with a start skew begins [ms]."""
    all_reduce_us: float = 350.0
    ranks_a_host: int = GPUS_A_HOST
    utc_error_ms: float = 0.0
    """Hosts' UTC is wrong by up to this much either way [ms]."""
    drift_ppm: float = 0.0
    """Hosts' clocks drift by up to this much either way."""
    bias_us: float = 0.0
    """Devices' timestamps are off by up to this much either way [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.kind not in _KINDS or self.cause not in _CAUSES:
            raise OptionValueError(f"kind is one of {_KINDS} and cause one of {_CAUSES}, not {self.kind}, {self.cause}")
        if not 0 <= self.late_rank < self.ranks:
            raise OptionValueError(f"late_rank must be a rank below {self.ranks}, not {self.late_rank}")
        if not 1 <= self.ranks_a_host <= GPUS_A_HOST:
            raise OptionValueError(f"ranks_a_host is 1 to {GPUS_A_HOST}, not {self.ranks_a_host}")


def job(options: Straggler) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    reports = tuple(_report(rank, group, options) for rank in range(options.ranks))
    return Job(reports, graph_trace=options.graph_trace)


def _report(rank: int, group: Communicator, options: Straggler) -> Report:
    host, local = divmod(rank, options.ranks_a_host)
    place = replace(seat(local, options.ranks), rank=rank, hostname=f"node{host}")
    report = rank_report(place, (_main(place, group, options),), seed=options.seed)
    clocks = random.Random(f"clock:{options.seed}:{host}")  # noqa: S311 - errors of clocks, no secret
    utc_error_ns = round(clocks.uniform(-1, 1) * options.utc_error_ms * 1e6)
    drift_ppm = clocks.uniform(-1, 1) * options.drift_ppm
    biases = random.Random(f"bias:{options.seed}:{rank}")  # noqa: S311 - the same
    bias_ns = round(biases.uniform(-1, 1) * options.bias_us * 1_000)
    bias = (0,) * place.device + (bias_ns,) if bias_ns else ()
    clock = replace(report.clock, utc_error_ns=utc_error_ns, drift_ppm=drift_ppm, device_bias_ns=bias)
    (process,) = report.processes
    if options.kind == "start_skew":
        # All begin together but one, which is early by more than any start of a process differs.
        early_ns = round(options.skew_ms * 1e6) if rank == options.late_rank else 0
        process = replace(process, start_ns=process.start_ns - early_ns)
        clock = replace(clock, session_start_ns=clock.session_start_ns - early_ns)
    return replace(report, clock=clock, processes=(process,))


def _late_share(rank: int, step: int, options: Straggler) -> float:
    """How much longer this rank takes in this step."""
    if options.kind == "persistent":
        return options.lag if rank == options.late_rank else 0.0
    if options.kind == "rotating":
        return options.lag if rank == (options.late_rank + step) % options.ranks else 0.0
    return 0.0


def _main(place: Seat, group: Communicator, options: Straggler) -> Thread:
    main = Script(Variation(options.seed, place.rank), EventPool())
    layer_us = sum(us for _, us in (*transformer.ATTENTION, *transformer.MLP))
    for step in range(options.steps):
        late = _late_share(place.rank, step, options)
        slower = 1 + late if options.cause == "kernels" else 1.0
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.scaled(transformer.INPUT, slower))
            for _ in range(options.layers):
                main.kernels(place.compute, transformer.scaled(transformer.ATTENTION, slower))
                # Uneven work shows in the kernels that do it, and in no other.
                more = 1 + late * layer_us / 457 if options.cause == "work" else slower
                main.kernels(place.compute, transformer.scaled(transformer.MLP, more))
            if late and options.cause == "host":
                main.add(StreamSync(place.compute))
                main.cpu("garbage collection", late * layer_us * options.layers)
            main.kernels(place.compute, transformer.scaled(transformer.NORM, slower))
            main.edge(place.compute, place.comm)
            main.collective(place.comm, group, "all_reduce", 50_331_648, options.all_reduce_us)
            main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return main.thread(place.pid, "python", dispatch_ns=2_500)


SCENARIO = Scenario("straggler", "a late rank: persistent, rotating, none, or only its start", Straggler, job)
