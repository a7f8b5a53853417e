"""Instructions that issue device work: each builds its op, orders it and makes the API call."""

from __future__ import annotations

from critpath.sim import instructions as p
from critpath.sim.executed import UNKNOWN, Call, Edge, EdgeKind, Op, OpKind
from critpath.sim.hosts import HostThread, HostWait
from critpath.sim.streams import StreamState, enqueue, hold

__all__ = ["call", "copy", "graph_launch", "kernel_launch", "memset", "place"]

PAGEABLE_ASYNC_BYTES = 65_536
"""Above this, an async copy from pageable memory is staged and holds the host."""


def _correlation(thread: HostThread) -> int:
    """The next correlation id of the process."""
    host = thread.host
    correlation = host.correlation
    host.correlation = correlation + 1
    return correlation


def call(thread: HostThread, name: str, call_ns: int, result: int = 0) -> int:
    """Make an API call that returns by itself; its correlation id."""
    correlation = _correlation(thread)
    start_ns = thread.now_ns
    thread.now_ns = start_ns + call_ns
    thread.calls.append(Call(start_ns, thread.now_ns, name, correlation, result))
    return correlation


def place(thread: HostThread, op: Op, state: StreamState) -> None:
    """Order a new op, and work out its times if nothing it waits for is still open."""
    machine = thread.host.machine
    enqueue(op, state, machine.costs)
    thread.host.run.ops.append(op)
    if machine.gated:
        machine.prepare(thread, op)
    if not hold(op):
        known = op.proceed()
        if op.collective is not None or machine.gated:
            machine.settle(known)


def kernel_launch(thread: HostThread, launch: p.KernelLaunch, entered_ns: int = UNKNOWN) -> None:
    """Launch a kernel, with a call that was entered at `entered_ns` where something held it up until now."""
    host = thread.host
    now_ns = thread.now_ns
    start_ns = now_ns if entered_ns == UNKNOWN else entered_ns
    correlation = host.correlation
    host.correlation = correlation + 1
    end_ns = now_ns + launch.call_ns
    kernel = launch.kernel
    duration_ns = launch.duration_ns
    compute = kernel.communication is None
    if compute and host.process.device_slowdown != 1.0:
        duration_ns = round(duration_ns * host.process.device_slowdown)
    op = Op(
        next(host.machine.next_index),
        host.run,
        OpKind.COMPUTE if compute else OpKind.COMMUNICATION,
        launch.stream,
        kernel,
        duration_ns,
        correlation,
        thread.thread,
        start_ns,
        end_ns,
        now_ns + launch.latency_ns,
    )
    if launch.faults:
        op.faults = launch.faults
        host.machine.faulted.append(op)
    if launch.collective is not None:
        host.machine.meetings.join(op, launch.collective)
        thread.calls.append(Call(start_ns, end_ns, "cudaLaunchKernelExC_v11060", correlation))
    else:
        thread.calls.append(Call(start_ns, end_ns, "cudaLaunchKernel_v7000", correlation))
    state = host.state(launch.stream)
    if launch.early_ns:
        place_early(thread, op, state, launch.early_ns)
    else:
        place(thread, op, state)
    thread.now_ns = end_ns + thread.thread.dispatch_ns


def place_early(thread: HostThread, op: Op, state: StreamState, early_ns: int) -> None:
    """Order a kernel that may start before the one ahead of it ends, though not before that one starts.

    Behind anything but a kernel of known length it starts as any other.
    """
    ahead = state.tail
    if ahead is not None and ahead.kind is OpKind.COMPUTE:
        op.edges.append(Edge(EdgeKind.PROGRAMMATIC, ahead, -min(early_ns, ahead.duration_ns)))
        state.tail = None
    place(thread, op, state)


def _device_op(thread: HostThread, work: p.Copy | p.Memset, kind: OpKind) -> Op:
    """Issue a copy or memset; the API row is the caller's to write."""
    host = thread.host
    op = Op(
        next(host.machine.next_index),
        host.run,
        kind,
        work.stream,
        work,
        work.duration_ns,
        _correlation(thread),
        thread.thread,
        thread.now_ns,
        thread.now_ns + work.call_ns,
        thread.now_ns + work.latency_ns,
    )
    place(thread, op, host.state(work.stream))
    return op


