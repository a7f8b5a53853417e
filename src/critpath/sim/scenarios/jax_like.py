"""One process that drives every GPU of its host, each from a thread of its own, as JAX does.

thread of device 0   XlaModule  L L L L L L        all threads in one process, one context and one set of streams a
thread of device 1   XlaModule  L L L L L L        device; collectives run on a stream beside the compute stream
"""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.errors import OptionValueError
from critpath.sim.instructions import Communicator, CopyDirection, Stream, StreamKind, StreamSync
from critpath.sim.program import Clock, Job, Process, Report, Thread
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import GPUS_A_HOST, START_NS
from critpath.sim.scenarios.scenario import Options, Scenario
from critpath.sim.script import EventPool, Script, Variation

__all__ = ["SCENARIO", "JaxLike"]

_PID = 91_186


@dataclass(frozen=True, slots=True, kw_only=True)
class JaxLike(Options):
    """Options of `jax_like`; `ranks` is the number of devices."""

    ranks: int = 8
    steps: int = 4
    layers: int = 2
    all_reduce_us: float = 260.0
    slow_device: int = -1
    """A device whose kernels all run longer; -1 is none."""
    slowdown: float = 1.25

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.ranks > GPUS_A_HOST:
            raise OptionValueError(f"a host has {GPUS_A_HOST} devices, not {self.ranks}")


def job(options: JaxLike) -> Job:
    """One report with one process."""
    group = Communicator("dp", options.ranks)
    lanes = [_lanes(device) for device in range(options.ranks)]
    process = Process(
        pid=_PID,
        name="python3",
        rank=None,
        streams=tuple(stream for lane in lanes for stream in lane),
        threads=tuple(_thread(device, lanes[device], group, options) for device in range(options.ranks)),
        start_ns=START_NS,
        device_names=tuple(
            f"Xla:#global={device},local={device},process=0,slice=0#" for device in range(options.ranks)
        ),
    )
    report = Report("node0", "node0", (process,), Clock(START_NS - 2_500_000_000))
    return Job((report,), graph_trace=options.graph_trace)


def _lanes(device: int) -> tuple[Stream, Stream, Stream]:
    """Null stream, compute and communication; stream ids go on from device to device."""
    first = 7 + 8 * device
    return (
        Stream(device, device + 1, first, StreamKind.LEGACY),
        Stream(device, device + 1, first + 1, StreamKind.NON_BLOCKING),
        Stream(device, device + 1, first + 2, StreamKind.NON_BLOCKING),
    )


def _thread(device: int, lanes: tuple[Stream, ...], group: Communicator, options: JaxLike) -> Thread:
    _, compute, comm = lanes
    script = Script(Variation(options.seed, device), EventPool(first=1 + 16 * device, size=6))
    factor = options.slowdown if device == options.slow_device else 1.0
    for step in range(options.steps):
        with script.range("XlaModule:#hlo_module=jit_train_step,program_id=11#", step=step):
            script.kernels(compute, transformer.scaled(transformer.INPUT, factor))
            for _ in range(options.layers):
                script.kernels(compute, transformer.scaled(transformer.ATTENTION, factor))
                script.kernels(compute, transformer.scaled(transformer.MLP, factor))
                script.edge(compute, comm)
                script.collective(comm, group, "all_reduce", 16_777_216, options.all_reduce_us)
                script.edge(comm, compute)
            script.kernels(compute, transformer.scaled(transformer.OPTIMIZER, factor))
            script.copy(compute, CopyDirection.DEVICE_TO_HOST, 4, gbps=1.0)
            script.add(StreamSync(compute))
    return script.thread(_PID + 40 + device, f"py_xla_execute{device}"[:15], dispatch_ns=1_500)


SCENARIO = Scenario("jax_like", "one process and eight devices, each with a launching thread", JaxLike, job)
