"""Which kernels of different units are one collective, and how each unit's time in it divides.

    unit 0   ####################        own = 20, the shortest participant's time is 8
    unit 1               ########        wait of unit 0 = 12: it arrived that much earlier, whatever the clocks say

Communicators are those that NCCL's payloads tell. Where payloads were not exported they are inferred: streams of
different units with the same sequence of collectives that ended together again and again. The definition, and what it
can't tell, is docs/method/ranks.md.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.run.inferred import Members, inferred_lanes
from critpath.run.sequences import Sequence as Seen
from critpath.run.sequences import Shift, shift
from critpath.run.units import CLOCK_ERROR_NS, RunUnit

__all__ = ["Communicator", "Matches", "match"]

_UNEVEN = frozenset({"send_recv", "all_to_all", "dispatch", "combine", "gather", "scatter", "unknown"})

_SAME_HOST_NS = 1_000_000
"""The same for units of one host that tell its monotonic clock."""


@dataclass(frozen=True, slots=True)
class Communicator:
    """Units that meet each other.

    Attributes:
        key: what identifies it.
        units: places of the captured units in it.
        inferred: whether nothing but likeness and time tells that they meet.
        ranks: how many it has; None where its initialization wasn't captured.
        message: whether it is one direction between two ranks, and no collective of all.
        shifts: why each of `units` was laid along the first as it was.
    """

    key: str
    units: tuple[int, ...]
    inferred: bool
    ranks: int | None = None
    message: bool = False
    shifts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matches:
    """Collectives with at least two captured participants; a row a participant, by instance, shape (p,).

    Attributes:
        instance: dense number of the collective, ascending, in [0, n).
        unit: place of the unit.
        op: row of the unit's `CollectiveOps`.
        start_ns, end_ns: on the rebased axis, not aligned.
        communicators: those with matches.
        community: entry of `communicators`, shape (n,).
        kind: what each instance does, entry of `kinds`, shape (n,).
        proxy_ns: the shortest participant's time, shape (n,): an upper bound of the transfer.
        unmatched: ops of each unit in which ranks meet and that match nothing.
    """

    instance: I64
    unit: I64
    op: I64
    start_ns: I64
    end_ns: I64
    communicators: tuple[Communicator, ...]
    community: I64
    kind: I64
    kinds: tuple[str, ...]
    proxy_ns: I64
    unmatched: tuple[I64, ...]

    def __len__(self) -> int:
        return int(self.community.size)

    @property
    def duration_ns(self) -> I64:
        """Time of each participant in its collective [ns], shape (p,)."""
        return self.end_ns - self.start_ns

    @property
    def wait_ns(self) -> I64:
        """How much longer each participant was in it than the shortest one [ns], shape (p,)."""
        return self.duration_ns - self.proxy_ns[self.instance]

    def participants(self) -> I64:
        """Captured participants of each instance, shape (n,)."""
        return np.bincount(self.instance, minlength=len(self)).astype(np.int64)


def match(units: Sequence[RunUnit]) -> Matches:
    """Match the collectives of several units."""
    told = [*_told(units), *_messages(units)]
    taken = [np.zeros(len(u.collectives), np.bool_) for u in units]
    for _, members in told:
        for unit, rows in members:
            taken[unit][rows] = True
    lanes = [
        (Communicator(key, tuple(unit for unit, _ in members), inferred=True), members)
        for key, members in inferred_lanes(units, taken)
    ]
    labels = _labels(units)
    found = [
        laid
        for community, members in (*told, *lanes)
        if len(members) > 1 and (laid := _laid(community, members, units, labels)) is not None
    ]
    return _joined(found, units)


def _told(units: Sequence[RunUnit]) -> Iterator[tuple[Communicator, Members]]:
    """Communicators whose ids payloads tell, collectives only."""
    members: dict[int, Members] = {}
    sizes: dict[int, set[int]] = {}
    for unit in units:
        for each in unit.memberships:
            sizes.setdefault(each.communicator, set()).add(each.ranks)
    for place, unit in enumerate(units):
        ops = unit.collectives
        rows = np.flatnonzero((ops.communicator != NULL) & (ops.peer == NULL))
        for key in np.unique(ops.communicator[rows]).tolist():
            mine = rows[ops.communicator[rows] == key]
            mine = mine[_of_all(unit, mine, sizes.get(key, set()))]
            if mine.size:
                members.setdefault(key, []).append((place, mine))
    for key in sorted(members):
        size = sizes.get(key, set())
        name = f"{key % 2**64:016x}"
        captured = tuple(place for place, _ in members[key])
        yield Communicator(name, captured, inferred=False, ranks=size.pop() if len(size) == 1 else None), members[key]


def _of_all(unit: RunUnit, rows: npt.NDArray[np.intp], sizes: set[int]) -> npt.NDArray[np.bool_]:
    """Which ops all members of a communicator take part in: a group of messages may be between neighbours only."""
    ops = unit.collectives
    grouped = np.array([kind == "send_recv" for kind in ops.kinds], np.bool_)[ops.kind[rows]]
    ranks = max(sizes, default=0) if len(sizes) == 1 else 0
    every = (ops.calls[rows] >= 2 * (ranks - 1)) & (ranks > 1)
    found: npt.NDArray[np.bool_] = ~grouped | every
    return found


def _messages(units: Sequence[RunUnit]) -> Iterator[tuple[Communicator, Members]]:
    """Messages by communicator, sender and receiver; both ends must know their own rank there."""
    ends: dict[tuple[int, int, int], dict[bool, tuple[int, npt.NDArray[np.intp]]]] = {}
    for place, unit in enumerate(units):
        own = {m.communicator: m.rank for m in unit.memberships}
        ops = unit.collectives
        rows = np.flatnonzero((ops.communicator != NULL) & (ops.peer != NULL))
        table = np.stack([ops.communicator[rows], ops.peer[rows], ops.sends[rows]], axis=1)
        keys, which = np.unique(table, axis=0, return_inverse=True) if rows.size else (table, np.empty(0, np.intp))
        for i, (key, peer, sends) in enumerate(keys.tolist()):
            if key in own:
                pair = (own[key], peer) if sends else (peer, own[key])
                ends.setdefault((key, *pair), {})[bool(sends)] = (place, rows[which == i])
    for (key, source, target), both in sorted(ends.items()):
        if len(both) == 2 and both[True][0] != both[False][0]:
            name = f"{key % 2**64:016x}:{source}>{target}"
            yield (
                Communicator(name, (both[True][0], both[False][0]), inferred=False, ranks=2, message=True),
                [both[True], both[False]],
            )


def _labels(units: Sequence[RunUnit]) -> list[I64]:
    """For each op the number of its step's text; -1 outside, and for units whose steps share a text."""
    numbers: dict[str, int] = {}
    found = []
    for unit in units:
        texts, step = unit.step_keys, unit.collectives.step.astype(np.int64)
        if texts is None:
            found.append(np.full(step.size, -1, np.int64))
            continue
        number = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        found.append(np.where(step >= 0, number[np.maximum(step, 0)], -1))
    return found


