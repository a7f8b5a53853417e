"""Kernel rows whose start and end are 0, since no timing could be collected for them, beside sound ones."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.program import Job
from critpath.sim.scenarios.cluster import lone_ranks
from critpath.sim.scenarios.damaged import ordinary_threads
from critpath.sim.scenarios.scenario import Options, Scenario
from critpath.sim.spoils import Damage, DamagedTimes

__all__ = ["SCENARIO", "ZeroTimestamps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroTimestamps(Options):
    """Options of `zero_timestamps`."""

    layers: int = 4
    every: int = 20
    """Every how many kernel rows one has no times."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.every < 1:
            raise OptionValueError(f"every must be at least 1, not {self.every}")


def job(options: ZeroTimestamps) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: ordinary_threads(place, options, options.layers))
    return Job(
        reports, graph_trace=options.graph_trace, spoils=(DamagedTimes(damage=Damage.ZERO, every=options.every),)
    )


SCENARIO = Scenario("zero_timestamps", "kernel rows without times", ZeroTimestamps, job, faithful=False)
