"""NVTX ranges projected onto the device: the ops that were launched inside each.

The definition is docs/method/nvtx.md. A range is host time, and the host runs ahead: what ran on the device *during* a
range was mostly launched before it. An op belongs to a range when the start of its launch call lies in [start, end) of
the range, on the range's thread.

    projected = project(ops, ranges, strings, end_of_capture_ns)
    mine = for_unit(projected, ops, ops.device == 0)
    mine.device_ns[row]                        # wall time of the ops of one range; never a sum of durations
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals
from critpath.base.nesting import I32, crossings, enclosing_ends, inherited, insides
from critpath.base.slices import slice_extents, slice_unions
from critpath.model.identity import NULL
from critpath.model.tables import NvtxRanges
from critpath.model.trace import Strings
from critpath.rank.nvtx.backward import forward_rows
from critpath.rank.nvtx.names import read_names
from critpath.rank.process_ops import ProcessOps

__all__ = [
    "CROSSING",
    "ENDS_ON_OTHER_THREAD",
    "OF_NCCL",
    "UNCLOSED",
    "Projection",
    "UnitRanges",
    "by_thread",
    "for_unit",
    "gap_parts",
    "on_threads_of",
    "project",
]

UNCLOSED, CROSSING, ENDS_ON_OTHER_THREAD, OF_NCCL = 1, 2, 4, 8
"""Bits of `Projection.flags`: never closed; overlaps another range of its thread and domain in part; another thread
closed it; written by NCCL itself."""

_NCCL = re.compile(r"p?nccl[A-Z]\w*")


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Ranges of a process in order of (thread, start, longest first), and the ops that each launched; shape (n,).

    Attributes:
        names: grouped names.
        name: entry of `names`.
        text: string id of the full text.
        instance: 0-based count of the ranges of its domain and name in order of time.
        domain: NVTX domain id.
        thread: whole serialized id of the thread that opened it.
        start_ns, end_ns: host time; the end of one that was never closed is the one assumed.
        parent: row of the range around it on its thread, over all domains; -1 without one.
        depth: ranges around it.
        flags: bits `UNCLOSED`, `CROSSING`, `ENDS_ON_OTHER_THREAD`, `OF_NCCL`.
        forward: row of the forward range that a backward range belongs to; -1 for all others.
        origin: `forward` of the range itself, or of the nearest one around it that has one.
        op: rows of the process' ops that have a launch call, by (thread, start of the call).
        lo, hi: ops that it launched are op[lo:hi].
        left_out: rows of the table without length, which nothing can lie in.
    """

    names: tuple[str, ...]
    name: I32
    text: I64
    instance: I32
    domain: I64
    thread: I64
    start_ns: I64
    end_ns: I64
    parent: I32
    depth: I32
    flags: npt.NDArray[np.uint8]
    forward: I32
    origin: I32
    op: I32
    lo: I32
    hi: I32
    left_out: int = 0

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @classmethod
    def empty(cls) -> Projection:
        """No range at all."""
        few, many = np.empty(0, np.int32), np.empty(0, np.int64)
        flags = np.empty(0, np.uint8)
        return cls((), few, many, few, many, many, many, many, few, few, flags, few, few, few, few, few)


@dataclass(frozen=True, slots=True, eq=False)
class UnitRanges:
    """What the ranges of a process launched on one device; one row a range, shape (n,).

    Attributes:
        op: rows of the process' ops that ran there and have a launch call, by (thread, start of the call).
        lo, hi: ops that the range launched there are op[lo:hi].
        device_start_ns, device_end_ns: first start and last end of them, NULL without one.
        device_ns: time in which at least one of them ran.
        compute_ns, communication_ns: the same of compute ops, and of kernels of the communication taxonomy.
    """

    op: I32
    lo: I32
    hi: I32
    device_start_ns: I64
    device_end_ns: I64
    device_ns: I64
    compute_ns: I64
    communication_ns: I64

    @property
    def ops_count(self) -> I32:
        """Ops that each range launched."""
        return self.hi - self.lo


