"""Pieces of time without compute, each with its bucket and what it is put down to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64, Intervals, union
from critpath.base.segments import inside, outside

__all__ = ["BLOCKING", "BUCKETS", "LAUNCH_STARVED", "OPAQUE_GRAPH", "STALLED", "Parts", "joined"]

LAUNCH_STARVED, BLOCKING, STALLED, OPAQUE_GRAPH = range(4)
"""Codes of the buckets."""

BUCKETS = ("launch_starved", "blocking", "dependency_stalled", "opaque_graph")
"""Names of the buckets, by code."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Disjoint pieces of time, shape (n,).

    Attributes:
        gap: the interval each is a part of.
        bucket: code of the bucket.
        label: what it is put down to inside the bucket; entry of a list of labels that the maker keeps.
        op: the op that is meant: the one that ran or was late; -1 without one.
    """

    gap: I64
    start_ns: I64
    end_ns: I64
    bucket: I64
    label: I64
    op: I64

    def __len__(self) -> int:
        return int(self.gap.size)

    @classmethod
    def of(cls, gap: I64, start_ns: I64, end_ns: I64, kind: tuple[int, int | I64], op: int | I64 = -1) -> Parts:
        """Non-empty pieces of one (bucket, label); a label may differ from piece to piece."""
        solid = end_ns > start_ns
        n = int(solid.sum())

        def column(value: int | I64) -> I64:
            return np.full(n, value, np.int64) if isinstance(value, int) else value[solid]

        return cls(gap[solid], start_ns[solid], end_ns[solid], column(kind[0]), column(kind[1]), column(op))

    def where(self, rows: npt.NDArray[np.bool_], label: int | None = None) -> Parts:
        """Some of the pieces, with another label where one is given."""
        return self._pieces(np.flatnonzero(rows), self.start_ns[rows], self.end_ns[rows], label)

    def cut(self, start_ns: I64, end_ns: I64, label: int | None = None) -> Parts:
        """Each piece between its own two instants, shapes (n,); what becomes empty is left out."""
        begin, end = np.maximum(self.start_ns, start_ns), np.minimum(self.end_ns, end_ns)
        solid = np.flatnonzero(end > begin)
        return self._pieces(solid, begin[solid], end[solid], label)

    def split(self, spans: Intervals, label: int) -> tuple[Parts, Parts]:
        """(the pieces inside `spans`, with the label; the pieces outside, as they were)."""
        within, _, begin, end = inside(self.start_ns, self.end_ns, spans)
        without, _, start, stop = outside(self.start_ns, self.end_ns, spans)
        return self._pieces(within, begin, end, label), self._pieces(without, start, stop, None)

    def _pieces(self, index: npt.NDArray[np.intp], start_ns: I64, end_ns: I64, label: int | None) -> Parts:
        labels = self.label[index] if label is None else np.full(index.size, label, np.int64)
        return Parts(self.gap[index], start_ns, end_ns, self.bucket[index], labels, self.op[index])

    def spans(self) -> Intervals:
        """When any of the pieces lasts."""
        return union(self.start_ns, self.end_ns)

    @property
    def total_ns(self) -> int:
        """All pieces together [ns]."""
        return int((self.end_ns - self.start_ns).sum())


def joined(*tables: Parts) -> Parts:
    """Several tables as one."""
    return Parts(
        *(
            np.concatenate([getattr(t, name) for t in tables])
            for name in ("gap", "start_ns", "end_ns", "bucket", "label", "op")
        )
    )
