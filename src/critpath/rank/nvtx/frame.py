"""Range instances as rows: what each launched, and what the device lacked meanwhile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from critpath.base.intervals import I64, Intervals
from critpath.base.nesting import I32
from critpath.model.identity import NULL
from critpath.model.trace import Strings
from critpath.rank.nvtx.places import paths
from critpath.rank.nvtx.projection import (
    CROSSING,
    ENDS_ON_OTHER_THREAD,
    UNCLOSED,
    Projection,
    UnitRanges,
    gap_parts,
    on_threads_of,
)
from critpath.rank.parts import BUCKETS, Parts
from critpath.rank.process_ops import ProcessOps

__all__ = ["bucket_times", "nvtx_frame"]


def nvtx_frame(ops: ProcessOps, projection: Projection, ranges: UnitRanges, parts: Parts) -> pl.DataFrame:
    """One row a range instance, in order of (thread, start, longest first).

    `range` is the grouped name, `text` the whole one; `gap_*_ns` the time of each bucket between the instance's first
    device start and last device end; `forward` the path of the forward range that a backward range belongs to. Where
    a process used several devices, ranges of threads that launched to other devices only are left out.

    Args:
        ops: of the process.
        projection: its ranges.
        ranges: what they launched on the unit.
        parts: the unit's time without compute, whole timeline.
    """
    rows = np.flatnonzero(on_threads_of(projection, ranges, ops))
    told = paths(projection)
    columns: dict[str, pl.Series | I64 | I32 | npt.NDArray[np.bool_]] = {
        "range": _words(projection.names, projection.name[rows].astype(np.int64)),
        "text": _texts(ops.strings, projection.text[rows]),
        "path": _words(told.texts, told.code[rows].astype(np.int64)),
        "instance": projection.instance[rows],
        "domain": projection.domain[rows],
        "thread": projection.thread[rows],
        "depth": projection.depth[rows],
        "start_ns": projection.start_ns[rows],
        "end_ns": projection.end_ns[rows],
        "ops": ranges.ops_count[rows],
        "device_start_ns": _nullable(ranges.device_start_ns[rows]),
        "device_end_ns": _nullable(ranges.device_end_ns[rows]),
        "device_ns": ranges.device_ns[rows],
        "compute_ns": ranges.compute_ns[rows],
        "communication_ns": ranges.communication_ns[rows],
    }
    for name, pieces in zip(BUCKETS, bucket_times(parts), strict=True):
        columns[f"gap_{name}_ns"] = gap_parts(ranges, pieces)[rows]
    forward = projection.forward[rows]
    flags = projection.flags[rows]
    columns |= {
        "unclosed": (flags & UNCLOSED) != 0,
        "crossing": (flags & CROSSING) != 0,
        "ends_on_other_thread": (flags & ENDS_ON_OTHER_THREAD) != 0,
        "forward": _words(told.texts, np.where(forward >= 0, told.code[np.maximum(forward, 0)], -1)),
    }
    return pl.DataFrame(columns)


def bucket_times(parts: Parts) -> tuple[Intervals, ...]:
    """When each bucket's pieces last, by the code of the bucket."""
    return tuple(parts.where(parts.bucket == code).spans() for code in range(len(BUCKETS)))


def _texts(strings: Strings, ids: I64) -> pl.Series:
    distinct, code = np.unique(ids, return_inverse=True)
    return _words(tuple(strings[i] for i in distinct.tolist()), code)


def _words(known: tuple[str, ...], codes: I64) -> pl.Series:
    """Each code's word as a categorical: millions of rows share thousands of words."""
    chosen = pl.Series(np.where(codes < 0, 0, codes), dtype=pl.UInt32).set(pl.Series(codes < 0), None)
    return pl.Series(known, dtype=pl.Categorical).gather(chosen)


def _nullable(instants_ns: I64) -> pl.Series:
    series = pl.Series(instants_ns, dtype=pl.Int64)
    return series.set(series == NULL, None)
