"""Decoding with CUDA graphs: one launch a token, hundreds of kernels behind it, and a host that is late for each.

host      [scheduler ...] G ──── sync ──── [scheduler ...] G ──── sync
compute                     [graph........][sample]           [graph........][sample]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import CopyDirection, Graph, GraphLaunch, GraphNode, StreamSync
from critpath.sim.kernels import COPY_KERNEL, ELEMENTWISE_ADD, GELU, GEMM_BIAS, GEMM_NVJET, LAYER_NORM, SOFTMAX
from critpath.sim.program import Job, Thread
from critpath.sim.scenarios.cluster import Seat, lone_ranks
from critpath.sim.scenarios.scenario import FIRST_ITERATION, Options, Scenario
from critpath.sim.script import Script, Variation

__all__ = ["SCENARIO", "InferenceGraphs"]

_LAYER = (
    (LAYER_NORM, 2.4),
    (GEMM_BIAS, 6.1),
    (SOFTMAX, 3.0),
    (GEMM_NVJET, 4.2),
    (ELEMENTWISE_ADD, 1.8),
    (LAYER_NORM, 2.4),
    (GEMM_NVJET, 7.5),
    (GELU, 2.0),
    (GEMM_NVJET, 7.1),
    (ELEMENTWISE_ADD, 1.8),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceGraphs(Options):
    """Options of `inference_graphs`; a step is a token."""

    steps: int = 10
    layers: int = 20
    """Layers of ten kernels each, all in one graph."""
    scheduler_us: float = 700.0
    """Host work before each token [µs]."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.layers < 1:
            raise OptionValueError(f"layers must be at least 1, not {self.layers}")


def job(options: InferenceGraphs) -> Job:
    """One process with one device a rank; ranks don't meet."""
    return Job(lone_ranks(options, lambda place: _threads(place, options)), graph_trace=options.graph_trace)


def _graph(options: InferenceGraphs) -> Graph:
    """The layers of a model as a chain of nodes."""
    kernels = _LAYER * options.layers
    nodes = tuple(
        GraphNode(kernel, round(us * 1_000), (place - 1,) if place else ())
        for place, (kernel, us) in enumerate(kernels)
    )
    return Graph(graph_id=4, exec_id=9, nodes=nodes)


def _threads(place: Seat, options: InferenceGraphs) -> Sequence[Thread]:
    main = Script(Variation(options.seed, place.rank, spread=0.05))
    graph = _graph(options)
    for step in range(options.steps):
        with main.range(f"decode step {FIRST_ITERATION + step}", step=step):
            main.cpu("scheduler", options.scheduler_us)
            main.copy(place.compute, CopyDirection.HOST_TO_DEVICE, 4_096, gbps=2.0)
            main.kernel(place.compute, COPY_KERNEL, 2.0)
            main.add(GraphLaunch(place.compute, graph))
            main.kernels(place.compute, ((SOFTMAX, 11.0), (COPY_KERNEL, 2.5)))
            main.copy(place.compute, CopyDirection.DEVICE_TO_HOST, 64, gbps=0.5)
            main.add(StreamSync(place.compute))
    return (main.thread(place.pid, "python", dispatch_ns=1_500),)


SCENARIO = Scenario(
    "inference_graphs", "decoding with one graph launch a token behind a slow host", InferenceGraphs, job
)
