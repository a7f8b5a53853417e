"""How a unit's work reaches the device: delay from call to start, depth of the queue, cost of the calls, short kernels.

    host    |call|  |call|  |call|
    device         ####   ####        ####
    pending  [----)  [-----)  [-------)        launched and not started

A short delay is no merit: a starved device starts everything at once. A long one is none either way: it is the host
running ahead. The definition is docs/method/launches.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, union
from critpath.base.stats import log2_counts
from critpath.rank.api_calls import function_name
from critpath.rank.kernel_work import KernelWork, by_count, kernel_work
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows

__all__ = [
    "FULL_QUEUE",
    "SHORT_KERNEL_NS",
    "LaunchCalls",
    "LaunchHealth",
    "ShortKernels",
    "launch_health",
]

FULL_QUEUE = 1_000
"""Launches pending on one stream from which on a long launch call is put down to a full queue: CUDA holds about 1,024
(HTA's measurement; NVIDIA states no number)."""

SHORT_KERNEL_NS = 10_000
"""Kernels below this take no longer than it takes to launch them."""

QUANTILES = (0.1, 0.5, 0.9, 0.99)

_NS_PER_US = 1_000
_NAMES = 10


@dataclass(frozen=True, slots=True)
class LaunchCalls:
    """Calls of one function that began in the windows and launched something on the unit.

    Attributes:
        total_ns: their lengths added up, over all threads.
        median_ns, p99_ns, max_ns: of their lengths.
        held_up: calls longer than three medians of ordinary launches.
        queue_full: those of them that found `FULL_QUEUE` or more launches pending on their stream.
        histogram: by length; see `log2_counts`.
    """

    function: str
    count: int
    total_ns: int
    median_ns: float
    p99_ns: float
    max_ns: int
    held_up: int
    queue_full: int
    histogram: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShortKernels:
    """Kernels that start in the windows and take less than `SHORT_KERNEL_NS`.

    Attributes:
        count, work_ns: how many, and their durations added up.
        kernels, kernels_work_ns: the same of all kernels.
        in_graphs: those that a graph launch issued: they cost no call of their own.
        names: those with the most executions.
    """

    count: int
    work_ns: int
    kernels: int
    kernels_work_ns: int
    in_graphs: int
    names: tuple[KernelWork, ...]


@dataclass(frozen=True, slots=True)
class LaunchHealth:
    """Launches of a unit; of the ops of one graph launch, only the first counts as launched.

    Attributes:
        delays: launches that start in the windows and have a call.
        delay_ns: the 10th, 50th, 90th and 99th percentile of start of the call to start of the op; None without one.
        without_call: ops that start there and have no call captured.
        before_call: those that start before their call does, which is impossible; in no other figure.
        depth: launches pending, a mean over each window's time, shape (n,).
        most_pending: the most at any time in the windows.
        empty_ns: time in each window without any launch pending, shape (n,).
        calls: by function, the one with the most time first.
        short: kernels below 10 us.
    """

    delays: int
    delay_ns: tuple[float, ...] | None
    without_call: int
    before_call: int
    depth: npt.NDArray[np.float64]
    most_pending: int
    empty_ns: I64
    calls: tuple[LaunchCalls, ...]
    short: ShortKernels


def launch_health(ops: ProcessOps, device: int, windows: Windows, long_call_ns: int) -> LaunchHealth:
    """The launches of one unit.

    Args:
        ops: of the process.
        device: the unit's.
        windows: of the unit.
        long_call_ns: a launch call longer than this was held up.
    """
    mine = ops.device == device
    inside = mine & (windows.of(ops.start_ns) >= 0)
    called, linked = ops.called_ns(), ops.call >= 0
    first = ops.first_node == np.arange(len(ops))
    before = linked & (called > ops.start_ns)
    launched = np.flatnonzero(mine & linked & ~before & first)
    begin, end = called[launched], ops.start_ns[launched]
    delays = (end - begin)[inside[launched]]
    lengths = windows.lengths_ns
    pending = union(begin, end)
    return LaunchHealth(
        delays=int(delays.size),
        delay_ns=tuple(np.quantile(delays, QUANTILES).tolist()) if delays.size else None,
        without_call=int((inside & ~linked).sum()),
        before_call=int((inside & before).sum()),
        depth=_time_pending(begin, end, windows) / lengths,
        most_pending=_most_pending(begin, end, windows),
        empty_ns=lengths - pending.clip(windows.starts_ns, windows.ends_ns),
        calls=_calls(ops, launched, windows, long_call_ns),
        short=_short(ops, inside),
    )


def _time_pending(begin_ns: I64, end_ns: I64, windows: Windows) -> I64:
    """Time that launches were pending, added up over the launches, in each window [ns].

    The part of [begin, end) before an instant t is min(t, end) - min(t, begin): prefix sums of both columns do.
    """

    def waited(edges: I64, at_ns: I64) -> I64:
        ordered = np.sort(edges)
        summed = np.concatenate([np.zeros(1, np.int64), np.cumsum(ordered - base)])
        place = np.searchsorted(ordered, at_ns, side="right")
        total: I64 = place * (at_ns - base) - summed[place]
        return total

    base = int(windows.starts_ns.min())

    def before(at_ns: I64) -> I64:
        return waited(begin_ns, at_ns) - waited(end_ns, at_ns)

    return before(windows.ends_ns) - before(windows.starts_ns)


def _most_pending(begin_ns: I64, end_ns: I64, windows: Windows) -> int:
    """The most launches pending at an instant of the windows: right after a call, or as a window starts."""
    at = np.concatenate([begin_ns[windows.of(begin_ns) >= 0], windows.starts_ns])
    depth = np.searchsorted(np.sort(begin_ns), at, side="right") - np.searchsorted(np.sort(end_ns), at, side="right")
    return int(depth.max(initial=0))


def _calls(ops: ProcessOps, launched: npt.NDArray[np.intp], windows: Windows, long_ns: int) -> tuple[LaunchCalls, ...]:
    found: dict[str, list[npt.NDArray[np.intp]]] = {}
    full = _found_full(ops, launched)
    call, first = np.unique(ops.call[launched], return_index=True)
    kept = windows.of(ops.calls.start_ns[call]) >= 0
    call, full = call[kept], full[first[kept]]
    for name in np.unique(ops.calls.name[call]).tolist():
        function = function_name(ops.strings[name]) if name >= 0 else "unnamed"
        found.setdefault(function, []).append(np.flatnonzero(ops.calls.name[call] == name))
    rows = []
    for function, parts in found.items():
        its = np.concatenate(parts)
        length = ops.calls.end_ns[call[its]] - ops.calls.start_ns[call[its]]
        long = length > long_ns
        median, p99 = np.quantile(length, [0.5, 0.99]).tolist()
        rows.append(
            LaunchCalls(
                function=function,
                count=int(its.size),
                total_ns=int(length.sum()),
                median_ns=median,
                p99_ns=p99,
                max_ns=int(length.max()),
                held_up=int(long.sum()),
                queue_full=int((long & full[its]).sum()),
                histogram=log2_counts(length, _NS_PER_US),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.total_ns, row.function)))


