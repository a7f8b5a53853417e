"""Which API call issued each device op of a unit, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64
from critpath.model.identity import NULL, join_index
from critpath.model.tables import DeviceOps, RuntimeCalls
from critpath.model.trace import UnitTrace

__all__ = ["Launches", "unit_launches"]


@dataclass(frozen=True, slots=True)
class Launches:
    """The issuing call of each op, joined by (process, correlation id).

    Attributes:
        calls: the API calls of the process.
        kernels, copies, memsets, graph_launches: row of `calls` that issued each row of that table; -1 = not captured.
    """

    calls: RuntimeCalls
    kernels: I64
    copies: I64
    memsets: I64
    graph_launches: I64

    def times_ns(self, rows: I64) -> I64:
        """Start of the given calls [ns], NULL for -1."""
        return self._of(self.calls.start_ns, rows)

    def threads(self, rows: I64) -> I64:
        """Thread of the given calls, NULL for -1."""
        return self._of(self.calls.thread, rows)

    def tables(self, unit: UnitTrace) -> tuple[tuple[DeviceOps, I64], ...]:
        """Each device table of the unit with its rows of `calls`."""
        return (
            (unit.kernels, self.kernels),
            (unit.copies, self.copies),
            (unit.memsets, self.memsets),
            (unit.graph_launches, self.graph_launches),
        )

    @staticmethod
    def _of(column: I64, rows: I64) -> I64:
        if not column.size:
            return np.full(rows.size, NULL, np.int64)
        return np.where(rows >= 0, column[np.maximum(rows, 0)], NULL)


def unit_launches(unit: UnitTrace) -> Launches:
    """The issuing calls of all device ops of a unit."""
    calls = unit.runtime_calls

    def rows(ops: DeviceOps) -> I64:
        return join_index((ops.correlation,), (calls.correlation,))

    return Launches(calls, rows(unit.kernels), rows(unit.copies), rows(unit.memsets), rows(unit.graph_launches))
