"""The host side of an execution: processes, their threads, and threads that wait for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from critpath.sim.errors import ProgramError
from critpath.sim.executed import Call, Held, Op, ProcessRun, Range
from critpath.sim.instructions import Instruction, RangePush, Stream
from critpath.sim.program import Thread
from critpath.sim.streams import ContextState, Snapshot, StreamState

if TYPE_CHECKING:
    from critpath.sim.execute import Machine
    from critpath.sim.submission import Batch

__all__ = ["Host", "HostThread", "HostWait", "Lock"]


class Host:
    """One process while it runs: its counters, streams, events and flags."""

    def __init__(self, run: ProcessRun, machine: Machine) -> None:
        self.run = run
        self.machine = machine
        self.process = run.process
        self.correlation = run.process.first_correlation
        self.event_sync = run.process.first_event_sync
        self.events: dict[int, Snapshot] = {}
        self.raised: dict[str, int] = {}
        self.sleepers: dict[str, HostThread] = {}
        self.locks: dict[str, Lock] = {}
        self.launched: dict[int, deque[Op]] = {}
        self.held: dict[int, Batch] = {}
        self.graph_tails: dict[int, Op] = {}
        self.contexts: dict[int, ContextState] = {}
        self.streams: dict[Stream, StreamState] = {}
        for stream in run.process.streams:
            context = self.contexts.setdefault(stream.context, ContextState())
            self.streams[stream] = context.add(stream)
        self.threads = [HostThread(thread, self) for thread in run.process.threads]

    def state(self, stream: Stream) -> StreamState:
        """The state of one of the process's streams.

        Raises:
            ProgramError: when the stream belongs to another process.
        """
        try:
            return self.streams[stream]
        except KeyError:
            raise ProgramError(f"pid {self.process.pid} uses a stream that it doesn't list: {stream}") from None


class Lock:
    """A mutex of a process: who has it, and who waits for it since when."""

    __slots__ = ("owner", "waiting")

    def __init__(self) -> None:
        self.owner: HostThread | None = None
        self.waiting: deque[tuple[HostThread, int]] = deque()


class HostThread:
    """One thread while it runs; `now_ns` is its own time."""

    __slots__ = ("calls", "finished", "host", "instructions", "last", "now_ns", "parked", "ranges", "then", "thread")

    def __init__(self, thread: Thread, host: Host) -> None:
        self.thread = thread
        self.host = host
        self.instructions: Iterator[Instruction] = iter(thread.instructions)
        self.now_ns = host.process.start_ns
        self.calls: list[Call] = host.run.calls.setdefault(thread.tid, [])
        self.ranges: dict[int, list[tuple[RangePush, int]]] = {}
        self.parked = False
        self.finished = False
        self.last = "its start"
        self.then: Callable[[], None] | None = None
        """What to do when the thread runs on, ahead of its next instruction."""

    def close_range(self, domain: int) -> None:
        """Close the innermost open range of `domain`.

        Raises:
            ProgramError: when none is open.
        """
        if not self.ranges.get(domain):
            raise ProgramError(f"thread {self.thread.name} closes a range of domain {domain} that it never opened")
        push, start_ns = self.ranges[domain].pop()
        self.host.run.ranges.append(
            Range(start_ns, self.now_ns, push.text, self.thread, domain, push.registered, push.step, push.payload)
        )


class HostWait:
    """A thread inside a call that returns once device work has ended.

    It wakes `wake_ns` after that, by default as long as the machine takes for a synchronization. `cause` is what its
    time counts as.
    """

    __slots__ = ("_cause", "_finished", "_wake_ns", "call_ns", "missing", "producers", "start_ns", "thread")

    def __init__(  # noqa: PLR0913, PLR0917 - a wait is all of these
        self,
        thread: HostThread,
        call_ns: int,
        producers: Sequence[Op],
        finished: Callable[[int], None],
        wake_ns: int | None = None,
        cause: str = "host-sync",
    ) -> None:
        self._cause = cause
        self._wake_ns = thread.host.machine.costs.sync_wake_ns if wake_ns is None else wake_ns
        self.thread = thread
        self.start_ns = thread.now_ns
        self.call_ns = call_ns
        self.producers = producers
        self.missing = 0
        self._finished = finished

    def finish(self) -> None:
        """Return from the call: after its own cost, and after the awaited work and the thread's wake-up."""
        end_ns = self.start_ns + self.call_ns
        host = self.thread.host
        awaited = max(self.producers, key=attrgetter("end_ns"), default=None)
        if awaited is not None and awaited.end_ns > self.start_ns:
            end_ns = max(end_ns, awaited.end_ns + self._wake_ns)
            host.run.held.append(Held(self.start_ns, end_ns, self.thread.thread, self._cause, awaited))
        self.thread.now_ns = end_ns
        self._finished(end_ns)

    def proceed(self) -> Sequence[Op]:
        """Return from the call now that every awaited end is known."""
        self.finish()
        self.thread.host.machine.resume(self.thread)
        return ()
