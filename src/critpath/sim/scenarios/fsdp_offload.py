"""Fully sharded training with parameters kept on the host: each layer waits for its parameters to arrive.

    copies_in   [H2D shard 1........][H2D shard 2........]
    comm                             [all-gather 1]       [all-gather 2]
    compute                                        [D2D][layer 1]      [D2D][layer 2]
    copies_out                                        gradients: reduce-scatter, then [D2H shard]

The op just before a layer's first kernel is a tiny device-to-device copy; what the layer waited for is the copy of its
parameters from the host, two event edges further back.
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, CopyDirection, StreamSync, hand_over
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "FsdpOffload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FsdpOffload(Options):
    """Options of `fsdp_offload`."""

    ranks: int = 2
    steps: int = 5
    layers: int = 8
    layer_bytes: int = 201_326_592
    """Parameters of a layer over all ranks [bytes]."""
    copy_gbps: float = 26.0
    """Bandwidth of host copies [GB/s]."""
    gather_us: float = 480.0
    """Transfer time of a layer's all-gather or reduce-scatter [µs]."""


def job(options: FsdpOffload) -> Job:
    """One report a rank."""
    group = Communicator("fsdp", options.ranks)
    reports = tuple(_report(seat(rank, options.ranks), group, options) for rank in range(options.ranks))
    return Job(reports, graph_trace=options.graph_trace)


class _Rank:
    """Writes what one rank does with a layer's parameters and gradients."""

    def __init__(self, place: Seat, group: Communicator, options: FsdpOffload) -> None:
        self.place = place
        self.group = group
        self.options = options
        self.shard_bytes = options.layer_bytes // options.ranks

    def fetch(self, script: Script) -> None:
        """Bring a layer's shard from the host, gather the others, and move them in place."""
        place, options = self.place, self.options
        script.copy(place.copies_in, CopyDirection.HOST_TO_DEVICE, self.shard_bytes, gbps=options.copy_gbps)
        script.edge(place.copies_in, place.comm)
        script.collective(place.comm, self.group, "all_gather", self.shard_bytes, options.gather_us)
        script.edge(place.comm, place.compute)
        script.copy(place.compute, CopyDirection.DEVICE_TO_DEVICE, 4_096, gbps=900.0)

    def reduce(self, script: Script) -> None:
        """Scatter a layer's gradients and move this rank's shard to the host."""
        place, options = self.place, self.options
        script.edge(place.compute, place.comm)
        script.collective(place.comm, self.group, "reduce_scatter", self.shard_bytes, options.gather_us)
        script.edge(place.comm, place.copies_out)
        script.copy(place.copies_out, CopyDirection.DEVICE_TO_HOST, self.shard_bytes, gbps=options.copy_gbps)


def _report(place: Seat, group: Communicator, options: FsdpOffload) -> Report:
    variation, events = Variation(options.seed, place.rank), EventPool(size=12)
    main, autograd = Script(variation, events), Script(variation, events)
    rank = _Rank(place, group, options)
    for step in range(options.steps):
        (begin, end), awaited, done = hand_over(f"backward {step}")
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.cpu("next batch", 150)
            with main.range("forward"):
                main.kernels(place.compute, transformer.INPUT)
                for _ in range(options.layers):
                    rank.fetch(main)
                    main.kernels(place.compute, transformer.ATTENTION)
                    main.kernels(place.compute, transformer.MLP)
                main.kernels(place.compute, transformer.HEAD)
            with main.range("backward"):
                main.add(begin, end)
            autograd.add(awaited)
            autograd.kernels(place.compute, transformer.HEAD_GRADIENT)
            for _ in range(options.layers):
                rank.fetch(autograd)
                autograd.kernels(place.compute, transformer.MLP_GRADIENT)
                autograd.kernels(place.compute, transformer.ATTENTION_GRADIENT)
                rank.reduce(autograd)
            autograd.add(done, StreamSync(place.copies_out))
            with main.range("optimizer"):
                main.add(StreamSync(place.copies_out))
                main.cpu("host optimizer", 2_600)
    threads = (
        main.thread(place.pid, "python", dispatch_ns=3_500),
        autograd.thread(place.pid + 61, "pt_autograd_0", dispatch_ns=4_200),
    )
    return rank_report(place, threads, seed=options.seed)


SCENARIO = Scenario(
    "fsdp_offload", "sharded parameters copied from the host just before they are needed", FsdpOffload, job
)
