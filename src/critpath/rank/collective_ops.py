"""What a unit communicated with other units: one row an op, small enough to keep of every rank of a job.

    host     |ncclAllReduce|                |GroupStart| Send  Recv |GroupEnd|
                  launch                                             launch
    kernel             ####  its call                                    ####  all calls of the group

What NCCL's ranges say of communicator and size is known only where their payloads were exported; else both are NULL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.model.tables import NcclCalls, NvtxRanges
from critpath.model.taxonomy import Classification, Taxonomy
from critpath.model.trace import Strings, Trace
from critpath.rank.absence import Clipped
from critpath.rank.attribution import Attribution
from critpath.rank.parts import BLOCKING
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows

__all__ = ["CollectiveOps", "Meetings", "Membership", "collective_ops", "meetings", "memberships"]

_MEETING = ("collective", "transport_sync")
_GROUP_END, _SEND = "ncclGroupEnd", "ncclSend"
_CALLS = {
    "ncclAllReduce": "all_reduce",
    "ncclAllGather": "all_gather",
    "ncclReduceScatter": "reduce_scatter",
    "ncclBroadcast": "broadcast",
    "ncclBcast": "broadcast",
    "ncclReduce": "reduce",
    "ncclAlltoAll": "all_to_all",
    "ncclAllToAll": "all_to_all",
    "ncclGather": "gather",
    "ncclScatter": "scatter",
    "ncclSend": "send_recv",
    "ncclRecv": "send_recv",
}
"""What NCCL's calls do; kernels are named after one of several that share them."""

_CALL_KINDS = tuple(sorted(set(_CALLS.values())))


@dataclass(frozen=True, slots=True)
class Membership:
    """A unit's place in a communicator: its rank among `ranks` of them."""

    communicator: int
    ranks: int
    rank: int


@dataclass(frozen=True, slots=True)
class Meetings:
    """Kernels of a unit in which ranks meet, by start: which op of its process, and how long it provably blocked."""

    op: npt.NDArray[np.intp]
    blocking_ns: I64


@dataclass(frozen=True, slots=True)
class CollectiveOps:
    """Communication kernels of a unit in which ranks meet, by start; arrays of shape (n,).

    Attributes:
        start_ns, end_ns: device time on the report's axis.
        window: place of the window that it starts in, -1 outside all.
        step: place among the unit's host steps of the one in which it was launched, -1 outside all, or without any.
        kind: entry of `kinds`: what it does, as the kernel's name or NCCL's call tells; `unknown` where neither does.
        kinds: `all_reduce`, `send_recv`, `dispatch`, …
        name: entry of `names`: the kernel's name; foreign text.
        lane: dense number of the stream it ran on, in the unit.
        communicator: NCCL's id, equal on all members; NULL where unknown, or where calls of several were one kernel.
        bytes: what its calls say they move, added up; NULL where unknown.
        calls: calls of NCCL's that it carries out, 0 where unknown; several where they were grouped.
        peer: the other end of a message, as its rank in the communicator; NULL for all else, and for groups.
        sends: whether the message is sent; meaningless without a peer.
        blocking_ns: time in the windows in which compute provably waited for it.
        nccl: whether NCCL ran it; only its collectives tie clocks together.
    """

    start_ns: I64
    end_ns: I64
    window: npt.NDArray[np.int32]
    step: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int16]
    kinds: tuple[str, ...]
    name: npt.NDArray[np.int16]
    names: tuple[str, ...]
    lane: npt.NDArray[np.int16]
    communicator: I64
    bytes: I64
    calls: npt.NDArray[np.int32]
    peer: I64
    sends: npt.NDArray[np.bool_]
    blocking_ns: I64
    nccl: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def durations_ns(self) -> I64:
        """Length of each op [ns]."""
        return self.end_ns - self.start_ns


def meetings(ops: ProcessOps, device: int, blocked: tuple[Attribution, Clipped], taxonomy: Taxonomy) -> Meetings:
    """The kernels of a unit in which ranks meet.

    Args:
        ops: of the unit's process.
        device: the unit's.
        blocked: why compute was absent, and its pieces in the windows.
        taxonomy: how kernel names are read.
    """
    divided, cut = blocked
    rows = np.flatnonzero((ops.device == device) & ops.communication & (ops.name >= 0))
    ids = np.unique(ops.name[rows])
    meeting = [i for i in ids.tolist() if _meets(taxonomy.classify(ops.strings[i]))]
    rows = rows[np.isin(ops.name[rows], meeting)]
    owner = divided.parts.op[cut.piece]
    mine = (divided.parts.bucket[cut.piece] == BLOCKING) & (owner >= 0)
    # Other labels stand for what an op would have to be to run: late, or stalled.
    mine &= divided.parts.label[cut.piece] < len(ops.classes)
    owned = np.zeros(len(ops), np.int64)
    np.add.at(owned, owner[mine], cut.lengths_ns[mine])
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    return Meetings(rows, owned[rows])


