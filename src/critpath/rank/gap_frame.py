"""The pieces of time without compute as rows, split by window and by cause."""

from __future__ import annotations

import numpy as np
import polars as pl

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.rank.absence import Clipped
from critpath.rank.attribution import Attribution
from critpath.rank.edges import words
from critpath.rank.nvtx.places import Labels
from critpath.rank.parts import BLOCKING, BUCKETS, STALLED
from critpath.rank.process_ops import ProcessOps

__all__ = ["gap_frame"]


def gap_frame(ops: ProcessOps, divided: Attribution, cut: Clipped, places: Labels | None) -> pl.DataFrame:
    """One row a piece and window: `window, start_ns, end_ns, bucket, class, reason, kernel, producer, grade, nvtx`.

    `class` is that of the op that ran while another waited, or the part of launch starvation; `reason` that of a stall.
    `kernel` is the op that was late, `producer` the op it directly waited for, `nvtx` where the late one was launched.
    """
    parts, gaps = divided.parts, divided.gaps
    bucket, label, gap = parts.bucket[cut.piece], parts.label[cut.piece], parts.gap[cut.piece]
    known = gap >= 0
    kernel = np.where(known, gaps.kernel[np.maximum(gap, 0)], -1) if len(gaps) else gap
    producer = np.where(known, gaps.producer[np.maximum(gap, 0)], -1) if len(gaps) else gap
    order = np.lexsort((cut.start_ns, cut.window))
    frame = pl.DataFrame(
        {
            "window": cut.window,
            "start_ns": cut.start_ns,
            "end_ns": cut.end_ns,
            "bucket": words(BUCKETS, bucket),
            "class": _class(divided, bucket, label),
            "reason": words(divided.labels[STALLED], np.where(bucket == STALLED, label, -1)),
            "kernel": _names(ops, kernel),
            "producer": _names(ops, producer),
            "grade": words(("recorded", "assumed", "unresolved"), _grade(divided, bucket, label, gap)),
            "nvtx": _places(places, kernel),
        }
    )
    return frame[order]


def _places(places: Labels | None, rows: I64) -> pl.Series:
    if places is None or not places.code.size:
        return pl.Series([None] * int(rows.size), dtype=pl.String)
    return words(places.texts, np.where(rows >= 0, places.code[np.maximum(rows, 0)].astype(np.int64), -1))


def _class(divided: Attribution, bucket: I64, label: I64) -> pl.Series:
    """The label of launch-starved and blocking pieces."""
    every = (*divided.labels[0], *divided.labels[BLOCKING])
    code = np.where(bucket == BLOCKING, label + len(divided.labels[0]), label)
    return words(every, np.where(bucket <= BLOCKING, code, -1))


def _grade(divided: Attribution, bucket: I64, label: I64, gap: I64) -> I64:
    """How well the piece's cause is known: by recorded rows, by an assumed issue time, or not at all."""
    reasons = divided.labels[STALLED]
    open_ = [reasons.index(r) for r in ("unknown", "unresolved_wait", "inside_graph") if r in reasons]
    grade = np.zeros(bucket.size, np.int64)
    called = divided.gaps.called_ns[np.maximum(gap, 0)] if len(divided.gaps) else gap
    grade[called == NULL] = 1
    grade[(bucket == STALLED) & np.isin(label, open_)] = 2
    grade[bucket > STALLED] = 2
    return grade


def _names(ops: ProcessOps, rows: I64) -> pl.Series:
    """Name of each op: a kernel's own, the class of others; null for -1."""
    if not rows.size or not len(ops):
        return pl.Series([None] * int(rows.size), dtype=pl.String)
    at = np.maximum(rows, 0)
    distinct, code = np.unique(np.where(ops.name[at] >= 0, ops.name[at], -2 - ops.class_index[at]), return_inverse=True)
    spelled = tuple(ops.strings[i] if i >= 0 else ops.classes[-2 - i] for i in distinct.tolist())
    return words(spelled, np.where(rows >= 0, code, -1))
