"""CUDA graphs in a unit's windows: launches that left rows, and what is unknown inside them (P21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.model.identity import NULL
from critpath.model.trace import UnitTrace
from critpath.rank.budget import starts_inside
from critpath.rank.windows import Windows

__all__ = ["GraphUse", "graph_use"]


@dataclass(frozen=True, slots=True)
class GraphUse:
    """Graphs whose rows start in the windows.

    Attributes:
        launches: distinct launches of those rows; launches without any row are counted over the process.
        opaque: graphs traced as one row.
        opaque_ns: union of those rows, clipped to the windows: busy, and unknown inside.
        node_ops: ops that ran inside a graph traced by node.
    """

    launches: int
    opaque: int
    opaque_ns: int
    node_ops: int


def graph_use(unit: UnitTrace, windows: Windows) -> GraphUse:
    """The graphs in the windows of one unit, over all windows together."""
    starts, ends = windows.starts_ns, windows.ends_ns
    opaque = unit.graph_launches.where(starts_inside(unit.graph_launches, starts, ends))
    inside = [
        table.where((table.graph_node != NULL) & starts_inside(table, starts, ends))
        for table in (unit.kernels, unit.copies, unit.memsets)
    ]
    launches = np.unique(np.concatenate([opaque.correlation, *(table.correlation for table in inside)]))
    return GraphUse(
        launches=launches.size,
        opaque=len(opaque),
        opaque_ns=int(unit.graph_launches.union().clip(starts, ends).sum()),
        node_ops=sum(len(table) for table in inside),
    )
