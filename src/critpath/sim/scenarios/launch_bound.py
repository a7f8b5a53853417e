"""Training whose device waits for the host: tiny kernels far apart, values read back, and a collective in a gap.

host      [cpu]L [cpu]L [cpu]L ─ item() ─ [cpu........]L
compute        ▪      ▪      ▪                         ▪
comm                             [all-reduce]            alone in its gap, yet the next kernel was launched late
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, Graph, GraphLaunch, GraphNode, StreamSync
from critpath.sim.kernels import COPY_KERNEL, ELEMENTWISE_ADD, GELU, GEMM_NVJET, LAYER_NORM
from critpath.sim.program import Job, Report
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import Seat, rank_report, seat
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "LaunchBound"]

_BLOCK: transformer.Sequence = (
    (LAYER_NORM, 4.0),
    (GEMM_NVJET, 9.0),
    (GELU, 3.0),
    (GEMM_NVJET, 8.0),
    (ELEMENTWISE_ADD, 3.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchBound(Options):
    """Options of `launch_bound`."""

    ranks: int = 2
    blocks: int = 40
    """Groups of five tiny kernels a step."""
    cpu_us: float = 24.0
    """Host work before each kernel [µs]."""
    item_every: int = 10
    """Blocks between values read back to the host; 0 is never."""
    graphs: bool = False
    """Whether each block is one graph launch instead of five kernel launches."""
    gap_us: float = 900.0
    """Host work of the gap in which the collective runs [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.blocks < 1 or self.item_every < 0:
            raise OptionValueError(f"blocks must be at least 1 and item_every at least 0: {self}")


def job(options: LaunchBound) -> Job:
    """One report a rank."""
    group = Communicator("dp", options.ranks)
    reports = tuple(_report(seat(rank, options.ranks), group, options) for rank in range(options.ranks))
    return Job(reports, graph_trace=options.graph_trace)


def _graph() -> Graph:
    """One block as a chain of nodes."""
    nodes = tuple(
        GraphNode(kernel, round(us * 1_000), (place - 1,) if place else ()) for place, (kernel, us) in enumerate(_BLOCK)
    )
    return Graph(graph_id=3, exec_id=5, nodes=nodes)


def _report(place: Seat, group: Communicator, options: LaunchBound) -> Report:
    main = Script(Variation(options.seed, place.rank, spread=0.05), EventPool())
    graph = _graph()
    for step in range(options.steps):
        with main.range(f"iteration {FIRST_ITERATION + step}", step=step):
            main.kernels(place.compute, ((COPY_KERNEL, 5.0),))
            with main.range("forward"):
                for block in range(options.blocks):
                    _block(main, place, graph, options)
                    if options.item_every and block % options.item_every == options.item_every - 1:
                        main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
                        main.add(StreamSync(place.compute))
            main.edge(place.compute, place.comm)
            main.collective(place.comm, group, "all_reduce", 8_388_608, 0.6 * options.gap_us)
            main.cpu("schedule", options.gap_us)
            with main.range("optimizer"):
                main.kernels(place.compute, transformer.scaled(transformer.OPTIMIZER, 0.1))
                main.edge(place.comm, place.compute)
                main.kernels(place.compute, transformer.scaled(transformer.OPTIMIZER, 0.1))
    return rank_report(place, (main.thread(place.pid, "python"),), seed=options.seed)


def _block(main: Script, place: Seat, graph: Graph, options: LaunchBound) -> None:
    if options.graphs:
        main.cpu("python", options.cpu_us)
        main.add(GraphLaunch(place.compute, graph))
        return
    for kernel, us in _BLOCK:
        main.cpu("python", options.cpu_us)
        main.kernel(place.compute, kernel, us)


SCENARIO = Scenario("launch_bound", "tiny kernels behind a slow host, and a collective inside a gap", LaunchBound, job)
