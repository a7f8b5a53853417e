"""Contention in the report's words: kernels alone and beside others, and what overlap hid and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from critpath.model.report import REST, Contention, OverlapCost, cut
from critpath.model.report.words import OverlapBy, OverlapPhase, SlowdownOutcome
from critpath.model.values import NS_PER_MS
from critpath.rank.contention import ContendedKernel, Contentions, Overlap

__all__ = ["report_contention", "report_overlap_cost"]

_NS_PER_US = 1_000


def report_contention(found: Contentions | None, n: int) -> list[Contention]:
    """The kernels that could be compared, of n windows."""
    rows = found.kernels if found is not None else ()
    return cut([_kernel(row, n) for row in rows], _rest)


def report_overlap_cost(found: Contentions | None, n: int) -> list[OverlapCost]:
    """What overlap hid and cost, of n windows; nothing where there was none."""
    return [_overlap(row, n) for row in (found.overlaps if found is not None else ()) if row.overlap_ns]


def _kernel(row: ContendedKernel, n: int) -> Contention:
    return Contention(
        kernel=row.name,
        by=cast("OverlapBy", row.by),
        grid=row.grid,
        block=row.block,
        alone_us=row.alone_ns / _NS_PER_US,
        overlapped_us=row.overlapped_ns / _NS_PER_US,
        n=row.n,
        slowdown_percent=100 * row.slowdown,
        slowdown_low_percent=100 * row.low,
        slowdown_high_percent=100 * row.high,
        outcome=_outcome(row),
        phase=cast("OverlapPhase", row.phase),
        cost_ms=row.cost_ns / n / NS_PER_MS,
        partly=row.partly,
        mixed=row.mixed,
        beside_others=row.beside_others,
    )


def _outcome(row: ContendedKernel) -> SlowdownOutcome:
    if row.low > 0:
        return "slower"
    return "faster" if row.high < 0 else "not_shown"


def _rest(rows: Sequence[Contention]) -> Contention:
    kinds = {row.by for row in rows}
    overlapped = sum(row.n[1] for row in rows)
    return Contention(
        kernel=REST,
        by=rows[0].by if len(kinds) == 1 else None,
        alone_us=sum(row.alone_us * row.n[1] for row in rows) / overlapped,
        overlapped_us=sum(row.overlapped_us * row.n[1] for row in rows) / overlapped,
        n=(sum(row.n[0] for row in rows), overlapped),
        cost_ms=sum(row.cost_ms for row in rows),
        partly=sum(row.partly for row in rows),
        mixed=sum(row.mixed for row in rows),
        beside_others=sum(row.beside_others for row in rows),
    )


def _overlap(row: Overlap, n: int) -> OverlapCost:
    uses = row.executions
    return OverlapCost(
        by=cast("OverlapBy", row.by),
        overlap_ms=row.overlap_ns / n / NS_PER_MS,
        measured_ms=row.measured_ns / n / NS_PER_MS,
        cost_ms=row.cost_ns / n / NS_PER_MS,
        net_ms=(row.measured_ns - row.cost_ns) / n / NS_PER_MS,
        alone=uses["alone"],
        overlapped=uses["overlapped"],
        partly=uses["partly"],
        mixed=uses["mixed"],
        beside_others=uses["beside_others"],
        unknown_shape=row.unknown_shape,
    )