def memset(thread: HostThread, work: p.Memset) -> None:
    """Fill memory; the host goes on."""
    op = _device_op(thread, work, OpKind.MEMSET)
    thread.calls.append(Call(op.call_start_ns, op.call_end_ns, "cudaMemsetAsync_v3020", op.correlation))
    thread.now_ns = op.call_end_ns + thread.thread.dispatch_ns


def _host_waits(copy: p.Copy) -> bool:
    """Whether the call returns only after the copy's end."""
    if copy.direction is p.CopyDirection.DEVICE_TO_DEVICE:
        return False
    if copy.blocking:
        return True
    if copy.memory is p.HostMemory.PINNED:
        return False
    return copy.direction is p.CopyDirection.DEVICE_TO_HOST or copy.bytes > PAGEABLE_ASYNC_BYTES


def copy(thread: HostThread, work: p.Copy) -> None:
    """Copy; the host goes on, or waits for the copy's end."""
    thread.last = f"a copy of {work.bytes} bytes"
    name = "cudaMemcpy_v3020" if work.blocking else "cudaMemcpyAsync_v3020"
    op = _device_op(thread, work, OpKind.COPY)

    def finished(end_ns: int) -> None:
        op.call_end_ns = end_ns
        thread.calls.append(Call(op.call_start_ns, end_ns, name, op.correlation))
        thread.now_ns = end_ns + thread.thread.dispatch_ns

    if _host_waits(work):
        thread.host.machine.block(HostWait(thread, work.call_ns, [op], finished), [op])
    else:
        finished(op.call_end_ns)


def graph_launch(thread: HostThread, launch: p.GraphLaunch) -> None:
    """Launch a graph: one call, one op for the whole and one for each node."""
    host = thread.host
    start_ns = thread.now_ns
    correlation = call(thread, "cudaGraphLaunch_v10000", launch.call_ns)

    def issued(what: p.Kernel | p.Copy | p.Memset | p.Graph, kind: OpKind, stream: p.Stream, duration_ns: int) -> Op:
        return Op(
            next(host.machine.next_index),
            host.run,
            kind,
            stream,
            what,
            duration_ns,
            correlation,
            thread.thread,
            start_ns,
            start_ns + launch.call_ns,
            start_ns + launch.latency_ns,
        )

    whole = issued(launch.graph, OpKind.GRAPH, launch.stream, 0)
    enqueue(whole, host.state(launch.stream), host.machine.costs)
    earlier = host.graph_tails.get(launch.graph.exec_id)
    if earlier is not None and all(edge.producer is not earlier for edge in whole.edges):
        whole.edges.append(Edge(EdgeKind.GRAPH_ORDER, earlier, host.machine.costs.stream_gap_ns))
    host.graph_tails[launch.graph.exec_id] = whole
    host.run.ops.append(whole)
    members: list[Op] = []
    for place, node in enumerate(launch.graph.nodes):
        kind, duration_ns = _node_kind(node), node.duration_ns
        if kind is OpKind.COMPUTE:
            duration_ns = round(duration_ns * host.process.device_slowdown)
        op = issued(node.what, kind, node.stream or launch.stream, duration_ns)
        op.graph, op.node = whole, place
        gap_ns = host.machine.costs.node_gap_ns
        op.edges = [Edge(EdgeKind.GRAPH_ORDER, members[i], gap_ns) for i in node.depends] or list(whole.edges)
        if node.collective is not None:
            host.machine.meetings.join(op, node.collective)
        members.append(op)
    if host.machine.gated:
        for op in members:
            host.machine.prepare(thread, op)
    _start_graph(thread, whole, members)
    thread.now_ns += thread.thread.dispatch_ns


def _node_kind(node: p.GraphNode) -> OpKind:
    if isinstance(node.what, p.Kernel):
        return OpKind.COMPUTE if node.what.communication is None else OpKind.COMMUNICATION
    return OpKind.COPY if isinstance(node.what, p.Copy) else OpKind.MEMSET


def _start_graph(thread: HostThread, whole: Op, members: list[Op]) -> None:
    """Let the nodes of a launch run; the launch itself ends with the last of them."""
    machine = thread.host.machine
    whole.members = members
    whole.missing = len(members)
    for op in members:
        op.waiters = [whole]
    for op in members:
        thread.host.run.ops.append(op)
        if not hold(op):
            machine.settle(op.proceed())