@dataclass(frozen=True, slots=True)
class _Laid:
    """A communicator's members along its longest one: place in that sequence, unit, row, shape (p,)."""

    community: Communicator
    place: I64
    unit: I64
    op: I64


def _laid(community: Communicator, members: Members, units: Sequence[RunUnit], labels: Sequence[I64]) -> _Laid | None:
    longest = max(range(len(members)), key=lambda i: members[i][1].size)
    base_unit, base_rows = members[longest]
    base = _seen(units[base_unit], base_rows, labels[base_unit])
    parts, why, kept = [], [], []
    for unit, rows in members:
        seen = base if unit == base_unit else _seen(units[unit], rows, labels[unit])
        found = Shift(0, "base") if unit == base_unit else shift(base, seen, _error_ns(units[base_unit], units[unit]))
        if found is None:
            continue
        place = np.arange(rows.size, dtype=np.int64) + found.by
        fits = (place >= 0) & (place < base.token.size)
        fits[fits] = base.token[place[fits]] == seen.token[fits]
        parts.append((place[fits], np.full(int(fits.sum()), unit, np.int64), rows[fits].astype(np.int64)))
        why.append(found.why)
        kept.append(unit)
    if len(parts) < 2:
        return None
    place, unit_of, op = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _Laid(replace(community, units=tuple(kept), shifts=tuple(why)), place, unit_of, op)


