"""Many units in a terminal: groups, the strip of ranks and steps, who is late, the largest communicators, clocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from critpath.model.report import Communicator, Ranks, Report, Unit
from critpath.model.values import figure, percent
from critpath.render.words import by_rank, count, shortened

__all__ = ["rank_lines"]

_GROUPS, _COMMUNICATORS, _HOSTS = 4, 3, 2
_STRIP_RANKS, _STRIP_STEPS = 8, 40
_LATE = ("persistent", "rotating")
_SHADES = "·░▒▓█"
_LONGEST = 26
_DOUBTFUL = 0.01


def rank_lines(report: Report, *, strip: bool = True) -> Iterable[str]:
    """Lines on what units tell together; nothing for a single one.

    Args:
        report: the report.
        strip: whether lateness is drawn by rank and step, which needs a fixed-width face.
    """
    ranks = report.ranks
    units = {unit.id: unit for unit in by_rank(report.units) if unit.budget is not None}
    if ranks is None or len(units) < 2:
        return
    if ranks.step is not None:
        named = _name(units.get(ranks.step.slowest_unit))
        often = ranks.step.slowest_per_step.count(ranks.step.slowest_unit)
        of = f"{often} of {len(ranks.step.slowest_per_step)} steps"
        yield f"job's step        {figure(ranks.step.median_ms)}; {named} has the longest window in {of}"
    if ranks.straggler is not None:
        s = ranks.straggler
        yield f"straggler         {s.verdict}: {s.evidence}"
        if s.cause_text:
            yield f"  cause           {s.cause_text}"
    yield from _path(ranks, units)
    for group in ranks.groups[:_GROUPS]:
        of = f"{group.id}{f' {shortened(group.part, _LONGEST)}' if group.part else ''}"
        likeness = "" if group.similarity_min is None else f", alike to {100 * group.similarity_min:.0f} %"
        spread = f"steps within {group.spread_pct:.1f} %" if len(group.units) > 1 else "work of its own"
        yield f"group             {of}: {_members(group.units, units)}, {spread}{likeness}"
    if len(ranks.groups) > _GROUPS:
        yield f"groups            {len(ranks.groups) - _GROUPS} more in report.json"
    if strip:
        yield from _strip(ranks, units)
    yield from _collectives(ranks, units)
    yield from _clocks(ranks)


def _path(ranks: Ranks, units: dict[str, Unit]) -> Iterable[str]:
    """Who held the job's step, and how much of it was transfer."""
    path = ranks.critical_path
    if path is None or not path.units:
        return
    held = ", ".join(f"{_name(units.get(row.unit))} {percent(row.share)}" for row in path.units[:3])
    moved = sum(row.share for row in path.transfers)
    unknown = path.unmatched_ms / path.mean_ms if path.mean_ms else 0.0
    doubt = f"; {percent(unknown)} in unmatched collectives" if unknown > _DOUBTFUL else ""
    yield f"held by           {held}; transfers {percent(moved)} of {figure(path.mean_ms)}{doubt}"


def _name(unit: Unit | None) -> str:
    if unit is None:
        return "another"
    return f"rank {unit.rank}" if unit.rank is not None else unit.id


def _members(ids: Sequence[str], units: dict[str, Unit]) -> str:
    known = [units[i] for i in ids if i in units]
    if all(u.rank is not None for u in known):
        return f"ranks {_runs(sorted(u.rank for u in known if u.rank is not None))}"
    return f"{len(ids)} units" if len(ids) > 1 else _name(known[0] if known else None)


def _runs(numbers: Sequence[int]) -> str:
    """`0-3, 5`: ascending numbers with runs drawn together."""
    runs: list[tuple[int, int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], n)
        else:
            runs.append((n, n))
    told = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:6]]
    return ", ".join(told) + (", …" if len(runs) > 6 else "")


def _strip(ranks: Ranks, units: dict[str, Unit]) -> Iterable[str]:
    """A row a rank, a mark a step: the later it arrived, the darker."""
    known = {row.unit: row.late_ms[:_STRIP_STEPS] for row in ranks.lateness}
    rows = {name: known[name] for name in units if name in known}
    most = max((ms for values in rows.values() for ms in values if ms is not None), default=0.0)
    if len(rows) < 3 or len(ranks.steps) < 2 or ranks.straggler is None or ranks.straggler.verdict not in _LATE:
        return
    steps = f"{ranks.steps[0]} to {ranks.steps[min(len(ranks.steps), _STRIP_STEPS) - 1]}"
    yield f"late by step      dark: {figure(most)} ms; {shortened(steps, 2 * _LONGEST)}"
    for name in _shown(ranks, list(rows)):
        marks = "".join("?" if ms is None else _shade(ms / most) for ms in rows[name])
        yield f"  {_name(units[name]):<15} {marks}"


def _shade(share: float) -> str:
    return _SHADES[min(len(_SHADES) - 1, max(0, round(share * (len(_SHADES) - 1))))]


def _shown(ranks: Ranks, known: Sequence[str]) -> list[str]:
    """All of a few; else the late one, the representatives, and the first ones, in the order of all."""
    late = [ranks.straggler.unit] if ranks.straggler is not None and ranks.straggler.unit else []
    wanted = [*late, *(r.unit for r in ranks.representatives), *known]
    chosen = set(list(dict.fromkeys(name for name in wanted if name in known))[:_STRIP_RANKS])
    return [name for name in known if name in chosen]


def _collectives(ranks: Ranks, units: dict[str, Unit]) -> Iterable[str]:
    found = ranks.collectives
    if found is None or not (found.matched or found.unmatched):
        return
    yield f"collectives       {count(found.matched)} matched, {count(found.unmatched)} ops without a match"
    yield from (_community(row, units) for row in found.communicators[:_COMMUNICATORS])


def _community(row: Communicator, units: dict[str, Unit]) -> str:
    kind = f"{row.dimension} " if row.dimension else ""
    name = shortened("+".join(row.kinds) or row.key, _LONGEST)
    rate = "" if row.busbw_GBps is None else f", ≥ {figure(row.busbw_GBps)} GB/s"
    grade = " (inferred)" if row.inferred else ""
    where = " across hosts" if row.inter_host else ""
    return (
        f"  {kind}{name} of {len(row.units) or '?'}{where}{grade}: transfer ≤ {figure(row.transfer_proxy_ms)}, "
        f"waiting {figure(row.jitter_wait_ms)}{rate}"
    )


def _clocks(ranks: Ranks) -> Iterable[str]:
    aligned = ranks.alignment
    if aligned is None:
        return
    for host in aligned.hosts[:_HOSTS]:
        if host.offset_ns is None or host.drift_ppm is None:
            yield f"clock             {shortened(host.host, _LONGEST)}: unalignable, durations only"
            continue
        left = "" if host.residual_ns is None else f", 95 % of ends within {host.residual_ns.p95 / 1e3:.1f} us"
        yield (
            f"clock             {shortened(host.host, _LONGEST)}: {_signed(host.offset_ns / 1e6, 3)} ms, "
            f"{_signed(host.drift_ppm, 1)} ppm{left}"
        )
    if len(aligned.hosts) > _HOSTS:
        yield f"clocks            {len(aligned.hosts) - _HOSTS} more hosts in report.json"


def _signed(value: float, digits: int) -> str:
    """A number with its sign; none where it rounds to 0."""
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0:.{digits}f}"
