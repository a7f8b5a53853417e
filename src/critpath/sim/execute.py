"""Runs a program: host threads in time order, device work as soon as everything it waits for is known.

A heap holds every runnable host thread at its own time, so calls of all threads of all processes happen in true time
order. A device op is placed at once when the ends of its producers are known, even ahead of host time; otherwise it
waits for them. That is exact because an op never starts before the call that issued it. Whatever grants a contended
resource by time (a copy engine, a GPU that two kernels share) puts its moments onto the same heap, so that whoever
could ask earlier has asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count

from critpath.sim.collectives import Meetings
from critpath.sim.errors import ProgramError
from critpath.sim.executed import UNKNOWN, Execution, Op, ProcessRun
from critpath.sim.gates import Gates
from critpath.sim.hostcalls import handlers_for
from critpath.sim.hosts import Host, HostThread, HostWait
from critpath.sim.program import Job
from critpath.sim.retelling import retell
from critpath.sim.submission import submit

__all__ = ["Machine", "execute"]


def execute(job: Job) -> Execution:
    """Everything that happens when `job` runs, in true time.

    Raises:
        ProgramError: when it can't run to its end.
    """
    machine = Machine(job)
    machine.run()
    machine.finish()
    return Execution(job, [host.run for host in machine.hosts], machine.meetings.all)


class Machine:
    """The state of one execution."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.costs = job.costs
        self.meetings = Meetings()
        self.next_index = count()
        self._heap: list[tuple[int, int, HostThread | Callable[[], None]]] = []
        self._turns = count()
        self._handlers = handlers_for(job.mechanisms)
        self._gates = Gates(self)
        self.gated = self._gates.any
        self.hidden: list[Op] = []
        self.faulted: list[Op] = []
        self.hosts = [Host(ProcessRun(report, process), self) for report in job.reports for process in report.processes]
        for host in self.hosts:
            for thread in host.threads:
                self.resume(thread)

    def resume(self, thread: HostThread) -> None:
        """Let `thread` go on at its own time."""
        thread.parked = False
        heappush(self._heap, (thread.now_ns, next(self._turns), thread))

    def requeue(self, thread: HostThread) -> None:
        """Let `thread` go on at its own time, and everyone who is earlier before it."""
        thread.parked = True
        heappush(self._heap, (thread.now_ns, next(self._turns), thread))

    def at(self, time_ns: int, act: Callable[[], None]) -> None:
        """Do something once everything before `time_ns` is done."""
        heappush(self._heap, (time_ns, next(self._turns), act))

    def prepare(self, thread: HostThread, op: Op) -> None:
        """Put the gates of this machine before a new op, which has its place in its stream."""
        self._gates.prepare(thread, op)

    def run(self) -> None:
        """Run every thread to its end."""
        heap = self._heap
        handlers = self._handlers
        while heap:
            thread = heappop(heap)[2]
            if not isinstance(thread, HostThread):
                thread()
                continue
            thread.parked = False
            if thread.then is not None and not self._continued(thread):
                continue
            for instruction in thread.instructions:
                handlers[type(instruction)](thread, instruction)
                if thread.parked:
                    break
                if heap and heap[0][0] < thread.now_ns:
                    self.resume(thread)
                    break
            else:
                thread.finished = True
        self._expect_finished()

    def _continued(self, thread: HostThread) -> bool:
        """Finish what a thread was in the middle of; whether it is its turn to go on now."""
        then, thread.then = thread.then, None
        if then is not None:
            then()
        if thread.parked:
            return False
        if self._heap and self._heap[0][0] < thread.now_ns:
            self.resume(thread)
            return False
        return True

    def finish(self) -> None:
        """Bring what no capture shows into the form in which the causal record tells it."""
        if self.hidden or self.faulted:
            retell(self)

    def settle(self, known: Sequence[Op]) -> None:
        """Let everything go on that waited for the ends now known, however far that leads."""
        todo = list(known)
        while todo:
            op = todo.pop()
            waiters, op.waiters = op.waiters, None
            for waiter in waiters or ():
                waiter.missing -= 1
                if not waiter.missing:
                    todo.extend(waiter.proceed())

    def block(self, wait: HostWait, producers: Sequence[Op]) -> None:
        """Hold a thread until `producers` have ended; at once when their ends are known."""
        if wait.thread.host.held:
            submit(wait.thread.host, wait.start_ns)
        for op in producers:
            if op.end_ns == UNKNOWN:
                wait.missing += 1
                if op.waiters is None:
                    op.waiters = [wait]
                else:
                    op.waiters.append(wait)
        if wait.missing:
            wait.thread.parked = True
        else:
            wait.finish()

    def _expect_finished(self) -> None:
        """Raise when threads wait for what can't happen any more."""
        stuck = [thread for host in self.hosts for thread in host.threads if not thread.finished]
        late = [op for host in self.hosts for op in host.run.ops if op.end_ns == UNKNOWN]
        if not stuck and not late:
            return
        meetings = [m for m in self.meetings.all if m.last is None]
        text = ", ".join(f"{t.thread.name} of pid {t.host.process.pid} at {t.last}" for t in stuck[:3])
        missing = ", ".join(
            f"{m.collective.operation} {m.sequence} on {m.collective.communicator.name!r} has "
            f"{len(m.ops)} of {m.collective.communicator.size} ranks"
            for m in meetings[:3]
        )
        raise ProgramError(f"the program never ends: {text or f'{len(late)} ops never run'}. {missing}".rstrip())
