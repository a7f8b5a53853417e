"""A capture whose records are damaged or missing, each kind as an option; the run itself was an ordinary one.

truth    [k][k][k][k][k][k]        what the budgets of `truth.json` come from
file     [k]   [k] 0/0 [k] ...     what a reader finds
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import CopyDirection, StreamSync
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation
from critpath.sim.spoils import Damage, DamagedTimes, Diagnostic, LostRows, LostTable, Spoil

__all__ = ["SCENARIO", "Damaged", "ordinary_threads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged(Options):
    """Options of `damaged`."""

    layers: int = 4
    lost_share: float = 0.03
    """Share of device rows that are missing."""
    reversed_every: int = 67
    """Every how many kernel rows one ends before it starts; 0 is none."""
    minimum_every: int = 0
    far_every: int = 101
    """Every how many kernel rows one lies 1e14 ns away."""
    lost_table: str = ""
    """A table that is missing."""
    message: str = "Not all CUDA events might have been collected."
    """What the profiler says of it; empty is nothing."""
    severity: int = 2

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0 <= self.lost_share < 1:
            raise OptionValueError(f"lost_share must be at least 0 and below 1, not {self.lost_share}")


def job(options: Damaged) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: ordinary_threads(place, options, options.layers))
    return Job(reports, graph_trace=options.graph_trace, spoils=tuple(_spoils(options)))


def _spoils(options: Damaged) -> list[Spoil]:
    every = {
        Damage.REVERSED: options.reversed_every,
        Damage.MINIMUM: options.minimum_every,
        Damage.FAR: options.far_every,
    }
    spoils: list[Spoil] = [DamagedTimes(damage=damage, every=count) for damage, count in every.items() if count]
    if options.lost_share:
        spoils.append(LostRows(share=options.lost_share, seed=options.seed))
    if options.lost_table:
        spoils.append(LostTable(table=options.lost_table))
    if options.message:
        spoils.append(Diagnostic(text=options.message, severity=options.severity))
    return spoils


def ordinary_threads(place: Seat, options: Options, layers: int) -> Sequence[Thread]:
    """Steps with nothing odd about them."""
    main = Script(Variation(options.seed, place.rank))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 1_048_576, gbps=24.0)
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(layers):
                main.kernels(place.compute, transformer.ATTENTION)
                main.kernels(place.compute, transformer.MLP)
            main.kernels(place.compute, transformer.HEAD)
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("damaged", "rows that are lost, reversed or far away", Damaged, job, faithful=False)