def project(ops: ProcessOps, ranges: NvtxRanges, strings: Strings, end_of_capture_ns: int) -> Projection:
    """The ranges of a process and the ops that each launched.

    Args:
        ops: of the process.
        ranges: of the process.
        strings: texts of the export.
        end_of_capture_ns: where ranges end that neither were closed nor lie in one that was.
    """
    ends = _closed_ends(ranges, end_of_capture_ns)
    kept = ends > ranges.start_ns
    left_out = len(ranges) - int(kept.sum())
    if left_out:
        ranges, ends = ranges.where(kept), ends[kept]
    order = np.lexsort((-ends, ranges.start_ns, ranges.thread))
    unclosed, elsewhere = ranges.end_ns == NULL, _ends_elsewhere(ranges)
    told = read_names(ranges, strings)
    thread, start, end, domain = (c[order] for c in (ranges.thread, ranges.start_ns, ends, ranges.domain))
    name, sequence = told.name[order], told.sequence[order]
    parent, depth = insides(thread, start, end)
    flags = UNCLOSED * unclosed[order].astype(np.uint8) + ENDS_ON_OTHER_THREAD * elsewhere[order].astype(np.uint8)
    flags[_crossing(thread, domain, start, end)] |= CROSSING
    flags[_nccl(told.names, name, domain)] |= OF_NCCL
    forward = forward_rows(thread, start, sequence)
    launched, lo, hi = _launched(ops, thread, start, end)
    return Projection(
        names=told.names,
        name=name,
        text=ranges.name[order],
        instance=_instances(domain, name, start),
        domain=domain,
        thread=thread,
        start_ns=start,
        end_ns=end,
        parent=parent,
        depth=depth,
        flags=flags,
        forward=forward,
        origin=inherited(parent, forward),
        op=launched,
        lo=lo,
        hi=hi,
        left_out=left_out,
    )


def for_unit(projection: Projection, ops: ProcessOps, mine: npt.NDArray[np.bool_]) -> UnitRanges:
    """What the ranges launched on one device.

    Args:
        projection: of the process.
        ops: the ops it was made with.
        mine: which of them ran on the device.
    """
    kept = mine[projection.op]
    op = projection.op[kept]
    before = np.concatenate([np.zeros(1, np.int32), np.cumsum(kept, dtype=np.int32)])
    lo, hi = before[projection.lo], before[projection.hi]
    start, end = ops.start_ns[op], ops.end_ns[op]
    first, last = slice_extents(start, end, lo, hi)
    nothing = hi == lo

    def union_of(which: npt.NDArray[np.bool_]) -> I64:
        return slice_unions(start, np.where(which[op], end, start), lo, hi)

    return UnitRanges(
        op=op,
        lo=lo,
        hi=hi,
        device_start_ns=np.where(nothing, NULL, first),
        device_end_ns=np.where(nothing, NULL, last),
        device_ns=slice_unions(start, end, lo, hi),
        compute_ns=union_of(ops.compute),
        communication_ns=union_of(ops.communication),
    )


def gap_parts(ranges: UnitRanges, pieces: Intervals) -> I64:
    """Time of `pieces` between each range's first device start and last device end [ns], shape (n,); 0 without an op.

    Pieces of a bucket of one device are disjoint, so that prefix sums do. What a range launched may not be what the
    device lacked then: the time lies within its span on the device, and is not put down to it.

    Args:
        ranges: of one unit.
        pieces: of one bucket.
    """
    result = np.zeros(ranges.lo.size, np.int64)
    rows = np.flatnonzero(ranges.hi > ranges.lo)
    result[rows] = pieces.clip(ranges.device_start_ns[rows], ranges.device_end_ns[rows])
    return result


