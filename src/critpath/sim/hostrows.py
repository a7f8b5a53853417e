"""The rows of the host side beyond API calls: overhead, operating system calls, threads leaving their CPU."""

from __future__ import annotations

from collections.abc import Iterator

from critpath.sim.executed import OverheadKind
from critpath.sim.ids import global_tid
from critpath.sim.sheets import Capture, Row, Sheet

__all__ = ["OS_CALL_THRESHOLD_NS", "host_sheets"]

OS_CALL_THRESHOLD_NS = 1_000
"""Operating system calls this long or shorter have no row."""
_OVERHEAD_FLUSH, _COMMAND_BUFFER_FULL = 3, 8
_CUDA_OVERHEAD, _OS_RUNTIME = 103, 27
_INTERRUPTIBLE, _WAITING = 2, 7
_BLOCKED_BY = {"pthread_mutex_lock": 6, "pthread_cond_wait": 7}
"""Kinds of blocks as `threadBlock` numbers them."""
_UNKNOWN_BLOCK = 1
_FALL_ASLEEP_NS = 1_500
"""From the begin of a call that waits to the thread's leaving its CPU."""


def host_sheets(capture: Capture) -> Iterator[Sheet]:
    """Every table of the host's doings that this generation has; some may be without rows."""
    yield _flushes(capture)
    if capture.generation.since("2025.5.2"):
        yield _full_queues(capture)
    yield _os_calls(capture)
    if capture.recording.scheduling:
        yield _switches(capture)


def _flushes(capture: Capture) -> Sheet:
    at = capture.clock.at
    name = capture.strings.id("CUPTI Buffer Flush")
    rows: list[Row] = [
        (at(o.start_ns), at(o.end_ns), global_tid(run.process, o.thread), name)
        for run in capture.runs
        for o in run.overheads
        if o.kind is OverheadKind.FLUSH
    ]
    constants = {"returnValue": 0, "overheadType": _OVERHEAD_FLUSH}
    return Sheet("PROFILER_OVERHEAD", ("start", "end", "globalTid", "nameId"), rows, {**constants})


def _full_queues(capture: Capture) -> Sheet:
    at = capture.clock.at
    found = [(run, o) for run in capture.runs for o in run.overheads if o.kind is OverheadKind.QUEUE_FULL]
    name = capture.strings.id("Command Buffer Full") if found else 0
    rows: list[Row] = [
        (at(o.start_ns), at(o.end_ns), global_tid(run.process, o.thread), o.correlation, name) for run, o in found
    ]
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    constants = {"eventClass": _CUDA_OVERHEAD, "overheadType": _COMMAND_BUFFER_FULL}
    return Sheet("CUPTI_ACTIVITY_KIND_OVERHEAD", columns, rows, {**constants})


def _os_calls(capture: Capture) -> Sheet:
    at = capture.clock.at
    rows: list[Row] = [
        (at(call.start_ns), at(call.end_ns), global_tid(run.process, call.thread), capture.strings.id(call.name))
        for run in capture.runs
        for call in run.os_calls
        if call.end_ns - call.start_ns > OS_CALL_THRESHOLD_NS
    ]
    constants = {"eventClass": _OS_RUNTIME, "returnValue": 0, "nestingLevel": 0, "callchainId": 0, "argumentsId": 0}
    return Sheet("OSRT_API", ("start", "end", "globalTid", "nameId"), rows, {**constants})


def _switches(capture: Capture) -> Sheet:
    """Each thread comes onto a CPU at its process's start, and leaves it inside every wait long enough for that."""
    at = capture.clock.at
    rows: list[Row] = []
    cpus: dict[int, int] = {}
    for run in capture.runs:
        for thread in run.process.threads:
            whole = global_tid(run.process, thread)
            cpus[whole] = 2 * len(cpus) % 192
            rows.append((at(run.process.start_ns), cpus[whole], 1, whole, None, None))
        for call in run.os_calls:
            if call.end_ns - call.start_ns <= 2 * _FALL_ASLEEP_NS:
                continue
            whole = global_tid(run.process, call.thread)
            block = _BLOCKED_BY.get(call.name, _UNKNOWN_BLOCK)
            state = _WAITING if call.name in _BLOCKED_BY else _INTERRUPTIBLE
            rows.append((at(call.start_ns + _FALL_ASLEEP_NS), cpus[whole], 0, whole, state, block))
            rows.append((at(call.end_ns - _FALL_ASLEEP_NS), cpus[whole], 1, whole, None, None))
    columns = ["start", "cpu", "isSchedIn", "globalTid"]
    if capture.generation.since("2024.5.1"):
        columns += ["threadState", "threadBlock"]
    return Sheet("SCHED_EVENTS", tuple(columns), [row[: len(columns)] for row in rows], {})
