"""Why a launch came when it did: what its thread did until then, and which part of the wait a launch fix could win.

a                      c      I = c + L
│ cpu  sync ▒▒▒▒  cpu  │launch│            the thread of K
│        P ■■■■■■■■■           │           joint_with_producer while P or its chain runs
│ rec. │host_wait │ rec│latency│           the rest by what the thread did
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from critpath.sim.absence_walk import Bucket, Part, op_class
from critpath.sim.executed import Op, ProcessRun

__all__ = ["HostLog", "launch_starved"]


_BEFORE_LAUNCH = {"host-sync": "host_wait", "poll": "host_wait"}
"""Parts by what the thread did before it launched; all else is recoverable."""


class _Activity(NamedTuple):
    """What a thread did in a span of time, and what held it there."""

    start_ns: int
    end_ns: int
    cause: str
    awaited: Op | None = None


class HostLog:
    """What each thread of a process did, from its first call to its last."""

    def __init__(self, run: ProcessRun) -> None:
        self._run = run
        self._logs: dict[int, tuple[list[int], list[_Activity]]] = {}

    def during(self, thread: int, begin_ns: int, end_ns: int) -> Iterator[_Activity]:
        """What `thread` did between two instants, in time order and without gaps; "cpu" where nothing else is known."""
        if thread not in self._logs:
            found = _activities(self._run, thread)
            self._logs[thread] = [activity.end_ns for activity in found], found
        ends, activities = self._logs[thread]
        place, now_ns = bisect_right(ends, begin_ns), begin_ns
        while now_ns < end_ns:
            if place == len(activities) or activities[place].start_ns >= end_ns:
                yield _Activity(now_ns, end_ns, "cpu")
                return
            known = activities[place]
            if now_ns < known.start_ns:
                yield _Activity(now_ns, known.start_ns, "cpu")
                now_ns = known.start_ns
            yield known._replace(start_ns=now_ns, end_ns=min(known.end_ns, end_ns))
            now_ns = known.end_ns
            place += 1


def _activities(run: ProcessRun, thread: int) -> list[_Activity]:
    """Calls, waits and profiler overhead of a thread, in time order, none over another."""
    known = [_Activity(h.start_ns, h.end_ns, h.cause, h.awaited) for h in run.held if h.thread.tid == thread]
    known += [_Activity(call.start_ns, call.end_ns, "cuda-api") for call in run.calls[thread]]
    known += [_Activity(o.start_ns, o.end_ns, "profiler") for o in run.overheads if o.thread.tid == thread]
    found: list[_Activity] = []
    reached_ns = 0
    # Of equal starts the first listed comes first, so a wait takes the place of its call.
    for activity in sorted(known, key=attrgetter("start_ns")):
        start_ns = max(reached_ns, activity.start_ns)
        if start_ns < activity.end_ns:
            found.append(activity._replace(start_ns=start_ns))
            reached_ns = activity.end_ns
    return found


def launch_starved(
    kernel: Op, span: tuple[int, int], log: HostLog, running: Sequence[tuple[int, int, Op]]
) -> list[Part]:
    """The time in which `kernel` had not been issued, split by part and by what its thread did.

    Args:
        kernel: the op that had not been issued.
        span: from the last compute to the issue-ready time [ns].
        log: what the threads of its process did.
        running: when ops of the chain of its latest producer ran, in time order.
    """
    begin_ns, end_ns = span
    call_ns = max(begin_ns, min(kernel.call_start_ns, end_ns))
    did = [(_BEFORE_LAUNCH.get(a.cause, "recoverable"), a) for a in log.during(kernel.thread.tid, begin_ns, call_ns)]
    for activity in log.during(kernel.thread.tid, call_ns, min(end_ns, kernel.call_end_ns)):
        if activity.awaited is not None and activity.start_ns == call_ns:
            # The call itself had to wait, for room in a full launch queue.
            did.append(("recoverable", activity))
            call_ns = activity.end_ns
    submitted_ns = max(call_ns, min(kernel.submitted_ns, end_ns))
    did.append(("other:batch", _Activity(call_ns, submitted_ns, "cuda-api")))
    did.append(("launch_latency", _Activity(submitted_ns, end_ns, "cuda-api")))
    parts: list[Part] = []
    place = 0
    for alone, activity in did:
        waits_on = None if activity.awaited is None else op_class(activity.awaited)
        now_ns = activity.start_ns
        while now_ns < activity.end_ns:
            while place < len(running) and running[place][1] <= now_ns:
                place += 1
            start_ns, until_ns, op = running[place] if place < len(running) else (end_ns, end_ns, None)
            joint = start_ns <= now_ns < until_ns
            stop_ns = min(activity.end_ns, until_ns if joint else start_ns)
            label = "joint_with_producer" if joint else alone
            ran = op if joint else None
            parts.append(Part(now_ns, stop_ns, Bucket.LAUNCH_STARVED, label, ran, activity.cause, waits_on))
            now_ns = stop_ns
    return _merged(parts)


def _merged(parts: Sequence[Part]) -> list[Part]:
    """The same with neighbours that say the same as one."""
    found: list[Part] = []
    for part in parts:
        if found and found[-1].end_ns == part.start_ns and found[-1][2:] == part[2:]:
            found[-1] = found[-1]._replace(end_ns=part.end_ns)
        else:
            found.append(part)
    return found
