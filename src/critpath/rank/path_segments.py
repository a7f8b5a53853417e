"""A unit's critical path in pieces between the collectives on it: small enough to keep of every rank of a job.

path       op op gap op | all-reduce | op launch op op | all-gather | op
segments       own      |     k      |       own       |     k'     | own
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.rank.critical_path import LINK_KINDS, CriticalPath

__all__ = ["PathSegments", "path_segments"]


@dataclass(frozen=True, slots=True)
class PathSegments:
    """Pieces of the critical paths of a unit's windows, by (window, start); those of a window tile it. Shape (n,).

    Attributes:
        window: place of the window.
        collective: row of the unit's `CollectiveOps` that ran, -1 for the unit's own part.
        largest: entry of `names`: the kind and name of link with most of the piece's time.
        largest_ns: that time.
        names: `op gemm`, `host cudaMalloc`, …; foreign text.
    """

    window: npt.NDArray[np.int32]
    start_ns: I64
    end_ns: I64
    collective: npt.NDArray[np.int32]
    largest: npt.NDArray[np.int32]
    largest_ns: I64
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.start_ns.size)


def path_segments(path: CriticalPath, meeting: npt.NDArray[np.intp]) -> PathSegments:
    """The pieces of a path.

    Args:
        path: of one unit.
        meeting: ops of its process that are its `CollectiveOps`, by row.
    """
    order = np.argsort(meeting, kind="stable")
    at = np.searchsorted(meeting[order], path.op)
    found = np.minimum(at, max(0, meeting.size - 1))
    ran = path.kind == LINK_KINDS.index("op")
    is_met = ran & (path.op >= 0) & (meeting.size > 0)
    if meeting.size:
        is_met &= meeting[order][found] == path.op
    row = np.where(is_met, order[found] if meeting.size else -1, -1)
    fresh = np.ones(len(path), np.bool_)
    fresh[1:] = (np.diff(path.window) != 0) | (np.diff(row) != 0)
    segment = np.cumsum(fresh) - 1
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(path)) - 1 if first.size else first
    code, words = _words(path)
    pair, group = group_rows(segment.astype(np.int64), code)
    total = np.zeros(pair.size, np.int64)
    np.add.at(total, group, path.lengths_ns)
    best = np.lexsort((code[pair], -total, segment[pair]))
    head = best[np.searchsorted(segment[pair][best], np.arange(first.size))] if first.size else best
    return PathSegments(
        window=path.window[first].astype(np.int32),
        start_ns=path.start_ns[first],
        end_ns=path.end_ns[last],
        collective=row[first].astype(np.int32),
        largest=code[pair[head]].astype(np.int32),
        largest_ns=total[head],
        names=words,
    )


def _words(path: CriticalPath) -> tuple[I64, tuple[str, ...]]:
    """(word of each link, the words): its kind, and the name it has or else its class."""
    first, group = group_rows(path.kind, path.class_index, path.name)
    told = [
        f"{LINK_KINDS[kind]} {path.names[name] if name >= 0 else path.classes[label]}"
        for kind, label, name in zip(
            path.kind[first].tolist(), path.class_index[first].tolist(), path.name[first].tolist(), strict=True
        )
    ]
    words = tuple(dict.fromkeys(told))
    number = np.array([words.index(word) for word in told], np.int64)
    return number[group] if group.size else np.empty(0, np.int64), words
