"""Waits and early starts of which a capture records nothing but their effect: a host function, an early kernel.

callback   compute  [kernels]  (host function)  [kernels]      the API call has a row, the function has none
early      compute  [kernel 1 ....]
                         [kernel 2 ....]                       on one stream, and yet over one another
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from critpath.sim.errors import OptionValueError
from critpath.sim.host_instructions import HostCallback
from critpath.sim.instructions import Instruction, KernelLaunch, StreamSync
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "UnrecordedWaits"]

_KINDS = ("callback", "early", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrecordedWaits(Options):
    """Options of `unrecorded_waits`."""

    rounds: int = 4
    kind: str = "both"
    """Which of them: callback, early or both."""
    callback_us: float = 250.0
    """What the host function takes [µs]."""
    early_us: float = 3.0
    """How long before the end of its predecessor a kernel may start [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.kind not in _KINDS:
            raise OptionValueError(f"kind is one of {_KINDS}, not {self.kind!r}")


def job(options: UnrecordedWaits) -> Job:
    """One process with one device a rank; ranks don't meet."""
    return Job(lone_ranks(options, lambda place: _threads(place, options)), graph_trace=options.graph_trace)


def _threads(place: Seat, options: UnrecordedWaits) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.rounds):
                main.kernels(place.compute, transformer.MLP)
                if options.kind != "early":
                    main.add(HostCallback(place.compute, round(options.callback_us * 1_000)))
                main.kernels(place.compute, transformer.ATTENTION)
            main.add(StreamSync(place.compute))
    if options.kind != "callback":
        early_ns = round(options.early_us * 1_000)
        main = Script(instructions=[_early(instruction, early_ns) for instruction in main.instructions])
    return (main.thread(place.pid, "python", dispatch_ns=2_500),)


def _early(instruction: Instruction, early_ns: int) -> Instruction:
    """The same launch, allowed to start before its predecessor ends."""
    return replace(instruction, early_ns=early_ns) if isinstance(instruction, KernelLaunch) else instruction


SCENARIO = Scenario("unrecorded_waits", "host functions and early starts, which have no rows", UnrecordedWaits, job)
