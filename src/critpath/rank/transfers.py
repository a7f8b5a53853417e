"""Copies of a unit by direction, memory kinds and stream.

What a copy held up is not told here: rate, engine occupancy, memory kinds and a dependency together may say "copy
bound" (P12), and whether an async copy synchronized is tested, not assumed (P13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, MemoryKind
from critpath.model.trace import UnitTrace
from critpath.rank.budget import starts_inside
from critpath.rank.copy_groups import CopyGroup, copy_groups
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
        groups: the groups it stands for: one, or those of the rest.
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
    groups: tuple[CopyGroup, ...]


def transfers(unit: UnitTrace, windows: Windows) -> tuple[Transfer, ...]:
    """The groups of copies that touch the windows, longest union first, at most `LONGEST_LIST` and a rest."""
    copies = unit.copies
    if not len(copies):
        return ()
    groups, row_group = copy_groups(copies)
    inside = starts_inside(copies, windows.starts_ns, windows.ends_ns)
    found = []
    for i, group in enumerate(groups):
        transfer = _transfer(copies, row_group == i, inside, windows, (group,))
        if transfer.count or transfer.union_ns:
            found.append((transfer, i))
    found.sort(key=lambda pair: (-pair[0].union_ns, pair[0].direction, pair[0].stream))
    rows = [transfer for transfer, _ in found[:LONGEST_LIST]]
    others = [i for _, i in found[LONGEST_LIST:]]
    if others:
        rest = tuple(groups[i] for i in others)
        rows.append(_transfer(copies, np.isin(row_group, others), inside, windows, rest))
    return tuple(rows)


def _transfer(
    copies: Copies,
    mine: npt.NDArray[np.bool_],
    inside: npt.NDArray[np.bool_],
    windows: Windows,
    groups: tuple[CopyGroup, ...],
) -> Transfer:
    started = copies.where(mine & inside)
    sized = started.where(started.bytes != NULL)
    return Transfer(
        direction=CopyKind.LABELS.get(groups[0].kind, "unknown") if len(groups) == 1 else "rest",
        source=_memory(groups[0].source_kind) if len(groups) == 1 else None,
        target=_memory(groups[0].target_kind) if len(groups) == 1 else None,
        context=groups[0].context if len(groups) == 1 else 0,
        stream=groups[0].stream if len(groups) == 1 else 0,
        count=len(started),
        bytes=int(sized.bytes.sum()),
        work_ns=int(sized.durations_ns.sum()),
        groups=groups,
        union_ns=int(copies.where(mine).union().clip(windows.starts_ns, windows.ends_ns).sum()),
    )


def _memory(kind: int) -> str | None:
    return None if kind == NULL else MemoryKind.LABELS.get(kind, "unknown")
