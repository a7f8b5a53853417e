"""Pipeline-parallel training whatever its schedule: what `pipeline_1f1b` and `pipeline_interleaved` have in common.

stage 0  [F0][F1][F2][F3]········[B0][F4][B1]...            every stage holds other layers; the first also the
stage 1      [F0][F1][F2]····[B0][F3][B1]...                embedding, the last also the head
stage 2          [F0][F1][B0]...
A message's kernel is resident from when its own end is ready until the other end is and the data has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["PipelineOptions", "Turn", "interleaved", "one_forward_one_backward", "pipeline_job"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions(Options):
    """Options of the pipeline scenarios; every rank is a stage."""

    ranks: int = 4
    steps: int = 3
    micro_batches: int = 8
    chunks: int = 1
    """Parts of the model that each stage holds."""
    layers: int = 1
    """Layers of a part."""
    message_us: float = 45.0
    slow_stage: int = -1
    """A stage whose compute kernels all run longer; -1 is none."""
    slowdown: float = 1.3

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.chunks > 1 and self.micro_batches % self.ranks:
            raise OptionValueError(f"micro_batches must be a multiple of {self.ranks}, not {self.micro_batches}")
        if not -1 <= self.slow_stage < self.ranks:
            raise OptionValueError(f"slow_stage must be -1 or a stage below {self.ranks}, not {self.slow_stage}")


class Turn(NamedTuple):
    """One micro-batch through one part of a stage, forward or backward."""

    forward: bool
    chunk: int
    micro_batch: int


def one_forward_one_backward(stage: int, options: PipelineOptions) -> list[Turn]:
    """The order of a stage's turns: forwards until the first gradient comes, then one of each."""
    warm = min(options.ranks - stage - 1, options.micro_batches)
    forwards = [Turn(True, 0, i) for i in range(options.micro_batches)]
    backwards = [Turn(False, 0, i) for i in range(options.micro_batches)]
    return _alternating(forwards, backwards, warm)


def interleaved(stage: int, options: PipelineOptions) -> list[Turn]:
    """The same for stages that hold several parts: groups of as many micro-batches as stages pass part after part."""
    stages, chunks, total = options.ranks, options.chunks, options.micro_batches * options.chunks
    forwards, backwards = [], []
    for turn in range(total):
        group, inside = divmod(turn, stages * chunks)
        chunk, offset = divmod(inside, stages)
        forwards.append(Turn(True, chunk, group * stages + offset))
        backwards.append(Turn(False, chunks - 1 - chunk, group * stages + offset))
    warm = min(2 * (stages - stage - 1) + (chunks - 1) * stages, total)
    return _alternating(forwards, backwards, warm)


def _alternating(forwards: Sequence[Turn], backwards: Sequence[Turn], warm: int) -> list[Turn]:
    """`warm` forwards, then one forward and one backward each, then the backwards that are left."""
    turns = list(forwards[:warm])
    for forward, backward in zip(forwards[warm:], backwards, strict=False):
        turns += (forward, backward)
    return turns + list(backwards[len(forwards) - warm :])


def pipeline_job(options: PipelineOptions, orders: Sequence[Sequence[Turn]]) -> Job:
    """One report a stage, which takes its turns in the order that `orders` has for it."""
    seats = [seat(rank, options.ranks) for rank in range(options.ranks)]
    reports = tuple(_report(place, order, options) for place, order in zip(seats, orders, strict=True))
    return Job(reports, graph_trace=options.graph_trace)


class _Stage:
    """Writes a stage's turns: receive, compute, send; each direction of each kind of message has its own stream."""

    def __init__(self, place: Seat, options: PipelineOptions) -> None:
        self._place = place
        self._options = options
        self._parts = options.ranks * options.chunks
        self._channels = (place.comm, place.copies_in, place.copies_out, place.streams[4])

    def write(self, main: Script, turn: Turn) -> None:
        """One turn."""
        place, options = self._place, self._options
        part = turn.chunk * options.ranks + place.rank
        # Activations go from each part to the next, gradients the other way.
        source, target = (part - 1, part + 1) if turn.forward else (part + 1, part - 1)
        received, sent = self._channels[:2] if turn.forward else self._channels[2:]
        size, us = 16_777_216, options.message_us
        if 0 <= source < self._parts:
            main.message(received, self._pair(source, part), "recv", source % options.ranks, size, us)
            main.edge(received, place.compute)
        for kernels in self._kernels(turn, part):
            main.kernels(place.compute, kernels)
        if 0 <= target < self._parts:
            main.edge(place.compute, sent)
            main.message(sent, self._pair(part, target), "send", target % options.ranks, size, us)

    def _kernels(self, turn: Turn, part: int) -> list[transformer.Sequence]:
        layers = self._options.layers
        if turn.forward:
            first = [transformer.INPUT] if part == 0 else []
            last = [transformer.HEAD] if part == self._parts - 1 else []
            return [*first, *[transformer.ATTENTION, transformer.MLP] * layers, *last]
        head = [transformer.HEAD_GRADIENT] if part == self._parts - 1 else []
        return [*head, *[transformer.MLP_GRADIENT, transformer.ATTENTION_GRADIENT] * layers]

    def _pair(self, source: int, target: int) -> Communicator:
        """The two ends of a message; all stages are one communicator for the library."""
        return Communicator(f"pp:{source}>{target}", 2, parent="pp", parent_size=self._options.ranks)


def _report(place: Seat, order: Sequence[Turn], options: PipelineOptions) -> Report:
    main, stage = Script(Variation(options.seed, place.rank), EventPool(size=8)), _Stage(place, options)
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            for turn in order:
                stage.write(main, turn)
            with main.range("optimizer"):
                main.kernels(place.compute, transformer.NORM)
                main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    slowdown = options.slowdown if place.rank == options.slow_stage else 1.0
    threads = (main.thread(place.pid, "python", dispatch_ns=1_500),)
    return rank_report(place, threads, seed=options.seed, device_slowdown=slowdown)
