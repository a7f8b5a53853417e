"""What a thread does beside plain calls: locks, operating system calls, polls, callbacks, prefetches."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from critpath.sim import host_instructions as h
from critpath.sim.errors import ProgramError
from critpath.sim.executed import Held, Op, OpKind, OsRow, Sync, SyncShape
from critpath.sim.hosts import HostThread, HostWait, Lock
from critpath.sim.instructions import Copy, CopyDirection
from critpath.sim.issue import call, place
from critpath.sim.retelling import NO_CALL, migration_stream
from critpath.sim.stream import Stream
from critpath.sim.streams import enqueue, hold
from critpath.sim.submission import submit

__all__ = [
    "NOT_READY",
    "cond_wait",
    "event_poll",
    "host_callback",
    "lock_acquire",
    "lock_release",
    "mapped_spin",
    "os_call",
    "prefetch",
    "query",
]

NOT_READY = 600
"""cudaErrorNotReady."""


def os_call(thread: HostThread, work: h.OsCall) -> None:
    """Spend time in the operating system."""
    start_ns = thread.now_ns
    thread.now_ns = start_ns + round(work.duration_ns * thread.host.process.host_slowdown)
    thread.host.run.os_calls.append(OsRow(start_ns, thread.now_ns, work.name, thread.thread))
    thread.host.run.held.append(Held(start_ns, thread.now_ns, thread.thread, "osrt"))


def lock_acquire(thread: HostThread, acquire: h.LockAcquire) -> None:
    """Take a mutex, or wait for it."""
    lock = thread.host.locks.setdefault(acquire.lock, Lock())
    thread.last = f"a wait for lock {acquire.lock!r}"
    if lock.owner is None:
        lock.owner = thread
        return
    lock.waiting.append((thread, thread.now_ns))
    thread.parked = True


def lock_release(thread: HostThread, release: h.LockRelease) -> None:
    """Hand a mutex to whoever waits first.

    Raises:
        ProgramError: when the thread doesn't hold it.
    """
    lock = thread.host.locks.get(release.lock)
    if lock is None or lock.owner is not thread:
        raise ProgramError(f"thread {thread.thread.name} releases lock {release.lock!r}, which it doesn't hold")
    lock.owner = None
    if lock.waiting:
        waiter, since_ns = lock.waiting.popleft()
        lock.owner = waiter
        _wake(thread, waiter, since_ns, "pthread_mutex_lock")


def cond_wait(thread: HostThread, wait: h.CondWait) -> None:
    """Wait for a flag in a call that has a row.

    Raises:
        ProgramError: when another thread waits for the same flag.
    """
    host = thread.host
    thread.last = f"a wait for flag {wait.flag!r}"
    if host.raised.get(wait.flag, 0):
        host.raised[wait.flag] -= 1
        return
    if wait.flag in host.sleepers:
        raise ProgramError(f"two threads of pid {host.process.pid} wait for flag {wait.flag!r}")
    host.sleepers[wait.flag] = thread
    thread.then = partial(_woken, thread, thread.now_ns)
    thread.parked = True


def _woken(thread: HostThread, since_ns: int) -> None:
    thread.host.run.os_calls.append(OsRow(since_ns, thread.now_ns, "pthread_cond_wait", thread.thread))


def _wake(waker: HostThread, sleeper: HostThread, since_ns: int, name: str) -> None:
    """Let another thread run on, with a row for its wait."""
    machine = waker.host.machine
    sleeper.now_ns = waker.now_ns + machine.costs.signal_wake_ns
    sleeper.host.run.os_calls.append(OsRow(since_ns, sleeper.now_ns, name, sleeper.thread))
    sleeper.host.run.held.append(
        Held(since_ns, sleeper.now_ns, sleeper.thread, "other-thread", None, (waker.thread, waker.now_ns))
    )
    machine.resume(sleeper)


def query(thread: HostThread, event: int, anchor: Stream, call_ns: int) -> bool:
    """Ask for an event with one call and its row; whether the event had completed when the call began."""
    host = thread.host
    if host.held:
        submit(host, thread.now_ns)
    start_ns = thread.now_ns
    snapshot = host.events.get(event)
    ops = snapshot.ops() if snapshot is not None else []
    ready = all(0 <= op.end_ns <= start_ns for op in ops)
    correlation = call(thread, "cudaEventQuery_v3020", call_ns, 0 if ready else NOT_READY)
    event_sync = None if snapshot is None else snapshot.event_sync
    host.run.syncs.append(Sync(start_ns, thread.now_ns, SyncShape.QUERY, anchor, correlation, event, event_sync))
    return ready


def event_poll(thread: HostThread, poll: h.EventPoll) -> None:
    """Query until the answer is yes, letting others act between queries."""
    thread.last = f"a poll of event {poll.event}"
    snapshot = thread.host.events.get(poll.event)
    _ask_again(thread, poll, thread.now_ns, snapshot.ops() if snapshot is not None else [])


def _ask_again(thread: HostThread, poll: h.EventPoll, since_ns: int, awaited: list[Op]) -> None:
    host, first = thread.host, thread.now_ns == since_ns
    if not query(thread, poll.event, poll.stream, poll.call_ns):
        thread.now_ns += poll.pause_ns
        thread.then = partial(_ask_again, thread, poll, since_ns, awaited)
        host.machine.requeue(thread)
    elif not first:
        last = max(awaited, key=attrgetter("end_ns"))
        host.run.held.append(Held(since_ns, thread.now_ns, thread.thread, "poll", last))


def mapped_spin(thread: HostThread, spin: h.MappedSpin) -> None:
    """Go on when the stream has done its work, without a trace of why."""
    thread.last = "a spin on mapped memory"
    ops = thread.host.state(spin.stream).snapshot(0, 0).ops()
    thread.host.machine.block(HostWait(thread, 0, ops, lambda _: None, wake_ns=spin.poll_ns, cause="host-poll"), ops)


def host_callback(thread: HostThread, callback: h.HostCallback) -> None:
    """Put a host function into a stream: an op that takes its place there, has no row and is none of the process's."""
    host = thread.host
    start_ns = thread.now_ns
    correlation = call(thread, "cudaLaunchHostFunc_v10000", callback.call_ns)
    op = Op(
        next(host.machine.next_index),
        host.run,
        OpKind.COPY,
        callback.stream,
        callback,
        callback.duration_ns,
        correlation,
        thread.thread,
        start_ns,
        thread.now_ns,
        start_ns + callback.latency_ns,
    )
    enqueue(op, host.state(callback.stream), host.machine.costs)
    op.edges = [edge._replace(delay_ns=edge.delay_ns + callback.latency_ns) for edge in op.edges]
    host.machine.hidden.append(op)
    if not hold(op):
        host.machine.settle(op.proceed())


def prefetch(thread: HostThread, work: h.Prefetch) -> None:
    """Move managed memory in stream order; the row names neither stream nor call."""
    host = thread.host
    start_ns = thread.now_ns
    call(thread, "cudaMemPrefetchAsync_v8000", work.call_ns)
    stream = migration_stream(work.stream.device)
    op = Op(
        next(host.machine.next_index),
        host.run,
        OpKind.COPY,
        stream,
        Copy(stream, CopyDirection.MIGRATION_IN, work.bytes, work.duration_ns),
        work.duration_ns,
        NO_CALL,
        thread.thread,
        start_ns,
        thread.now_ns,
        start_ns + work.latency_ns,
    )
    host.machine.hidden.append(op)
    place(thread, op, host.state(work.stream))
