"""The report as a Markdown page, for issues, chats and notes: the same answers in the same order as the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from critpath.model.report import Report, Unit
from critpath.model.values import Stat, figure, percent
from critpath.render.problems import capture_problems
from critpath.render.ranks import rank_lines
from critpath.render.words import by_rank, count, shortened

__all__ = ["markdown"]

_UNITS_LISTED = 64
_PROBLEMS_TOLD = 20
_LONGEST = 400
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|~$&!"})


def markdown(report: Report) -> str:
    """The report as CommonMark with tables; names of kernels and ranges are escaped."""
    lines = ["# critpath report", "", f"**{_plain(report.verdict.headline)}**", ""]
    lines += [f"Step: {_plain(report.workload.step_definition)}.", ""]
    analysed = [u for u in report.units if u.budget is not None]
    if analysed:
        lines += _table(
            "Units, ms/iteration",
            ("unit", "device", "n", "step", "compute", "absent", "exposed", "idle"),
            _unit_rows(by_rank(analysed)[:_UNITS_LISTED]),
        )
        if len(analysed) > _UNITS_LISTED:
            lines += [f"{count(len(analysed) - _UNITS_LISTED)} more units in report.json.", ""]
    lines += _section("All units together, ms/iteration", _together(report))
    shown = next((u for u in analysed if u.id == report.verdict.dominant.unit), analysed[0] if analysed else None)
    if shown is not None:
        lines += _unit(shown)
    lines += _section("Capture", (_plain(line) for line in _cut(capture_problems(report))))
    lines += _section("Limits", (f"**{limit.guard}** {_plain(limit.text)}" for limit in report.verdict.limits))
    lines += _table("Checks", ("guard", "outcome", "evidence"), _checks(report))
    return "\n".join(lines).rstrip() + "\n"


def _plain(text: str) -> str:
    """Foreign text on one line, without markup."""
    return shortened(" ".join(text.split()), _LONGEST).translate(_SPECIAL)


def _together(report: Report) -> Iterator[str]:
    """The terminal's lines, each label set apart; drawings of steps are left to it."""
    for line in rank_lines(report, strip=False):
        label, _, body = line.strip().partition("  ")
        yield f"**{_plain(label)}** {_plain(body)}" if body else _plain(line)


def _name(unit: Unit) -> str:
    return f"rank {unit.rank}" if unit.rank is not None else unit.id


def _unit_rows(units: Iterable[Unit]) -> Iterator[tuple[str, ...]]:
    for unit in units:
        b, c, w = unit.budget, unit.communication, unit.window
        if b is not None and c is not None and w is not None:
            yield (
                _name(unit),
                f"pid {unit.pid}:{unit.device} {_plain(unit.host or '')}",
                str(w.n),
                figure(b.iteration.mean_ms),
                figure(b.compute_busy.mean_ms),
                figure(b.compute_absent.mean_ms),
                figure(c.exposed_ms),
                figure(b.device_idle.mean_ms),
            )


def _unit(unit: Unit) -> list[str]:
    b, w = unit.budget, unit.window
    if b is None or w is None:
        return []
    rows = [
        ("iteration", b.iteration),
        ("compute busy", b.compute_busy),
        ("compute absent", b.compute_absent),
        ("– device busy otherwise", b.occupied_not_computing),
        ("– device idle", b.device_idle),
    ]
    anchor = f"n = {w.n}, anchor {w.anchor.kind} {_plain(w.anchor.text)}"
    lines = _table(
        f"Budget of {_name(unit)}, {anchor}", ("", "ms/iteration", "min–max"), (_stat(name, s) for name, s in rows)
    )
    return [*lines, *(f"- {line}" for line in _details(unit)), ""]


def _stat(name: str, value: Stat) -> tuple[str, ...]:
    return name, figure(value.mean_ms), f"{figure(value.min_ms)}–{figure(value.max_ms)}"


def _details(unit: Unit) -> Iterator[str]:
    a, c, g, h = unit.absent, unit.communication, unit.graphs, unit.host_sync
    if a is not None:
        yield (
            f"compute absent: launch-starved {figure(a.launch_starved_ms)}, blocking {figure(a.blocking_ms)} "
            f"({a.blocking_bound}), dependency-stalled {figure(a.dependency_stalled_ms)}, "
            f"opaque graphs {figure(a.opaque_graph_ms)}"
        )
    if c is not None and c.union_ms:
        overlapped = percent(c.overlap_pct / 100) if c.overlap_pct is not None else "unknown"
        yield (
            f"communication: union {figure(c.union_ms)}, exposed {figure(c.exposed_ms)}, overlapped {overlapped}; "
            "a union is no network time"
        )
        for row in c.backends:
            yield f"{_plain(row.backend)} {row.component}: {figure(row.union_ms)} in {count(row.count)} ops"
    if g is not None and g.launches:
        yield (
            f"CUDA graphs: {count(g.launches)} launches, {count(g.opaque)} of them opaque for {figure(g.opaque_ms)}, "
            f"{count(g.uncovered)} without any row"
        )
    if h is not None:
        yield f"host waits: {figure(h.host_ms)}, {figure(h.while_device_idle_ms)} of it while the device was idle"


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - _PROBLEMS_TOLD
    return lines if more <= 0 else [*lines[:_PROBLEMS_TOLD], f"{more} more in report.json"]


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    items = [f"- {line}" for line in lines]
    return [f"## {heading}", "", *items, ""] if items else []


def _checks(report: Report) -> Iterator[tuple[str, ...]]:
    return ((row.id, row.outcome, _plain(row.evidence)) for row in report.guards if row.evidence != "not analysed yet")


def _table(heading: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"## {heading}", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *lines, ""] if lines else []
