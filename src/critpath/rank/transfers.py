"""Copies of a unit by direction, memory kinds and stream.

What a copy held up is not told here: rate, engine occupancy, memory kinds and a dependency together may say "copy
bound" (P12), and whether an async copy synchronized is tested, not assumed (P13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.grouping import group_rows
from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, MemoryKind
from critpath.model.trace import UnitTrace
from critpath.rank.budget import starts_inside
from critpath.rank.windows import Windows

__all__ = ["Transfer", "transfers"]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of one direction, pair of memory kinds and stream, over all windows.

    Attributes:
        source, target: memory kinds; None where the export doesn't tell.
        context, stream: where they were issued; unified-memory migrations have stream 0 of no context.
        count, bytes: of the copies that start in a window.
        work_ns: durations of those copies added up; copies of one direction may run at a time.
        union_ns: time in the windows with at least one of them.
    """

    direction: str
    source: str | None
    target: str | None
    context: int
    stream: int
    count: int
    bytes: int
    work_ns: int
    union_ns: int


def transfers(unit: UnitTrace, windows: Windows) -> tuple[Transfer, ...]:
    """Every group of copies that touches the windows, longest union first."""
    copies = unit.copies
    if not len(copies):
        return ()
    keys = (copies.kind, copies.source_kind, copies.target_kind, copies.context, copies.stream)
    first, row_group = group_rows(*keys)
    groups = np.stack(keys, axis=1)[first]
    inside = starts_inside(copies, windows.starts_ns, windows.ends_ns)
    found = []
    for i, key in enumerate(groups.tolist()):
        mine = row_group == i
        transfer = _transfer(copies.where(mine), copies.where(mine & inside), key, windows)
        if transfer.count or transfer.union_ns:
            found.append(transfer)
    return tuple(sorted(found, key=lambda t: (-t.union_ns, t.direction, t.stream)))


def _transfer(touching: Copies, inside: Copies, key: list[int], windows: Windows) -> Transfer:
    kind, source, target, context, stream = key
    return Transfer(
        direction=CopyKind.LABELS.get(kind, "unknown"),
        source=_memory(source),
        target=_memory(target),
        context=context,
        stream=stream,
        count=len(inside),
        bytes=int(inside.bytes[inside.bytes != NULL].sum()),
        work_ns=int(inside.durations_ns.sum()),
        union_ns=int(touching.union().clip(windows.starts_ns, windows.ends_ns).sum()),
    )


def _memory(kind: int) -> str | None:
    return None if kind == NULL else MemoryKind.LABELS.get(kind, "unknown")
