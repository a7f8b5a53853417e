"""Expert-parallel training whichever dispatcher it uses: what `moe_hybrid_ep` and `moe_deepep` have in common.

compute  [attention, router]                                    [experts]                            [unpack, next]
comm                        [pack][notify ····][dispatch ·····]          [notify ····][combine ·····]
                                  waits for all ranks                    waits for the rank with most tokens
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, StreamSync
from critpath.sim.kernels import GELU
from critpath.sim.moe_kernels import EXPERT_DOWN, EXPERT_UP, ROUTER, Dispatcher
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["MoeOptions", "moe_job"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeOptions(Options):
    """Options of the expert-parallel scenarios."""

    ranks: int = 4
    steps: int = 4
    layers: int = 4
    pack_us: float = 60.0
    notify_us: float = 8.0
    """What a notify takes once all ranks are there [µs]."""
    transfer_us: float = 110.0
    """What a dispatch or combine takes once all ranks are there [µs]."""
    expert_us: float = 240.0
    """Experts of a layer at an even load [µs]."""
    imbalance: float = 0.35
    """How far a rank's load in a layer may lie above or below the even one."""
    hot_rank: int = -1
    """A rank whose experts are always the busiest; -1 is none."""
    all_reduce_us: float = 500.0
    """Transfer time of the gradients of what all ranks hold, by NCCL [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if not -1 <= self.hot_rank < self.ranks:
            raise OptionValueError(f"hot_rank must be -1 or a rank below {self.ranks}, not {self.hot_rank}")
        if not 0 <= self.imbalance < 1:
            raise OptionValueError(f"imbalance must be at least 0 and below 1, not {self.imbalance}")


def moe_job(options: MoeOptions, dispatcher: Dispatcher) -> Job:
    """One report a rank; all ranks are one expert-parallel group, and one data-parallel group too."""
    experts = Communicator("ep", options.ranks, dispatcher.backend)
    group = Communicator("dp", options.ranks)
    reports = []
    for rank in range(options.ranks):
        layer = _Layer(seat(rank, options.ranks), experts, dispatcher, options)
        reports.append(_report(layer, group, options))
    return Job(tuple(reports), graph_trace=options.graph_trace)


class _Layer:
    """Writes one rank's part in a layer."""

    def __init__(self, place: Seat, experts: Communicator, dispatcher: Dispatcher, options: MoeOptions) -> None:
        self.place = place
        self._experts = experts
        self._dispatcher = dispatcher
        self._options = options
        # Loads of all ranks come from one sequence, so that they add up for every rank alike.
        self._loads = random.Random(f"loads:{options.seed}")  # noqa: S311 - load of experts, no secret

    def _load(self) -> float:
        """This rank's share of a layer's tokens, 1 being even."""
        options = self._options
        drawn = [self._loads.uniform(-options.imbalance, options.imbalance) for _ in range(options.ranks)]
        if options.hot_rank >= 0:
            drawn[options.hot_rank] = options.imbalance
        mean = sum(drawn) / len(drawn)
        return 1 + drawn[self.place.rank] - mean

    def write(self, main: Script) -> None:
        """Attention, router, dispatch, experts, combine."""
        place, used, options = self.place, self._dispatcher, self._options
        size = 4_096 * 7_168
        main.kernels(place.compute, transformer.ATTENTION)
        main.kernel(place.compute, ROUTER, 14)
        main.edge(place.compute, place.comm)
        main.kernel(place.comm, used.pack, options.pack_us)
        main.rendezvous(place.comm, used.notify, self._experts, "notify", 64, options.notify_us)
        main.rendezvous(place.comm, used.dispatch, self._experts, "dispatch", size, options.transfer_us)
        main.edge(place.comm, place.compute)
        load = self._load()
        main.kernel(place.compute, EXPERT_UP, 0.55 * options.expert_us * load)
        main.kernel(place.compute, GELU, 0.05 * options.expert_us * load)
        main.kernel(place.compute, EXPERT_DOWN, 0.4 * options.expert_us * load)
        main.edge(place.compute, place.comm)
        main.rendezvous(place.comm, used.notify_combine, self._experts, "notify", 64, options.notify_us)
        main.rendezvous(place.comm, used.combine, self._experts, "combine", size, options.transfer_us)
        main.kernel(place.comm, used.unpack, 0.7 * options.pack_us)
        main.edge(place.comm, place.compute)


def _report(layer: _Layer, group: Communicator, options: MoeOptions) -> Report:
    place = layer.place
    main = Script(Variation(options.seed, place.rank), EventPool(size=8))
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.layers):
                layer.write(main)
            main.kernels(place.compute, transformer.HEAD)
            main.edge(place.compute, place.copies_in)
            main.collective(place.copies_in, group, "all_reduce", 8_388_608, options.all_reduce_us)
            main.edge(place.copies_in, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            main.add(StreamSync(place.compute))
    return rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=options.seed)
