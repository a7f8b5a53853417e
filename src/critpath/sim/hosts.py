"""The host side of an execution: processes, their threads, and threads that wait for the device."""

from __future__ import annotations

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

__all__ = ["Host", "HostThread", "HostWait"]


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


class HostThread:
    """One thread while it runs; `now_ns` is its own time."""

    __slots__ = ("calls", "finished", "host", "instructions", "last", "now_ns", "parked", "ranges", "thread")

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

    def close_range(self, domain: int) -> None:
        """Close the innermost open range of `domain`.

        Raises:
            ProgramError: when none is open.
        """
        if not self.ranges.get(domain):
            raise ProgramError(f"thread {self.thread.name} closes a range of domain {domain} that it never opened")
        push, start_ns = self.ranges[domain].pop()
        self.host.run.ranges.append(
            Range(start_ns, self.now_ns, push.text, self.thread, domain, push.registered, push.step)
        )


class HostWait:
    """A thread inside a call that returns once device work has ended."""

    __slots__ = ("_finished", "call_ns", "missing", "producers", "start_ns", "thread")

    def __init__(
        self, thread: HostThread, call_ns: int, producers: Sequence[Op], finished: Callable[[int], None]
    ) -> None:
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
            end_ns = max(end_ns, awaited.end_ns + host.machine.costs.sync_wake_ns)
            host.run.held.append(Held(self.start_ns, end_ns, self.thread.thread, "host-sync", awaited))
        self.thread.now_ns = end_ns
        self._finished(end_ns)

    def proceed(self) -> Sequence[Op]:
        """Return from the call now that every awaited end is known."""
        self.finish()
        self.thread.host.machine.resume(self.thread)
        return ()