def _found_full(ops: ProcessOps, launched: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Whether each launch's call began with `FULL_QUEUE` or more earlier launches pending on its stream."""
    called, queue = ops.called_ns()[launched], ops.queue[launched]
    found = np.zeros(launched.size, np.bool_)
    order = np.lexsort((called, queue))
    edges = np.flatnonzero(np.diff(queue[order], prepend=-1, append=-1))
    for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[lo:hi]
        starts = np.sort(ops.start_ns[launched[rows]])
        pending = np.arange(rows.size) - np.searchsorted(starts, called[rows], side="right")
        found[rows] = pending >= FULL_QUEUE
    return found


def _short(ops: ProcessOps, inside: npt.NDArray[np.bool_]) -> ShortKernels:
    kernels = np.flatnonzero(inside & (ops.name >= 0))
    length = ops.end_ns[kernels] - ops.start_ns[kernels]
    below = length < SHORT_KERNEL_NS
    short, its = kernels[below], length[below]
    return ShortKernels(
        count=int(short.size),
        work_ns=int(its.sum()),
        kernels=int(kernels.size),
        kernels_work_ns=int(length.sum()),
        in_graphs=int(ops.by_graph[short].sum()),
        names=tuple(sorted(kernel_work(ops, short, its), key=by_count)[:_NAMES]),
    )
