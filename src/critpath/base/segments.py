"""Many segments cut by one set of instants, each piece still knowing which segment it came from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals

__all__ = ["Cut", "inside", "outside", "owned_spans"]

Cut = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], I64, I64]
"""(source, place, start_ns, end_ns): pieces, each of shape (p,), the segment each is part of, the span it lies in."""


def inside(starts_ns: I64, ends_ns: I64, spans: Intervals) -> Cut:
    """The parts of each segment that lie in `spans`, in the order of segments, then of time.

    Args:
        starts_ns: shape (n,); segments may overlap and come in any order, and an empty one has no part.
        ends_ns: shape (n,).
        spans: the set of instants; spans that touch are told apart where they were not merged.
    """
    first = np.searchsorted(spans.ends_ns, starts_ns, side="right")
    last = np.maximum(np.searchsorted(spans.starts_ns, ends_ns, side="left"), first)
    counts = last - first
    source = np.repeat(np.arange(counts.size), counts)
    place = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    begin = np.maximum(starts_ns[source], spans.starts_ns[place])
    end = np.minimum(ends_ns[source], spans.ends_ns[place])
    solid = end > begin
    return source[solid], place[solid], begin[solid], end[solid]


def outside(starts_ns: I64, ends_ns: I64, spans: Intervals) -> Cut:
    """The parts of each segment that don't lie in `spans`; see `inside`. Places are those of the gaps between spans."""
    if not starts_ns.size:
        return np.empty(0, np.intp), np.empty(0, np.intp), starts_ns, ends_ns
    return inside(starts_ns, ends_ns, spans.gaps(int(starts_ns.min()), int(ends_ns.max())))


def owned_spans(starts_ns: I64, ends_ns: I64) -> tuple[Intervals, npt.NDArray[np.intp]]:
    """Spans cut to what no earlier span covers, and the row each came from; touching ones are not merged.

    Args:
        starts_ns: shape (n,); spans may overlap and come in any order.
        ends_ns: shape (n,).
    """
    order = np.lexsort((-ends_ns, starts_ns))
    starts, ends = starts_ns[order], ends_ns[order]
    if ends.size:
        starts = np.maximum(starts, np.concatenate([starts[:1], np.maximum.accumulate(ends)[:-1]]))
    solid = ends > starts
    return Intervals(starts[solid], ends[solid]), order[solid]
