"""The definition in docs/method/nvtx.md, spelled out row by row: slow, and with nothing of the code it checks."""

from __future__ import annotations

from dataclasses import dataclass

from rank.nvtx.made import Row


@dataclass(frozen=True)
class Op:
    """(thread and start of its call, device span) of an op; thread -1 without a call."""

    thread: int
    called: int
    start: int
    end: int
    compute: bool


def closed(rows: list[Row], end_of_capture: int) -> list[int]:
    """End of each row, as told or assumed."""
    ends = []
    for i, (_, thread, start, end, domain) in enumerate(rows):
        if end >= 0:
            ends.append(end)
            continue
        around = [
            (s, j, e)
            for j, (_, t, s, e, d) in enumerate(rows)
            if (t, d) == (thread, domain) and e >= 0 and s <= start < e and (s, j) < (start, i)
        ]
        ends.append(max(around)[2] if around else max(end_of_capture, start))
    return ends


def owned(row: Row, end: int, ops: list[Op]) -> list[Op]:
    """Ops that a range launched."""
    return [op for op in ops if op.thread == row[1] and row[2] <= op.called < end]


def union(spans: list[tuple[int, int]]) -> int:
    """Wall time of spans, instant by instant."""
    return len({t for a, b in spans for t in range(a, b)})


def crossing(i: int, rows: list[Row], ends: list[int]) -> bool:
    """Whether a row overlaps another one of its thread and domain in part."""

    def partly(a: int, b: int) -> bool:
        return rows[a][2] < rows[b][2] < ends[a] < ends[b]

    same = [j for j, row in enumerate(rows) if (row[1], row[4]) == (rows[i][1], rows[i][4])]
    return any(partly(i, j) or partly(j, i) for j in same)


def place(thread: int, at: int, rows: list[Row], ends: list[int], *, nccl: int) -> int:
    """Row of the innermost range, -1 without one; `nccl` is NCCL's domain."""
    inside = [i for i, row in enumerate(rows) if row[1] == thread and row[2] <= at < ends[i]]
    own = [i for i in inside if rows[i][4] != nccl]
    return max(own or inside, key=lambda i: (rows[i][2], -ends[i], i), default=-1)
