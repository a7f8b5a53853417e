"""Tiny programs on a machine that reacts at once, so that every time can be worked out by hand.

A call takes 1 ns and an op may run 10 ns after its call began, unless a test says otherwise.
"""

from __future__ import annotations

from typing import Any

from critpath.sim.execute import execute
from critpath.sim.executed import Execution, Op
from critpath.sim.instructions import (
    Collective,
    Communicator,
    Copy,
    CopyDirection,
    EventRecord,
    HostMemory,
    Instruction,
    Kernel,
    KernelLaunch,
    Memset,
    RangePop,
    RangePush,
    Stream,
    StreamKind,
    StreamSync,
    StreamWait,
)
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Costs, Job, Process, Report, Thread

COMPUTE = Kernel("void gemm<(int)4>(int)", "gemm", "_Z4gemmILi4EEvi")
NCCL = Kernel("ncclDevKernel_AllReduce(Args)", "ncclDevKernel_AllReduce", "_Z23nccl", communication="nccl")

LEGACY = Stream(0, 1, 7, StreamKind.LEGACY)
BLOCKING = Stream(0, 1, 13, StreamKind.BLOCKING)
OTHER_BLOCKING = Stream(0, 1, 14, StreamKind.BLOCKING)
A = Stream(0, 1, 15, StreamKind.NON_BLOCKING)
B = Stream(0, 1, 16, StreamKind.NON_BLOCKING)
C = Stream(0, 1, 17, StreamKind.NON_BLOCKING)
STREAMS = (LEGACY, BLOCKING, OTHER_BLOCKING, A, B, C)


def kernel(stream: Stream, duration_ns: int, *, call_ns: int = 1, latency_ns: int = 10) -> KernelLaunch:
    return KernelLaunch(stream, COMPUTE, duration_ns, call_ns, latency_ns)


def collective(
    stream: Stream, ranks: int, transfer_ns: int, *, jitter_ns: int = 0, operation: str = "all_reduce", name: str = "dp"
) -> KernelLaunch:
    part = Collective(Communicator(name, ranks), operation, 1_024, transfer_ns, jitter_ns)
    return KernelLaunch(stream, NCCL, 0, 1, 10, part)


def copy(
    stream: Stream,
    direction: CopyDirection,
    duration_ns: int,
    *,
    size: int = 1_024,
    memory: HostMemory = HostMemory.PINNED,
    blocking: bool = False,
) -> Copy:
    return Copy(stream, direction, size, duration_ns, memory, blocking, 1, 10)


def memset(stream: Stream, duration_ns: int) -> Memset:
    return Memset(stream, 64, duration_ns, 0, 1, 10)


def record(stream: Stream, event: int) -> EventRecord:
    return EventRecord(stream, event, 1)


def wait(stream: Stream, event: int) -> StreamWait:
    return StreamWait(stream, event, 1)


def sync(stream: Stream) -> StreamSync:
    return StreamSync(stream, 1)


def step(index: int, *inside: Instruction) -> tuple[Instruction, ...]:
    return (RangePush(f"iteration {index}", step=index), *inside, RangePop())


def thread(*instructions: Instruction, tid: int = 100, name: str = "python") -> Thread:
    return Thread(tid, name, instructions)


def process(*threads: Thread, rank: int = 0, pid: int = 100, streams: tuple[Stream, ...] = STREAMS) -> Process:
    return Process(pid, "python", rank, streams, threads)


def job_of(
    *processes: Process, costs: Costs | None = None, graph_trace: str = "node", mechanisms: Mechanisms | None = None
) -> Job:
    """One report a process."""
    reports = tuple(Report(f"rank{p.rank}", "node0", (p,)) for p in processes)
    return Job(reports, Costs.free() if costs is None else costs, graph_trace, mechanisms or Mechanisms())


def run(*instructions: Instruction, costs: Costs | None = None, **mechanisms: Any) -> Execution:
    """One process with one thread."""
    return execute(job_of(process(thread(*instructions)), costs=costs, mechanisms=Mechanisms(**mechanisms)))


def ops(execution: Execution, rank: int = 0) -> list[Op]:
    return execution.runs[rank].ops


def spans(execution: Execution, rank: int = 0) -> list[tuple[int, int]]:
    """(start, end) of each op in issue order."""
    return [(op.start_ns, op.end_ns) for op in ops(execution, rank)]


def binding(op: Op) -> str:
    """The kind of edge that set the op's start."""
    return "launch" if op.binding < 0 else op.edges[op.binding].kind.value
