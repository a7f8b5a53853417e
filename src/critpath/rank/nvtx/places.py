"""Where on the host something happened: the innermost range of a thread at an instant. A place, never a cause.

The innermost is the latest-started one still open, over all domains. Ranges that NCCL writes itself tell a place only
where no other range is open, for they would hide the model's own. Work of a backward pass is placed where its forward
pass was: `layers.3 > attention (backward)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals
from critpath.base.nesting import I32, Innermost, inherited, innermost
from critpath.base.segments import inside, outside
from critpath.rank.nvtx.projection import OF_NCCL, Projection, by_thread
from critpath.rank.process_ops import ProcessOps

__all__ = ["Labels", "commonest_places", "op_places", "path", "paths", "place_labels", "place_of"]

_LEVELS = 32
"""Levels of a path that are told: ranges that a program never closes lie inside one another without end."""
_BETWEEN, _SKIPPED = " > ", "…"


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts by code, and a code a row; -1 for a row without one."""

    code: I32
    texts: tuple[str, ...]

    def of(self, row: int) -> str | None:
        """The text of one row."""
        code = int(self.code[row])
        return self.texts[code] if code >= 0 else None


def place_of(projection: Projection, thread: I64, at_ns: I64) -> I64:
    """Row of the innermost range at each instant of a thread, -1 outside all of them, shape of `at_ns`.

    Args:
        projection: of the process.
        thread: whole serialized thread id of each instant.
        at_ns: host time.
    """
    result = np.full(at_ns.size, -1, np.int64)
    order = np.argsort(thread, kind="stable")
    ordered = thread[order]
    for each, rows in by_thread(projection.thread):
        asked = order[np.searchsorted(ordered, each) : np.searchsorted(ordered, each, side="right")]
        if not asked.size:
            continue
        spans = _spans(projection, rows)
        if not spans.row.size:
            continue
        span = np.searchsorted(spans.starts_ns, at_ns[asked], side="right") - 1
        within = (span >= 0) & (at_ns[asked] < spans.ends_ns[np.maximum(span, 0)])
        result[asked] = np.where(within, spans.row[np.maximum(span, 0)], -1)
    return result


def path(projection: Projection, row: int) -> str:
    """Grouped names of the ranges around one and its own, outermost first: `train_step > forward > layers.3`."""
    names = []
    at = row
    while at >= 0:
        names.append(projection.names[projection.name[at]])
        at = int(projection.parent[at])
    names.reverse()
    return _BETWEEN.join(names if len(names) <= _LEVELS else [*names[: _LEVELS - 1], _SKIPPED, names[-1]])


def paths(projection: Projection) -> Labels:
    """`path` of every range."""
    code = np.full(len(projection), -1, np.int32)
    texts: list[str] = []
    anchor = inherited(
        projection.parent,
        np.where(projection.depth < _LEVELS - 1, np.arange(len(projection), dtype=np.int32), np.int32(-1)),
    )
    deep = projection.depth >= _LEVELS
    level = np.minimum(projection.depth, _LEVELS).astype(np.int8)
    order = np.argsort(level, kind="stable")
    edges = np.searchsorted(level[order], np.arange(_LEVELS + 2))
    names = projection.names
    for depth in range(_LEVELS + 1):
        rows = order[edges[depth] : edges[depth + 1]]
        if not rows.size:
            continue
        around = anchor[rows] if depth == _LEVELS else projection.parent[rows]
        above = code[around].astype(np.int64) if depth else np.full(rows.size, -1, np.int64)
        first, group = group_rows(above, projection.name[rows].astype(np.int64))
        code[rows] = group + len(texts)
        between = f"{_BETWEEN}{_SKIPPED}{_BETWEEN}" if deep[rows[0]] else _BETWEEN
        pairs = zip(above[first].tolist(), projection.name[rows[first]].tolist(), strict=True)
        texts += [names[n] if a < 0 else f"{texts[a]}{between}{names[n]}" for a, n in pairs]
    return Labels(code, tuple(texts))


