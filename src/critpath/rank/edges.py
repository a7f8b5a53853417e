"""Dependencies as rows: one an edge, and one for each op that a wait held whose record is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.rank.attribution import ProcessFacts
from critpath.rank.dependencies import LEGACY_STREAM, STREAM_ORDER

__all__ = ["EDGE_KINDS", "GRADES", "Edges", "edges", "words"]

EDGE_KINDS = ("stream_order", "event_wait", "legacy_stream", "graph_order", "unresolved_wait")
"""What an edge comes from, by code."""

GRADES = ("recorded", "documented", "inferred", "assumed", "unresolved")
"""How well an edge is known, by code, best first."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of a process, ordered by the op that waits; shape (n,).

    Attributes:
        op, producer: rows of the process' ops; producer -1 where it is not known.
        kind: entry of `EDGE_KINDS`.
        grade: entry of `GRADES`.
        wait, record: correlation ids of the wait on the op's own stream and of its record; NULL without one.
    """

    op: I64
    producer: I64
    kind: I64
    grade: I64
    wait: I64
    record: I64

    def frame(self, facts: ProcessFacts, device: int) -> pl.DataFrame:
        """The edges of one device, ids as in the export and null where there is none."""
        correlation = facts.ops.correlation
        mine = facts.ops.device[self.op] == device
        producer = self.producer[mine]
        their = correlation[np.maximum(producer, 0)] if correlation.size else producer
        kind, grade = self.kind[mine], self.grade[mine]
        return pl.DataFrame(
            {
                "kind": words(EDGE_KINDS, kind),
                "grade": words(GRADES, grade),
                "op_correlation_id": _nullable(correlation[self.op[mine]]),
                "producer_correlation_id": _nullable(np.where(producer >= 0, their, NULL)),
                "wait_correlation_id": _nullable(self.wait[mine]),
                "record_correlation_id": _nullable(self.record[mine]),
            }
        )


def edges(facts: ProcessFacts) -> Edges:
    """All edges of a process."""
    known = facts.known
    order = known.order
    kind = np.full(order.work.size, EDGE_KINDS.index("event_wait"), np.int64)
    kind[order.via == STREAM_ORDER] = EDGE_KINDS.index("stream_order")
    kind[order.via == LEGACY_STREAM] = EDGE_KINDS.index("legacy_stream")
    grade = np.full(order.work.size, GRADES.index("recorded"), np.int64)
    grade[order.via == LEGACY_STREAM] = GRADES.index("documented")
    inside = _same_launch(facts, order.work, order.producer) & (order.via == STREAM_ORDER)
    kind[inside], grade[inside] = EDGE_KINDS.index("graph_order"), GRADES.index("assumed")
    waits, records = known.waits.correlation, known.records.correlation
    has_wait = order.via >= 0
    via = np.maximum(order.via, 0)
    wait = np.where(has_wait, waits[via], NULL) if waits.size else np.full(via.size, NULL, np.int64)
    record_row = np.where(has_wait, known.record_of[via], -1) if waits.size else np.full(via.size, -1, np.int64)
    record = np.where(record_row >= 0, records[np.maximum(record_row, 0)], NULL) if records.size else wait
    held = np.flatnonzero(order.unknown)
    nothing = np.full(held.size, NULL, np.int64)
    return Edges(
        op=np.concatenate([order.work, held]),
        producer=np.concatenate([order.producer, np.full(held.size, -1, np.int64)]),
        kind=np.concatenate([kind, np.full(held.size, EDGE_KINDS.index("unresolved_wait"), np.int64)]),
        grade=np.concatenate([grade, np.full(held.size, GRADES.index("unresolved"), np.int64)]),
        wait=np.concatenate([wait, nothing]),
        record=np.concatenate([record if records.size else np.full(via.size, NULL, np.int64), nothing]),
    )


def _same_launch(facts: ProcessFacts, work: I64, producer: I64) -> npt.NDArray[np.bool_]:
    first = facts.ops.first_node
    if not first.size:
        return np.zeros(0, np.bool_)
    same: npt.NDArray[np.bool_] = facts.ops.graph_node[work] & (first[work] == first[producer])
    return same


def words(known: tuple[str, ...], codes: I64) -> pl.Series:
    """Each code's word; null for -1."""
    return pl.Series(known, dtype=pl.String).gather(_nullable(np.where(codes < 0, NULL, codes)).cast(pl.UInt32))


def _nullable(ids: I64) -> pl.Series:
    series = pl.Series(ids, dtype=pl.Int64)
    return series.set(series == NULL, None)
