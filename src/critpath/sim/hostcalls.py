"""What each instruction does: one short function an instruction, found by the instruction's type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from critpath.sim import host_instructions as h
from critpath.sim import hostwork, issue
from critpath.sim import instructions as p
from critpath.sim.errors import ProgramError
from critpath.sim.executed import Call, Held, Op, Overhead, Record, Sync, SyncShape
from critpath.sim.hosts import HostThread, HostWait
from critpath.sim.issue import call
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.submission import launch_with_room

__all__ = ["HANDLERS", "handlers_for"]

Handler = Callable[[HostThread, Any], None]


def _event_record(thread: HostThread, record: p.EventRecord) -> None:
    host = thread.host
    correlation = call(thread, "cudaEventRecord_v3020", record.call_ns)
    event_sync = host.event_sync
    host.event_sync = event_sync + 1
    host.events[record.event] = host.state(record.stream).snapshot(correlation, event_sync)
    host.run.records.append(Record(record.stream, correlation, record.event, event_sync))


def _event_sync_id(thread: HostThread, event: int) -> int | None:
    """What ties a wait to its record; None for an event never recorded."""
    snapshot = thread.host.events.get(event)
    return None if snapshot is None else snapshot.event_sync


def _stream_wait(thread: HostThread, wait: p.StreamWait) -> None:
    start_ns = thread.now_ns
    correlation = call(thread, "cudaStreamWaitEvent_v3020", wait.call_ns)
    snapshot = thread.host.events.get(wait.event)
    if snapshot is not None:
        thread.host.state(wait.stream).wait(correlation, snapshot)
    event_sync = _event_sync_id(thread, wait.event)
    thread.host.run.syncs.append(
        Sync(start_ns, thread.now_ns, SyncShape.WAIT, wait.stream, correlation, wait.event, event_sync)
    )


def _event_query(thread: HostThread, query: p.EventQuery) -> None:
    hostwork.query(thread, query.event, query.stream, query.call_ns)


def _synchronize(  # noqa: PLR0913, PLR0917 - what the three synchronizing calls differ in
    thread: HostThread,
    name: str,
    shape: SyncShape,
    anchor: p.Stream,
    call_ns: int,
    ops: Sequence[Op],
    event: int | None = None,
) -> None:
    """Hold the thread inside the call until `ops` have ended."""
    host = thread.host
    correlation = host.correlation
    host.correlation = correlation + 1
    start_ns = thread.now_ns
    thread.last = name
    event_sync = _event_sync_id(thread, event) if event is not None else None

    def finished(end_ns: int) -> None:
        thread.calls.append(Call(start_ns, end_ns, name, correlation))
        host.run.syncs.append(Sync(start_ns, end_ns, shape, anchor, correlation, event, event_sync))

    host.machine.block(HostWait(thread, call_ns, ops, finished), ops)


def _event_sync(thread: HostThread, sync: p.EventSync) -> None:
    snapshot = thread.host.events.get(sync.event)
    ops = snapshot.ops() if snapshot is not None else []
    name = "cudaEventSynchronize_v3020"
    _synchronize(thread, name, SyncShape.EVENT, sync.stream, sync.call_ns, ops, sync.event)


def _stream_sync(thread: HostThread, sync: p.StreamSync) -> None:
    ops = thread.host.state(sync.stream).snapshot(0, 0).ops()
    _synchronize(thread, "cudaStreamSynchronize_v3020", SyncShape.STREAM, sync.stream, sync.call_ns, ops)


def _device_sync(thread: HostThread, sync: p.DeviceSync) -> None:
    states = thread.host.contexts[sync.stream.context].streams
    ops = [op for state in states for op in state.snapshot(0, 0).ops()]
    _synchronize(thread, "cudaDeviceSynchronize_v3020", SyncShape.CONTEXT, sync.stream, sync.call_ns, ops)


def _cpu_work(thread: HostThread, work: p.CpuWork) -> None:
    thread.now_ns += round(work.duration_ns * thread.host.process.host_slowdown)


def _range_push(thread: HostThread, push: p.RangePush) -> None:
    thread.ranges.setdefault(push.domain, []).append((push, thread.now_ns))


def _range_pop(thread: HostThread, pop: p.RangePop) -> None:
    thread.close_range(pop.domain)


def _signal(thread: HostThread, signal: p.Signal) -> None:
    host = thread.host
    sleeper = host.sleepers.pop(signal.flag, None)
    if sleeper is None:
        host.raised[signal.flag] = host.raised.get(signal.flag, 0) + 1
    else:
        asleep_ns, sleeper.now_ns = sleeper.now_ns, thread.now_ns + host.machine.costs.signal_wake_ns
        host.run.held.append(
            Held(asleep_ns, sleeper.now_ns, sleeper.thread, "other-thread", None, (thread.thread, thread.now_ns))
        )
        host.machine.resume(sleeper)


def _signal_wait(thread: HostThread, wait: p.SignalWait) -> None:
    host = thread.host
    thread.last = f"a wait for flag {wait.flag!r}"
    if host.raised.get(wait.flag, 0):
        host.raised[wait.flag] -= 1
    elif wait.flag in host.sleepers:
        raise ProgramError(f"two threads of pid {host.process.pid} wait for flag {wait.flag!r}")
    else:
        host.sleepers[wait.flag] = thread
        thread.parked = True


def _profiler_start(thread: HostThread, start: p.ProfilerStart) -> None:
    call(thread, "cudaProfilerStart_v4000", start.call_ns)


def _profiler_stop(thread: HostThread, stop: p.ProfilerStop) -> None:
    call(thread, "cudaProfilerStop_v4000", stop.call_ns)


def _buffer_flush(thread: HostThread, flush: p.BufferFlush) -> None:
    start_ns = thread.now_ns
    thread.now_ns = start_ns + flush.duration_ns
    thread.host.run.overheads.append(Overhead(start_ns, thread.now_ns, thread.thread))


# One table for all types, so that executing an instruction is one lookup; each function takes its own type.
HANDLERS: dict[type, Handler] = {
    p.KernelLaunch: issue.kernel_launch,
    p.Copy: issue.copy,
    p.Memset: issue.memset,
    p.GraphLaunch: issue.graph_launch,
    p.EventRecord: _event_record,
    p.StreamWait: _stream_wait,
    p.EventSync: _event_sync,
    p.StreamSync: _stream_sync,
    p.DeviceSync: _device_sync,
    p.EventQuery: _event_query,
    p.CpuWork: _cpu_work,
    p.RangePush: _range_push,
    p.RangePop: _range_pop,
    p.Signal: _signal,
    p.SignalWait: _signal_wait,
    p.ProfilerStart: _profiler_start,
    p.ProfilerStop: _profiler_stop,
    p.BufferFlush: _buffer_flush,
    h.OsCall: hostwork.os_call,
    h.LockAcquire: hostwork.lock_acquire,
    h.LockRelease: hostwork.lock_release,
    h.CondWait: hostwork.cond_wait,
    h.EventPoll: hostwork.event_poll,
    h.MappedSpin: hostwork.mapped_spin,
    h.HostCallback: hostwork.host_callback,
    h.Prefetch: hostwork.prefetch,
}


def handlers_for(mechanisms: Mechanisms) -> dict[type, Handler]:
    """What each instruction does on a machine with these mechanisms."""
    return {**HANDLERS, p.KernelLaunch: launch_with_room} if mechanisms.launch_queue else HANDLERS
