"""A file cut out of a longer capture: device work in flight at the cut has lost its launch.

host      L L L L L L ┊ L L L L          the host is far ahead, so many kernels behind the cut were launched before it
compute      [k][k][k]┊[k][k][k][k]
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
from critpath.sim.spoils import Slice

__all__ = ["SCENARIO", "SlicedCapture"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicedCapture(Options):
    """Options of `sliced_capture`."""

    steps: int = 8
    layers: int = 6
    cut_step: int = 2
    """The step in which the file begins."""
    cut_us: float = 300.0
    """How far into it [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not 0 <= self.cut_step < self.steps:
            raise OptionValueError(f"cut_step must name one of {self.steps} steps, not {self.cut_step}")


def job(options: SlicedCapture) -> Job:
    """One process with one device a rank; ranks don't meet."""
    reports = lone_ranks(options, lambda place: _threads(place, options))
    cut = Slice(step=options.cut_step, after_ns=round(options.cut_us * 1_000))
    return Job(reports, graph_trace=options.graph_trace, spoils=(cut,))


def _threads(place: Seat, options: SlicedCapture) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 1_048_576, gbps=24.0)
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.layers):
                main.kernels(place.compute, transformer.ATTENTION)
                main.kernels(place.compute, transformer.MLP)
            if step % 4 == 3:
                main.add(StreamSync(place.compute))
    main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


SCENARIO = Scenario("sliced_capture", "a file that begins in the middle of a step", SlicedCapture, job, faithful=False)
