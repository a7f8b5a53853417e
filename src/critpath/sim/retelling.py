"""What no capture shows, told as edges between ops that it shows, once everything has run.

A host function has no row: the op behind it waited for the op ahead of it and the function. A migration in stream order
is an edge of its own kind. Page faults during a kernel become migrations at their times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from critpath.sim.errors import ProgramError
from critpath.sim.executed import Edge, EdgeKind, Op, OpKind
from critpath.sim.host_instructions import HostCallback
from critpath.sim.instructions import Copy
from critpath.sim.stream import Stream, StreamKind

if TYPE_CHECKING:
    from critpath.sim.execute import Machine

__all__ = ["NO_CALL", "migration_stream", "retell"]

NO_CALL = 0
"""Correlation id of rows that belong to no call."""


def migration_stream(device: int) -> Stream:
    """The stream that the rows of migrations name: none."""
    return Stream(device, 0, 0, StreamKind.NON_BLOCKING)


def retell(machine: Machine) -> None:
    """Replace producers that no capture shows, and add the migrations of page faults."""
    for host in machine.hosts:
        for op in host.run.ops:
            op.edges = [_shown(edge, op) for edge in op.edges]
    for op in machine.faulted:
        _add_faults(machine, op)


def _shown(edge: Edge, op: Op) -> Edge:
    """The edge with a producer that has a row; the instant at which it lets go stays."""
    producer = edge.producer
    if isinstance(producer.what, HostCallback):
        source = _behind(producer)
        if source is None:
            raise ProgramError(
                f"a host function of pid {op.run.process.pid} has no device work ahead of it in its stream, so nothing "
                "that a capture shows could explain who waits for it"
            )
        return Edge(EdgeKind.HOST_CALLBACK, source, producer.end_ns + edge.delay_ns - source.end_ns, edge.via)
    if edge.kind is EdgeKind.STREAM_ORDER and producer.correlation == NO_CALL:
        return edge._replace(kind=EdgeKind.UVM)
    return edge


def _behind(function: Op) -> Op | None:
    """The op that ends last of those which a host function waited for, through other host functions."""
    found = [
        _behind(edge.producer) if isinstance(edge.producer.what, HostCallback) else edge.producer
        for edge in function.edges
    ]
    return max((op for op in found if op is not None), key=lambda op: (op.end_ns, op.index), default=None)


def _add_faults(machine: Machine, kernel: Op) -> None:
    for fault in kernel.faults:
        stream = migration_stream(kernel.stream.device)
        copy = Copy(stream, fault.direction, fault.bytes, fault.duration_ns)
        start_ns = kernel.start_ns + fault.after_ns
        op = Op(
            next(machine.next_index),
            kernel.run,
            OpKind.COPY,
            stream,
            copy,
            fault.duration_ns,
            NO_CALL,
            kernel.thread,
            kernel.call_start_ns,
            kernel.call_end_ns,
            start_ns,
        )
        op.start_ns, op.end_ns = start_ns, start_ns + fault.duration_ns
        kernel.run.ops.append(op)
