"""Between a call and the GPU: queues that hold a launch call up when full, and batches that hold work back.

A full queue blocks the thread inside its launch call until the device has drained. A batch lets calls return at once
and hands their work over together, so that no call's time explains when its op could run.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from critpath.sim.executed import UNKNOWN, Op, Overhead, OverheadKind
from critpath.sim.hosts import Host, HostThread, HostWait
from critpath.sim.instructions import KernelLaunch
from critpath.sim.issue import kernel_launch
from critpath.sim.mechanisms import Mechanisms

__all__ = ["Batch", "hold_back", "launch_with_room", "submit"]


def launch_with_room(thread: HostThread, launch: KernelLaunch) -> None:
    """Launch a kernel once fewer than `Mechanisms.launch_queue` earlier launches of its device are unfinished.

    The queue drains in the order of its launches.
    """
    host = thread.host
    queue = host.launched.setdefault(launch.stream.device, deque(maxlen=host.machine.job.mechanisms.launch_queue))
    oldest = queue[0] if len(queue) == queue.maxlen else None
    if oldest is None or 0 <= oldest.end_ns <= thread.now_ns:
        kernel_launch(thread, launch)
        queue.append(host.run.ops[-1])
        return
    entered_ns = thread.now_ns
    thread.last = "a launch into a full queue"
    thread.then = partial(_launch_late, thread, launch, entered_ns)
    _await_room(thread, oldest)


def _await_room(thread: HostThread, oldest: Op) -> None:
    """Hold the thread until `oldest` has ended; whoever acts earlier acts first, even when that time is known."""
    machine = thread.host.machine
    machine.block(HostWait(thread, 0, [oldest], lambda _: None, wake_ns=0, cause="cuda-api"), [oldest])
    if not thread.parked:
        machine.requeue(thread)


def _launch_late(thread: HostThread, launch: KernelLaunch, entered_ns: int) -> None:
    """Go on with a launch call that waited for room."""
    host = thread.host
    queue = host.launched[launch.stream.device]
    oldest = queue[0] if len(queue) == queue.maxlen else None
    if oldest is not None and (oldest.end_ns == UNKNOWN or oldest.end_ns > thread.now_ns):
        # Another thread took the room first.
        thread.then = partial(_launch_late, thread, launch, entered_ns)
        _await_room(thread, oldest)
        return
    waited = Overhead(entered_ns, thread.now_ns, thread.thread, OverheadKind.QUEUE_FULL, host.correlation)
    host.run.overheads.append(waited)
    kernel_launch(thread, launch, entered_ns)
    queue.append(host.run.ops[-1])


class Batch:
    """Device work of one device that has been called for but not handed over."""

    __slots__ = ("ops",)

    def __init__(self) -> None:
        self.ops: list[Op] = []


def hold_back(thread: HostThread, op: Op, mechanisms: Mechanisms) -> None:
    """Keep a new op until its batch is full, its time is up, or the host waits."""
    host, device = thread.host, op.stream.device
    batch = host.held.get(device)
    if batch is None:
        batch = host.held[device] = Batch()
        due_ns = op.call_start_ns + mechanisms.batch_hold_ns
        host.machine.at(due_ns, partial(_submit_batch, host, device, batch, due_ns))
    batch.ops.append(op)
    op.missing += 1
    if len({held.correlation for held in batch.ops}) >= mechanisms.batch:
        # Not before the call returns: the op is still being placed.
        now_ns = op.call_end_ns
        host.machine.at(now_ns, partial(_submit_batch, host, device, batch, now_ns))


def submit(host: Host, now_ns: int) -> None:
    """Hand everything over, because the host is about to wait."""
    for device, batch in list(host.held.items()):
        _submit_batch(host, device, batch, now_ns)


def _submit_batch(host: Host, device: int, batch: Batch, now_ns: int) -> None:
    if host.held.get(device) is not batch:
        return
    del host.held[device]
    for op in batch.ops:
        latency_ns = op.ready_ns - op.call_start_ns
        op.submitted_ns, op.ready_ns = now_ns, now_ns + latency_ns
    for op in batch.ops:
        op.missing -= 1
        if not op.missing:
            host.machine.settle(op.proceed())
