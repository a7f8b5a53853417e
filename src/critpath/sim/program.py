"""What a program is: host threads that issue device work, and the streams that order it.

A `Job` is a set of reports (one export each); a report holds processes; a process has streams on its devices and host
threads, each a sequence of instructions. Executing a job twice gives the same result: chance belongs to whoever writes
the program, never to the execution.

    stream = Stream(device=0, context=1, stream=7, kind=StreamKind.LEGACY)
    thread = Thread(tid=4242, name="python", instructions=(KernelLaunch(stream, GEMM_NVJET, duration_ns=90_000),))
    process = Process(pid=4242, name="python", rank=0, streams=(stream,), threads=(thread,))
    job = Job((Report("rank0", "node0", (process,)),))
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from critpath.sim.instructions import Instruction, Stream
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.recording import Recording, TrainerLog
from critpath.sim.spoils import Spoil

__all__ = [
    "Clock",
    "Costs",
    "Job",
    "Process",
    "Report",
    "Thread",
]


@dataclass(frozen=True, slots=True)
class Thread:
    """A host thread. `dispatch_ns` is what the framework spends after each call that issues device work."""

    tid: int
    name: str
    instructions: tuple[Instruction, ...]
    dispatch_ns: int = 0


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its devices are those of its streams.

    The slowdowns stretch compute kernels and CPU work; 1.0 is none. The first ids are where its counters begin, equal
    between processes on purpose: no id is unique beyond its process.
    """

    pid: int
    name: str
    rank: int | None
    streams: tuple[Stream, ...]
    threads: tuple[Thread, ...]
    start_ns: int = 0
    device_slowdown: float = 1.0
    host_slowdown: float = 1.0
    visible_gpus: tuple[int, ...] = tuple(range(8))
    """Which GPU of the host each of the process's device ordinals is."""
    first_correlation: int = 1_201
    first_event_sync: int = 41
    device_names: tuple[str, ...] = ()
    """What the framework calls each device ordinal through NVTX."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What turns true time into the time axis of a report, with the errors that real clocks have.

    Reports of one host share its drift; whoever writes a program sees to that.
    """

    session_start_ns: int = 0
    """True time at which the axis has its zero."""
    drift_ppm: float = 0.0
    """How much faster than true time the host's clock runs [parts per million]."""
    utc_error_ns: int = 0
    """How far the host's idea of UTC is ahead [ns]."""
    device_bias_ns: tuple[int, ...] = ()
    """What converting GPU timestamps adds, by device ordinal [ns]; nothing for devices beyond."""

    @property
    def exact(self) -> bool:
        """Whether the axis differs from true time by its zero alone."""
        return not self.drift_ppm and not any(self.device_bias_ns)

    def at(self, true_ns: int) -> int:
        """An instant of the host on the report's axis [ns]."""
        elapsed_ns = true_ns - self.session_start_ns
        return elapsed_ns + round(elapsed_ns * self.drift_ppm * 1e-6) if self.drift_ppm else elapsed_ns

    def all_at(self, true_ns: Iterable[int]) -> list[int]:
        """Many instants of the host at once."""
        zero_ns = self.session_start_ns
        if self.drift_ppm:
            return [self.at(t) for t in true_ns]
        return [t - zero_ns for t in true_ns]

    def bias_ns(self, device: int) -> int:
        """What the device's timestamps are ahead of the host's [ns]."""
        return self.device_bias_ns[device] if device < len(self.device_bias_ns) else 0

    def on_device(self, device: int, true_ns: int) -> int:
        """An instant of a device on the report's axis, as its rows have it [ns]."""
        return self.at(true_ns) + self.bias_ns(device)

    def all_on_devices(self, places: Iterable[tuple[int, int]]) -> list[int]:
        """Many (device, true time) at once."""
        if self.exact:
            zero_ns = self.session_start_ns
            return [t - zero_ns for _, t in places]
        return [self.on_device(device, t) for device, t in places]


@dataclass(frozen=True, slots=True)
class Report:
    """What one export covers: a file of this name, the host, its processes, and the launcher's environment."""

    name: str
    hostname: str
    processes: tuple[Process, ...]
    clock: Clock = field(default_factory=Clock)
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """What the machine takes between things [ns]; all zero makes a program easy to work out by hand."""

    stream_gap_ns: int = 1_200
    """From the end of an op to the start of the next one of its stream."""
    event_gap_ns: int = 1_800
    """From the end of a recorded op to the start of an op that waits for it; once for each relay."""
    legacy_gap_ns: int = 1_800
    """The same between the legacy default stream and a blocking one."""
    node_gap_ns: int = 800
    """From the end of a graph node to the start of a node that depends on it."""
    sync_wake_ns: int = 6_000
    """From the end of awaited device work to the return of the call that waited."""
    signal_wake_ns: int = 12_000
    """From a raised flag to the waiting thread running again."""

    @classmethod
    def free(cls) -> Costs:
        """A machine that reacts at once."""
        return cls(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that is executed together, and how graphs are traced ("node" or "graph")."""

    reports: tuple[Report, ...]
    costs: Costs = field(default_factory=Costs)
    graph_trace: str = "node"
    mechanisms: Mechanisms = field(default_factory=Mechanisms)
    recording: Recording = field(default_factory=Recording)
    spoils: tuple[Spoil, ...] = ()
    """What happens to the rows between the profiler and the file; the truth stays that of the execution."""
    log: TrainerLog | None = None
