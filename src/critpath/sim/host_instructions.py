"""What a host thread does beside plain CUDA calls: locks, operating system calls, polls, callbacks, prefetches."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.stream import Stream

__all__ = [
    "CondWait",
    "EventPoll",
    "HostCallback",
    "HostInstruction",
    "LockAcquire",
    "LockRelease",
    "MappedSpin",
    "OsCall",
    "Prefetch",
]


@dataclass(frozen=True, slots=True)
class OsCall:
    """A call into the operating system, such as `mmap64` or `read`; it has a row when it takes long enough."""

    name: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class LockAcquire:
    """Take a mutex of the process, behind every thread that asked before; a row `pthread_mutex_lock` when it waits."""

    lock: str


@dataclass(frozen=True, slots=True)
class LockRelease:
    """Give a mutex back; the thread that asked first runs on."""

    lock: str


@dataclass(frozen=True, slots=True)
class CondWait:
    """Wait for a `Signal` inside `pthread_cond_wait`; the row is all that shows of it."""

    flag: str


@dataclass(frozen=True, slots=True)
class EventPoll:
    """Query `event` again and again until its latest record completed.

    Each query is a call with a synchronization row that waits for nothing; it returns 600 until the last returns 0.
    """

    event: int
    stream: Stream
    """Any stream of the event's context."""
    call_ns: int = 1_000
    pause_ns: int = 4_000
    """Between the end of a query and the next."""


@dataclass(frozen=True, slots=True)
class MappedSpin:
    """Read a flag in mapped host memory until everything issued to `stream` so far ended; nothing records that."""

    stream: Stream
    poll_ns: int = 500
    """From the end of the awaited work to the thread going on."""


@dataclass(frozen=True, slots=True)
class HostCallback:
    """Have the driver call a host function behind everything issued to `stream` (`cudaLaunchHostFunc`).

    Later work of the stream waits for the function's return. Only the API call has a row.
    """

    stream: Stream
    duration_ns: int
    call_ns: int = 3_000
    latency_ns: int = 10_000
    """From the call, or the end of earlier work, to the function's begin."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Move managed memory to the device in stream order (`cudaMemPrefetchAsync`).

    Its row is a migration: it names no stream, no context and no call.
    """

    stream: Stream
    bytes: int
    duration_ns: int
    call_ns: int = 6_000
    latency_ns: int = 12_000


HostInstruction = OsCall | LockAcquire | LockRelease | CondWait | EventPoll | MappedSpin | HostCallback | Prefetch
