"""The frames of all units together: one row a unit and step, and one a collective and unit."""

from __future__ import annotations

import numpy as np
import polars as pl

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.pipeline.ranks import JobFacts

__all__ = ["rank_frames"]


def rank_frames(facts: JobFacts) -> dict[str, pl.LazyFrame]:
    """`ranks` and `collectives`; times are of the unit's own axis, aligned ones of the reference host's UTC."""
    return {"ranks": _ranks(facts).lazy(), "collectives": _collectives(facts).lazy()}


def _ranks(facts: JobFacts) -> pl.DataFrame:
    late, known = facts.late_ns, facts.compared
    parts = []
    for i, unit in enumerate(facts.units):
        step = np.flatnonzero(facts.steps.window[i] >= 0)
        window = facts.steps.window[i, step]
        start, end = unit.windows.starts_ns[window], unit.windows.ends_ns[window]
        wait, proxy = (_by_window(facts, i, column)[window] for column in ("wait", "proxy"))
        parts.append(
            pl.DataFrame(
                {
                    "unit": [unit.id] * step.size,
                    "step": step.astype(np.int64),
                    "label": [facts.steps.labels[s] for s in step.tolist()],
                    "window": window,
                    "start_ns": start,
                    "end_ns": end,
                    "aligned_start_ns": _aligned(facts, i, start),
                    "aligned_end_ns": _aligned(facts, i, end),
                    "iteration_ns": end - start,
                    "jitter_wait_ns": wait,
                    "transfer_proxy_ns": proxy,
                    "late_ns": pl.Series(np.where(known[i, step], np.rint(late[i, step]), NULL).astype(np.int64)),
                }
            ).with_columns(pl.col("late_ns").replace(NULL, None))
        )
    return pl.concat(parts)


def _by_window(facts: JobFacts, place: int, what: str) -> I64:
    """Waiting, or the shortest participants' time, of a unit's matched collectives by the window they start in."""
    m, unit = facts.matches, facts.units[place]
    rows = np.flatnonzero(m.unit == place)
    window = unit.collectives.window[m.op[rows]]
    inside = window >= 0
    values = m.wait_ns[rows] if what == "wait" else m.proxy_ns[m.instance[rows]]
    total = np.zeros(len(unit.windows), np.int64)
    np.add.at(total, window[inside], values[inside])
    return total


def _collectives(facts: JobFacts) -> pl.DataFrame:
    m = facts.matches
    parts = []
    for i, unit in enumerate(facts.units):
        ops = unit.collectives
        rows = np.flatnonzero(m.unit == i)
        instance = np.full(len(ops), NULL, np.int64)
        instance[m.op[rows]] = m.instance[rows]
        matched = instance != NULL
        at = np.where(matched, instance, 0)
        community = m.community[at] if len(m) else at
        proxy = np.where(matched, m.proxy_ns[at], NULL) if len(m) else instance
        names = [c.key for c in m.communicators]
        parts.append(
            pl.DataFrame(
                {
                    "unit": [unit.id] * len(ops),
                    "communicator": [
                        names[c] if ok else None for c, ok in zip(community.tolist(), matched.tolist(), strict=True)
                    ],
                    "instance": _nullable(instance),
                    "kind": [ops.kinds[k] for k in ops.kind.tolist()],
                    "window": _nullable(np.where(ops.window >= 0, ops.window.astype(np.int64), NULL)),
                    "start_ns": ops.start_ns,
                    "end_ns": ops.end_ns,
                    "aligned_start_ns": _aligned(facts, i, ops.start_ns),
                    "aligned_end_ns": _aligned(facts, i, ops.end_ns),
                    "wait_ns": _nullable(np.where(matched, ops.durations_ns - proxy, NULL)),
                    "transfer_ns": _nullable(proxy),
                    "bytes": _nullable(ops.bytes),
                    "blocking_ns": ops.blocking_ns,
                },
                schema_overrides={"communicator": pl.String, "kind": pl.String},
            )
        )
    return pl.concat(parts)


def _aligned(facts: JobFacts, place: int, times_ns: I64) -> pl.Series:
    unit = facts.units[place]
    found = None if unit.zero_ns is None else facts.clocks.aligned(place, times_ns + unit.zero_ns)
    return pl.Series([None] * times_ns.size, dtype=pl.Int64) if found is None else pl.Series(found, dtype=pl.Int64)


def _nullable(values: I64) -> pl.Series:
    series = pl.Series(values, dtype=pl.Int64)
    return series.set(series == NULL, None)
