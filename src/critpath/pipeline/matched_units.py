"""What matching adds to each unit's communication: transfer, waiting, and which dimension it was for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64, union
from critpath.model.identity import NULL
from critpath.model.report import Collectives, Communication, DimensionTime, Unit
from critpath.model.values import NS_PER_MS
from critpath.pipeline.ranks import JobFacts

__all__ = ["with_matches"]


def with_matches(units: Sequence[Unit], places: Sequence[int | None], facts: JobFacts) -> list[Unit]:
    """The report's units with their group and what their matched collectives tell.

    Args:
        units: of the report.
        places: place of each among the analysed units, None for one that isn't.
        facts: of the analysed units together.
    """
    group = {u: f"g{i}" for i, g in enumerate(facts.groups) for u in g.units}
    found = []
    for unit, place in zip(units, places, strict=True):
        if place is None:
            found.append(unit)
            continue
        told = unit.communication
        matched = None if told is None else _communication(told, place, facts)
        found.append(unit.model_copy(update={"group": group[place], "communication": matched}))
    return found


@dataclass(frozen=True, slots=True)
class _Matched:
    """Matched ops of one unit in its windows: rows of its ops, and the rows of `Matches`."""

    op: I64
    row: I64


def _communication(told: Communication, place: int, facts: JobFacts) -> Communication:
    unit, m = facts.units[place], facts.matches
    ops, n = unit.collectives, max(1, len(unit.windows))
    rows = np.flatnonzero(m.unit == place)
    rows = rows[ops.window[m.op[rows]] >= 0]
    op = m.op[rows]
    inside = int((ops.window >= 0).sum())

    def ms(ns: I64) -> float:
        return float(ns.sum()) / n / NS_PER_MS

    proxy = m.proxy_ns[m.instance[rows]]
    moved = np.minimum(ops.blocking_ns[op], proxy)
    aligned = _aligned_wait(place, rows, facts)
    return told.model_copy(
        update={
            "matched": int(rows.size),
            "unmatched": inside - int(rows.size),
            "transfer_proxy_ms": ms(proxy) if rows.size else None,
            "jitter_wait_ms": ms(m.wait_ns[rows]) if rows.size else None,
            "aligned_wait_ms": None if aligned is None else ms(aligned),
            "blocking_transfer_ms": ms(moved) if rows.size and told.blocking_ms is not None else None,
            "blocking_peer_wait_ms": ms(ops.blocking_ns[op] - moved)
            if rows.size and told.blocking_ms is not None
            else None,
            "collectives": [_sized(row, place, facts) for row in told.collectives],
            "by_dimension": _by_dimension(_Matched(op, rows), place, facts),
        }
    )


def _aligned_wait(place: int, rows: I64, facts: JobFacts) -> I64 | None:
    """From the unit's start to the last participant's in the reference clock [ns]; None where clocks aren't aligned."""
    m, aligned = facts.matches, facts.clocks
    if not rows.size or aligned.residual_p95_ns is None:
        return None
    members = np.flatnonzero(np.isin(m.instance, m.instance[rows]))
    starts = np.empty(members.size, np.int64)
    for i in np.unique(m.unit[members]).tolist():
        mine = m.unit[members] == i
        told = aligned.aligned(i, m.start_ns[members[mine]])
        if told is None:
            return None
        starts[mine] = told
    last = np.full(len(m), np.iinfo(np.int64).min)
    np.maximum.at(last, m.instance[members], starts)
    own = starts[m.unit[members] == place]
    mine = members[m.unit[members] == place]
    wait: I64 = (last[m.instance[mine]] - own)[np.isin(mine, rows)]
    return wait


def _sized(row: Collectives, place: int, facts: JobFacts) -> Collectives:
    """A row with its bytes, where every op of its type tells a size."""
    ops = facts.units[place].collectives
    if row.type not in ops.kinds:
        return row
    mine = (ops.kind == ops.kinds.index(row.type)) & (ops.window >= 0)
    sizes = ops.bytes[mine]
    if not sizes.size or (sizes == NULL).any():
        return row
    return row.model_copy(update={"bytes": int(sizes.sum())})


def _by_dimension(matched: _Matched, place: int, facts: JobFacts) -> dict[str, DimensionTime] | None:
    m, unit = facts.matches, facts.units[place]
    ops, w = unit.collectives, unit.windows
    names = [facts.dimensions[c] for c in m.community[m.instance[matched.row]].tolist()]
    found = {}
    for name in sorted({n for n in names if n is not None}):
        op = matched.op[np.array([n == name for n in names], np.bool_)]
        ran = union(ops.start_ns[op], ops.end_ns[op]).clip(w.starts_ns, w.ends_ns)
        found[name] = DimensionTime(
            union_ms=float(ran.sum()) / len(w) / NS_PER_MS,
            blocking_ms=float(ops.blocking_ns[op].sum()) / len(w) / NS_PER_MS,
        )
    return found or None
