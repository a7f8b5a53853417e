"""Runs again with a cause removed: the same program without it, for what removing it could gain at most."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from critpath.sim.host_instructions import OsCall
from critpath.sim.instructions import (
    Collective,
    Copy,
    CopyDirection,
    CpuWork,
    GraphLaunch,
    GraphNode,
    Instruction,
    KernelLaunch,
)
from critpath.sim.program import Job, Process, Report, Thread

__all__ = ["Removal", "without"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What a rerun leaves out; several parts together are removed at once."""

    transfer_of: frozenset[str] = field(default_factory=frozenset)
    """Communicators, by name or backend, whose data moves at once; their ranks still wait for each other."""
    cpu_work: str | None = None
    """Pattern that the whole label of CPU work, or name of an operating system call, has to match to take no time."""
    slowdown_of: frozenset[int] = field(default_factory=frozenset)
    """Ranks that run at the pace of the others."""
    copies: frozenset[CopyDirection] = field(default_factory=frozenset)
    """Directions in which copies take no time."""


def without(job: Job, removal: Removal) -> Job:
    """The same job with the causes of `removal` gone; its structure and every other duration stay."""
    return replace(job, reports=tuple(_report(report, removal) for report in job.reports))


def _report(report: Report, removal: Removal) -> Report:
    return replace(report, processes=tuple(_process(process, removal) for process in report.processes))


def _process(process: Process, removal: Removal) -> Process:
    change = _change(removal)
    threads = tuple(_thread(thread, change) for thread in process.threads)
    if process.rank in removal.slowdown_of:
        process = replace(process, device_slowdown=1.0, host_slowdown=1.0)
    return replace(process, threads=threads)


def _thread(thread: Thread, change: Callable[[Instruction], Instruction]) -> Thread:
    return replace(thread, instructions=tuple(change(instruction) for instruction in thread.instructions))


def _change(removal: Removal) -> Callable[[Instruction], Instruction]:
    """How one instruction changes. Graphs keep their identity: launches of one still follow each other."""
    label = re.compile(removal.cpu_work) if removal.cpu_work is not None else None
    graphs: dict[int, GraphLaunch] = {}

    def changed(instruction: Instruction) -> Instruction:
        if isinstance(instruction, KernelLaunch):
            part = _collective(instruction.collective, removal)
            return instruction if part is instruction.collective else replace(instruction, collective=part)
        if isinstance(instruction, Copy) and instruction.direction in removal.copies:
            return replace(instruction, duration_ns=0)
        if isinstance(instruction, CpuWork) and label is not None and label.fullmatch(instruction.label):
            return replace(instruction, duration_ns=0)
        if isinstance(instruction, OsCall) and label is not None and label.fullmatch(instruction.name):
            return replace(instruction, duration_ns=0)
        if isinstance(instruction, GraphLaunch):
            known = graphs.setdefault(id(instruction.graph), instruction)
            if known is instruction:
                nodes = tuple(_node(node, removal) for node in instruction.graph.nodes)
                known = replace(instruction, graph=replace(instruction.graph, nodes=nodes))
                graphs[id(instruction.graph)] = known
            return replace(instruction, graph=known.graph)
        return instruction

    return changed


def _node(node: GraphNode, removal: Removal) -> GraphNode:
    if isinstance(node.what, Copy) and node.what.direction in removal.copies:
        return replace(node, duration_ns=0)
    return replace(node, collective=_collective(node.collective, removal))


def _collective(part: Collective | None, removal: Removal) -> Collective | None:
    if part is None or not removal.transfer_of & {part.communicator.name, part.communicator.backend}:
        return part
    return replace(part, transfer_ns=0)
