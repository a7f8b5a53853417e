"""Copies of a unit by direction, memory kinds and stream.

What a copy held up is not told here: rate, engine occupancy, memory kinds and a dependency together may say "copy
bound" (P12), and whether an async copy synchronized is tested, not assumed (P13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, MemoryKind
from critpath.model.trace import UnitTrace
from critpath.rank.budget import starts_inside
from critpath.rank.windows import Windows

__all__ = ["LONGEST_LIST", "Transfer", "transfers"]

LONGEST_LIST = 20
"""Groups told apart; the others share one row of direction `rest`, whose union is theirs."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of one direction, pair of memory kinds and stream, over all windows.

    Attributes:
        source, target: memory kinds; None where the export doesn't tell.
        context, stream: where they were issued; unified-memory migrations, and `rest`, have stream 0 of context 0.
        count, bytes: of the copies that start in a window.
        work_ns: durations of those copies added up, which bytes over time need; copies of one direction may run at a
            time, and one of unknown size has no part in it.
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
    """The groups of copies that touch the windows, longest union first, at most `LONGEST_LIST` and a rest."""
    copies = unit.copies
    if not len(copies):
        return ()
    keys = (copies.kind, copies.source_kind, copies.target_kind, copies.context, copies.stream)
    first, row_group = group_rows(*keys)
    inside = starts_inside(copies, windows.starts_ns, windows.ends_ns)
    found = []
    for i, (kind, source, target, context, stream) in enumerate(np.stack(keys, axis=1)[first].tolist()):
        label = CopyKind.LABELS.get(kind, "unknown")
        place = (label, _memory(source), _memory(target), context, stream)
        transfer = _transfer(copies, row_group == i, inside, windows, place)
        if transfer.count or transfer.union_ns:
            found.append((transfer, i))
    found.sort(key=lambda pair: (-pair[0].union_ns, pair[0].direction, pair[0].stream))
    rows = [transfer for transfer, _ in found[:LONGEST_LIST]]
    others = [i for _, i in found[LONGEST_LIST:]]
    if others:
        rows.append(_transfer(copies, np.isin(row_group, others), inside, windows, ("rest", None, None, 0, 0)))
    return tuple(rows)


def _transfer(
    copies: Copies,
    mine: npt.NDArray[np.bool_],
    inside: npt.NDArray[np.bool_],
    windows: Windows,
    place: tuple[str, str | None, str | None, int, int],
) -> Transfer:
    direction, source, target, context, stream = place
    started = copies.where(mine & inside)
    sized = started.where(started.bytes != NULL)
    return Transfer(
        direction=direction,
        source=source,
        target=target,
        context=context,
        stream=stream,
        count=len(started),
        bytes=int(sized.bytes.sum()),
        work_ns=int(sized.durations_ns.sum()),
        union_ns=int(copies.where(mine).union().clip(windows.starts_ns, windows.ends_ns).sum()),
    )


def _memory(kind: int) -> str | None:
    return None if kind == NULL else MemoryKind.LABELS.get(kind, "unknown")