def _error_ns(one: RunUnit, other: RunUnit) -> int:
    return _SAME_HOST_NS if one.host == other.host and one.shared_clock and other.shared_clock else CLOCK_ERROR_NS


def _seen(unit: RunUnit, rows: npt.NDArray[np.intp], label: I64) -> Seen:
    ops = unit.collectives
    kinds = np.array([zlib.crc32(kind.encode("utf-8", "surrogatepass")) << 31 for kind in ops.kinds], np.int64)
    # Ranks may send and take different amounts in these, and size tells none apart.
    sized = np.array([kind not in _UNEVEN for kind in ops.kinds], np.bool_)[ops.kind[rows]] & (ops.bytes[rows] != NULL)
    token = kinds[ops.kind[rows]] ^ np.where(sized, ops.bytes[rows], 0)
    return Seen(token, label[rows], ops.end_ns[rows] + (unit.zero_ns or 0))


def _joined(found: Sequence[_Laid], units: Sequence[RunUnit]) -> Matches:
    """All communicators in one table, without instances that only one unit saw."""
    parts = [np.stack([np.full(f.place.size, i, np.int64), f.place, f.unit, f.op]) for i, f in enumerate(found)]
    community, place, unit, op = np.concatenate(parts, axis=1) if parts else np.empty((4, 0), np.int64)
    order = np.lexsort((unit, place, community))
    community, place, unit, op = community[order], place[order], unit[order], op[order]
    fresh = (
        np.concatenate([[True], (np.diff(community) != 0) | (np.diff(place) != 0)]) if op.size else np.empty(0, bool)
    )
    instance = np.cumsum(fresh) - 1
    shared = np.bincount(instance)[instance] > 1 if op.size else fresh
    community, unit, op, instance = community[shared], unit[shared], op[shared], instance[shared]
    instance = np.unique(instance, return_inverse=True)[1].astype(np.int64)
    first = np.searchsorted(instance, np.arange(instance[-1] + 1 if instance.size else 0))
    start, end = np.empty(op.size, np.int64), np.empty(op.size, np.int64)
    kind = np.empty(op.size, np.int64)
    kinds = tuple(sorted({name for u in units for name in u.collectives.kinds}))
    unmatched = []
    for i, each in enumerate(units):
        mine = unit == i
        start[mine] = each.collectives.start_ns[op[mine]] + (each.zero_ns or 0)
        end[mine] = each.collectives.end_ns[op[mine]] + (each.zero_ns or 0)
        numbers = np.array([kinds.index(name) for name in each.collectives.kinds], np.int64)
        kind[mine] = numbers[each.collectives.kind[op[mine]]] if numbers.size else 0
        unmatched.append(np.setdiff1d(np.arange(len(each.collectives), dtype=np.int64), op[mine]))
    return Matches(
        instance=instance,
        unit=unit,
        op=op,
        start_ns=start,
        end_ns=end,
        communicators=tuple(f.community for f in found),
        community=community[first],
        kind=kind[first],
        kinds=kinds,
        proxy_ns=np.minimum.reduceat(end - start, first) if first.size else np.empty(0, np.int64),
        unmatched=tuple(unmatched),
    )
