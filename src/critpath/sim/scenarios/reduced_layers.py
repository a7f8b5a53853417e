"""The smallest training step: layers that are each all-reduced before the next one, then the optimizer."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options
from critpath.sim.script import Script

__all__ = ["ReducedLayers", "reduced_layers"]

_MESSAGE_BYTES = 16_777_216


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedLayers(Options):
    """Options of the step: layers, and the transfer of the all-reduce after each."""

    layers: int = 4
    all_reduce_us: float = 600.0


def reduced_layers(main: Script, place: Seat, group: Communicator, options: ReducedLayers) -> None:
    """Write the steps of one rank into its main thread's script; `group` reduces together."""
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(options.layers):
                main.kernels(place.compute, transformer.MLP)
                main.edge(place.compute, place.comm)
                main.collective(place.comm, group, "all_reduce", _MESSAGE_BYTES, options.all_reduce_us)
                main.edge(place.comm, place.compute)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