def place_labels(projection: Projection) -> Labels:
    """The text of every range as a place: its path, or its forward range's where it belongs to a backward pass."""
    found = paths(projection)
    if not len(projection):
        return found
    known = len(found.texts)
    origin = projection.origin
    code = np.where(origin >= 0, found.code[np.maximum(origin, 0)] + known, found.code)
    used, compact = np.unique(code, return_inverse=True)
    texts = [found.texts[c] if c < known else f"{found.texts[c - known]} (backward)" for c in used.tolist()]
    return Labels(compact.astype(np.int32), tuple(texts))


def op_places(projection: Projection, ops: ProcessOps) -> Labels:
    """The place at which each op of the process was launched; -1 where no range was open or no call is captured."""
    if not len(projection):
        return Labels(np.full(len(ops), -1, np.int32), ())
    labels = place_labels(projection)
    row = place_of(projection, ops.launching_thread(), ops.called_ns())
    return Labels(np.where(row >= 0, labels.code[np.maximum(row, 0)], np.int32(-1)), labels.texts)


def commonest_places(
    projection: Projection, thread: I64, spans: tuple[I64, I64], label: I64, labels: int
) -> tuple[str | None, ...]:
    """For each label, the place in which most of its time lies; None where most lies in no range.

    Args:
        projection: of the process.
        thread: whose time each span is.
        spans: (starts, ends) in host time; each of shape (n,).
        label: of each span, in [0, labels).
        labels: how many there are.
    """
    if not len(projection):
        return (None,) * labels
    places = place_labels(projection)
    starts, ends = spans
    told: list[tuple[I64, I64, I64]] = [(label, np.full(label.size, -1, np.int64), ends - starts)]
    for each, rows in by_thread(projection.thread):
        mine = np.flatnonzero(thread == each)
        if not mine.size:
            continue
        inner = _spans(projection, rows)
        source, place, begin, end = inside(starts[mine], ends[mine], Intervals(inner.starts_ns, inner.ends_ns))
        its = label[mine[source]]
        told.append((its, places.code[inner.row[place]].astype(np.int64), end - begin))
        told.append((its, np.full(its.size, -1, np.int64), begin - end))
    its, code, length = (np.concatenate(columns) for columns in zip(*told, strict=True))
    first, group = group_rows(its, code)
    total = np.zeros(first.size, np.int64)
    np.add.at(total, group, length)
    order = np.lexsort((code[first], -total, its[first]))
    best: list[str | None] = [None] * labels
    for i in reversed(order.tolist()):
        best[its[first[i]]] = places.texts[code[first[i]]] if code[first[i]] >= 0 else None
    return tuple(best)


def _spans(projection: Projection, rows: slice) -> Innermost:
    """When each range of one thread is the innermost; NCCL's own ranges only where no other is open."""
    nccl = (projection.flags[rows] & OF_NCCL) != 0
    own = _of(projection, rows, np.flatnonzero(~nccl))
    if not nccl.any():
        return own
    its = _of(projection, rows, np.flatnonzero(nccl))
    source, _, begin, end = outside(its.starts_ns, its.ends_ns, Intervals(own.starts_ns, own.ends_ns))
    starts = np.concatenate([own.starts_ns, begin])
    order = np.argsort(starts, kind="stable")
    ends, row = np.concatenate([own.ends_ns, end]), np.concatenate([own.row, its.row[source]])
    return Innermost(starts[order], ends[order], row[order])


def _of(projection: Projection, rows: slice, chosen: npt.NDArray[np.intp]) -> Innermost:
    starts, ends = projection.start_ns[rows], projection.end_ns[rows]
    if chosen.size < starts.size:
        starts, ends = starts[chosen], ends[chosen]
    found = innermost(starts, ends)
    return Innermost(found.starts_ns, found.ends_ns, (chosen[found.row] + rows.start).astype(np.int32))