def collective_ops(
    trace: Trace, ops: ProcessOps, found: Meetings, windows: Windows, taxonomy: Taxonomy
) -> CollectiveOps:
    """What is known of the kernels in which a unit meets others.

    Args:
        trace: without damaged records.
        ops: of the unit's process.
        found: those kernels.
        windows: of the unit.
        taxonomy: how kernel names are read.
    """
    rows = found.op
    ids, name = np.unique(ops.name[rows], return_inverse=True)
    names = tuple(ops.strings[i] for i in ids.tolist())
    known = [taxonomy.classify(text) for text in names]
    calls = _Calls(trace, ops, rows)
    kinds, kind = _kinds(known, name, calls.kind)
    nccl = np.array([c.backend == "nccl" for c in known], np.bool_)
    lanes = np.unique(ops.queue[rows], return_inverse=True)[1]
    return CollectiveOps(
        start_ns=ops.start_ns[rows],
        end_ns=ops.end_ns[rows],
        window=windows.of(ops.start_ns[rows]).astype(np.int32),
        step=_steps(ops.called_ns()[rows], windows),
        kind=kind,
        kinds=kinds,
        name=name.astype(np.int16),
        names=names,
        lane=lanes.astype(np.int16),
        communicator=calls.communicator,
        bytes=calls.bytes,
        calls=calls.count,
        peer=calls.peer,
        sends=calls.sends,
        blocking_ns=found.blocking_ns,
        nccl=nccl[name] if rows.size else np.empty(0, np.bool_),
    )


def _steps(called_ns: I64, windows: Windows) -> npt.NDArray[np.int32]:
    if windows.host_steps is None:
        return np.full(called_ns.size, -1, np.int32)
    return windows.host_steps.of(called_ns).astype(np.int32)


def memberships(calls: NcclCalls, process: int, device: int, *, alone: bool) -> tuple[Membership, ...]:
    """A unit's communicators, as NCCL's initialization tells them.

    Args:
        calls: of the report.
        process: the unit's.
        device: its CUDA ordinal.
        alone: whether the process used no other device, so that what is said of it is said of the unit.
    """
    mine = (calls.process == process) & (calls.ranks != NULL) & (calls.rank != NULL)
    mine &= (calls.device == device) | (alone & (calls.device == NULL))
    rows = zip(calls.communicator[mine].tolist(), calls.ranks[mine].tolist(), calls.rank[mine].tolist(), strict=True)
    return tuple(Membership(*row) for row in dict.fromkeys(rows) if 0 <= row[2] < row[1])


def _meets(known: Classification) -> bool:
    """Whether ranks wait for each other in it: control kernels only prepare, but for those that notify all."""
    return known.component in _MEETING or _notifies(known)


def _notifies(known: Classification) -> bool:
    return known.rule is not None and known.rule.endswith(".notify")


def _kinds(
    known: list[Classification], name: npt.NDArray[np.intp], called: I64
) -> tuple[tuple[str, ...], npt.NDArray[np.int16]]:
    """(kinds, kind of each op): as its call says, or else its name."""
    told = ["notify" if _notifies(c) else c.collective or "unknown" for c in known]
    kinds = tuple(sorted({*told, *(_CALL_KINDS[i] for i in np.unique(called[called >= 0]).tolist())}))
    by_name = np.array([kinds.index(kind) for kind in told], np.int16)
    by_call = np.array([kinds.index(kind) if kind in kinds else -1 for kind in _CALL_KINDS], np.int16)
    if not name.size:
        return kinds, np.empty(0, np.int16)
    return kinds, np.where(called >= 0, by_call[called], by_name[name])