def on_threads_of(projection: Projection, ranges: UnitRanges, ops: ProcessOps) -> npt.NDArray[np.bool_]:
    """Ranges of threads that don't launch on other devices of the process only, shape (n,)."""
    thread = ops.launching_thread()
    elsewhere = np.setdiff1d(thread[projection.op], thread[ranges.op])
    return ~np.isin(projection.thread, elsewhere)


def by_thread(thread: I64) -> list[tuple[int, slice]]:
    """(thread, its rows) of rows that are ordered by thread."""
    if not thread.size:
        return []
    edges = [0, *(np.flatnonzero(thread[1:] != thread[:-1]) + 1).tolist(), thread.size]
    return [(int(thread[a]), slice(a, b)) for a, b in pairwise(edges)]


def _closed_ends(ranges: NvtxRanges, end_of_capture_ns: int) -> I64:
    """End of each range; one that was never closed ends with the closed one around it of its domain."""
    is_open = ranges.end_ns == NULL
    if not is_open.any():
        return ranges.end_ns
    owner = group_rows(ranges.thread, ranges.domain)[1].astype(np.int64)
    order = np.lexsort((ranges.start_ns, owner))
    starts = ranges.start_ns[order]
    assumed = np.empty(len(ranges), np.int64)
    assumed[order] = enclosing_ends(owner[order], starts, ranges.end_ns[order], end_of_capture_ns)
    return np.where(is_open, np.maximum(assumed, ranges.start_ns), ranges.end_ns)


def _ends_elsewhere(ranges: NvtxRanges) -> npt.NDArray[np.bool_]:
    elsewhere: npt.NDArray[np.bool_] = (ranges.end_thread != NULL) & (ranges.end_thread != ranges.thread)
    elsewhere &= ranges.end_ns != NULL
    return elsewhere


def _crossing(thread: I64, domain: I64, start_ns: I64, end_ns: I64) -> npt.NDArray[np.bool_]:
    owner = group_rows(thread, domain)[1].astype(np.int64)
    order = np.argsort(owner, kind="stable")
    found = np.empty(thread.size, np.bool_)
    found[order] = crossings(owner[order], start_ns[order], end_ns[order])
    return found


def _nccl(names: tuple[str, ...], name: I32, domain: I64) -> npt.NDArray[np.bool_]:
    """Ranges of domains in which NCCL's own functions are named; the default domain is never a library's."""
    spelled = np.array([_NCCL.fullmatch(text) is not None for text in names], np.bool_)
    if not spelled.any():
        return np.zeros(name.size, np.bool_)
    domains = np.unique(domain[spelled[name] & (domain != 0)])
    return np.isin(domain, domains)


def _instances(domain: I64, name: I32, start_ns: I64) -> I32:
    group = group_rows(domain, name.astype(np.int64))[1]
    order = np.lexsort((start_ns, group))
    ordered = group[order]
    head = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if ordered.size else np.empty(0, np.bool_)
    place = np.arange(ordered.size)
    result = np.empty(ordered.size, np.int32)
    result[order] = place - np.maximum.accumulate(np.where(head, place, 0))
    return result


def _launched(ops: ProcessOps, thread: I64, start_ns: I64, end_ns: I64) -> tuple[I32, I32, I32]:
    """(ops in order of (thread, start of the call), first and behind the last op of each range)."""
    called, on = ops.called_ns(), ops.launching_thread()
    known = np.flatnonzero(called != NULL)
    op = known[np.lexsort((called[known], on[known]))].astype(np.int32)
    called, on = called[op], on[op]
    lo, hi = np.zeros(thread.size, np.int32), np.zeros(thread.size, np.int32)
    for each, rows in by_thread(thread):
        first, last = np.searchsorted(on, each), np.searchsorted(on, each, side="right")
        its = called[first:last]
        lo[rows] = first + np.searchsorted(its, start_ns[rows])
        hi[rows] = first + np.searchsorted(its, end_ns[rows])
    return op, lo, hi