class _Calls:
    """What NCCL's ranges around the launches of some ops say, arrays of their shape."""

    def __init__(self, trace: Trace, ops: ProcessOps, rows: npt.NDArray[np.intp]) -> None:
        self.communicator, self.bytes, self.peer = (np.full(rows.size, NULL, np.int64) for _ in range(3))
        self.sends = np.zeros(rows.size, np.bool_)
        self.count, self.kind = np.zeros(rows.size, np.int32), np.full(rows.size, -1, np.int64)
        calls = trace.nccl_calls
        process = int(ops.calls.process[0]) if len(ops.calls) else NULL
        # Ranges of the initialization name ranks, and move nothing.
        calls = calls.where((calls.process == process) & (calls.ranks == NULL) & (calls.end_ns != NULL))
        if not len(calls):
            return
        ranges = trace.nvtx_ranges.where(trace.nvtx_ranges.process == process)
        called, thread = ops.called_ns()[rows], ops.launching_thread()[rows]
        for each in np.unique(calls.thread).tolist():
            mine = np.flatnonzero((thread == each) & (ops.call[rows] >= 0))
            its = calls.where(calls.thread == each)
            self._of_thread(mine, called[mine], its, _groups(ranges, trace.strings, each), trace.strings)

    def _of_thread(
        self, rows: npt.NDArray[np.intp], called_ns: I64, calls: NcclCalls, groups: NvtxRanges, strings: Strings
    ) -> None:
        order = np.argsort(calls.start_ns, kind="stable")
        start, end = calls.start_ns[order], calls.end_ns[order]
        last = np.searchsorted(start, called_ns, side="right") - 1
        direct = (last >= 0) & (called_ns < end[np.maximum(last, 0)])
        lo, hi = np.where(direct, last, 0), np.where(direct, last + 1, 0)
        if len(groups):
            # A group's calls launch nothing until its end: what is launched there is all of them.
            closing = np.searchsorted(groups.start_ns, called_ns, side="right") - 1
            grouped = ~direct & (closing >= 0) & (called_ns < groups.end_ns[np.maximum(closing, 0)])
            before = np.where(closing > 0, groups.end_ns[np.maximum(closing - 1, 0)], NULL)
            lo = np.where(grouped, np.searchsorted(start, before), lo)
            hi = np.where(grouped, np.searchsorted(start, groups.start_ns[np.maximum(closing, 0)]), hi)
        some = hi > lo
        lo, hi, rows = lo[some], hi[some], rows[some]
        self.count[rows] = hi - lo
        told_kind = _kinds_of_calls(calls, strings)[order]
        alike = _all_equal(told_kind, lo, hi)
        self.kind[rows[alike]] = told_kind[lo[alike]]
        community, size, peer = calls.communicator[order], calls.bytes[order], calls.peer[order]
        one = _all_equal(community, lo, hi)
        self.communicator[rows[one]] = community[lo[one]]
        told = np.concatenate([[0], np.cumsum(size != NULL)])
        total = np.concatenate([[0], np.cumsum(np.where(size == NULL, 0, size))])
        sized = one & (told[hi] - told[lo] == hi - lo)
        self.bytes[rows[sized]] = (total[hi] - total[lo])[sized]
        single = one & (hi - lo == 1)
        self.peer[rows[single]] = peer[lo[single]]
        sending = [i for i, text in strings.of(calls.name).items() if text == _SEND]
        self.sends[rows[single]] = np.isin(calls.name[order], sending)[lo[single]]


def _kinds_of_calls(calls: NcclCalls, strings: Strings) -> I64:
    """Entry of `_CALL_KINDS` of each call, -1 for calls that aren't among them."""
    places = {kind: i for i, kind in enumerate(_CALL_KINDS)}
    known = {i: places.get(_CALLS.get(text, ""), -1) for i, text in strings.of(calls.name).items()}
    ids = np.array(sorted(known), np.int64)
    codes = np.array([known[i] for i in ids.tolist()], np.int64)
    return codes[np.searchsorted(ids, calls.name)] if ids.size else np.empty(0, np.int64)


def _groups(ranges: NvtxRanges, strings: Strings, thread: int) -> NvtxRanges:
    """The ranges that end a group, on one thread, by start."""
    ends = [i for i, text in strings.of(ranges.name).items() if text == _GROUP_END]
    its = ranges.where(np.isin(ranges.name, ends) & (ranges.thread == thread) & (ranges.end_ns != NULL))
    return its.where(np.argsort(its.start_ns, kind="stable"))


def _all_equal(values: I64, lo: I64, hi: I64) -> npt.NDArray[np.bool_]:
    """Whether values[lo:hi], never empty, are all the same."""
    changes = np.concatenate([[0], np.cumsum(values[1:] != values[:-1])])
    equal: npt.NDArray[np.bool_] = changes[hi - 1] == changes[lo]
    return equal
