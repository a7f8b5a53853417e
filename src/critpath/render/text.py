"""The report in a terminal: the answer first, at most 80 columns, plain when piped.

Everything is taken from the report as it is; nothing is computed here but widths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from critpath.model.report import Report, Unit
from critpath.model.values import Stat, figure, percent
from critpath.render.overlap import overlap_lines
from critpath.render.plain import WIDTH, plain
from critpath.render.problems import capture_problems
from critpath.render.ranks import rank_lines
from critpath.render.reaching import launch_lines, range_lines
from critpath.render.words import bar, by_rank, count, shortened, size

__all__ = ["WIDTH", "rendering", "text"]

_BAR = 16
_UNITS_LISTED = 16
_LONGEST_NAME = 60
_LONGEST_PLACE = 30
_LONGEST_LINK = 50
_LONGEST_PARAGRAPH = 480
_LONGEST_DETAIL = 2 * (WIDTH - 2)
_LONGEST_PROBLEM = 280
_LONGEST_LIMIT = 132
_PROBLEMS_TOLD = 5
_LIMITS_TOLD = 5


def text(report: Report) -> str:
    """The report as plain text, without colours or control characters."""
    return plain(rendering(report))


def rendering(report: Report) -> RenderableType:
    """The report for a rich console of `WIDTH` columns."""
    parts: list[RenderableType] = [_labelled("Verdict", report.verdict.headline, "bold")]
    parts += [_labelled("Step", report.workload.step_definition), ""]
    analysed = [u for u in report.units if u.budget is not None]
    if len(analysed) > 1:
        parts += [_unit_table(analysed), ""]
        told = [Padding(Text(shortened(line, _LONGEST_PARAGRAPH)), (0, 0, 0, 2)) for line in rank_lines(report)]
        parts += [Text("All units together, ms/iteration", style="bold"), *told, ""] if told else []
    shown = next((u for u in analysed if u.id == report.verdict.dominant.unit), analysed[0] if analysed else None)
    if shown is not None:
        parts += [*_unit(shown), ""]
    parts += _problems(report)
    parts += [_limits(report), _checks(report)]
    return Group(*parts)


def _labelled(label: str, body: str, style: str = "") -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8, style="bold")
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(label, Text(shortened(body, _LONGEST_PARAGRAPH), style=style))
    return grid


def _name(unit: Unit) -> str:
    return f"rank {unit.rank}" if unit.rank is not None else unit.id


def _unit_table(units: list[Unit]) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, title="Units, ms/iteration", title_justify="left")
    table.add_column("unit")
    for heading in ("n", "step", "compute", "absent", "exposed", "idle"):
        table.add_column(heading, justify="right")
    table.add_column("device", overflow="ellipsis", no_wrap=True)
    for unit in by_rank(units)[:_UNITS_LISTED]:
        b, c, w = unit.budget, unit.communication, unit.window
        if b is None or c is None or w is None:
            continue
        times = (
            b.iteration.mean_ms,
            b.compute_busy.mean_ms,
            b.compute_absent.mean_ms,
            c.exposed_ms,
            b.device_idle.mean_ms,
        )
        where = f"pid {unit.pid}:{unit.device} {unit.host or ''}"
        table.add_row(_name(unit), str(w.n), *map(figure, times), Text(shortened(where, _LONGEST_NAME)))
    if len(units) > _UNITS_LISTED:
        table.add_row(f"… {len(units) - _UNITS_LISTED} more", *[""] * 7)
    return table


def _unit(unit: Unit) -> list[RenderableType]:
    b, w = unit.budget, unit.window
    if b is None or w is None:
        return []
    gpu = f", {shortened(unit.gpu, _LONGEST_NAME)}" if unit.gpu else ""
    anchor = f"anchor {w.anchor.kind} '{shortened(w.anchor.text, _LONGEST_NAME)}'"
    heading = f"Budget of {_name(unit)}, pid {unit.pid}, device {unit.device}{gpu}; n = {w.n}, {anchor}"
    whole = b.iteration.mean_ms
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_header=True)
    table.add_column("", no_wrap=True)
    table.add_column("", width=_BAR)
    table.add_column("ms/iteration", justify="right", no_wrap=True)
    table.add_column("min–max", justify="right", no_wrap=True)
    for label, value, style in (
        ("iteration", b.iteration, ""),
        ("compute busy", b.compute_busy, "green"),
        ("compute absent", b.compute_absent, "red"),
    ):
        table.add_row(label, Text(bar(value.mean_ms / whole, _BAR), style=style), figure(value.mean_ms), _range(value))
    for label, ms, note in _buckets(unit):
        table.add_row(f"  {label}", Text(bar(ms / whole, _BAR), style="yellow"), figure(ms), note)
    table.add_row(
        "device idle", bar(b.device_idle.mean_ms / whole, _BAR), figure(b.device_idle.mean_ms), _range(b.device_idle)
    )
    parts: list[RenderableType] = [Text(heading, style="bold"), Padding(table, (0, 0, 0, 2))]
    parts += [Padding(Text(shortened(line, _LONGEST_DETAIL)), (0, 0, 0, 2)) for line in _details(unit)]
    return parts


def _buckets(unit: Unit) -> Iterable[tuple[str, float, str]]:
    """(bucket, time, what kind of bound it is)."""
    a = unit.absent
    if a is None:
        return
    yield "launch-starved", a.launch_starved_ms, ""
    yield "blocking", a.blocking_ms, a.blocking_bound if a.blocking_bound == "exact" else f"{a.blocking_bound} bound"
    yield "dependency-stalled", a.dependency_stalled_ms, ""
    if a.opaque_graph_ms:
        yield "opaque graphs", a.opaque_graph_ms, "inside unknown"
    if a.residual_ms:
        yield "residual", a.residual_ms, "in no bucket"


def _reasons(unit: Unit) -> Iterable[str]:
    """What is inside the buckets, one line each."""
    a = unit.absent
    if a is None or a.launch_starved is None or a.blocking is None or a.dependency_stalled is None:
        return
    s = a.launch_starved
    if a.launch_starved_ms:
        yield (
            f"launch-starved    recoverable ≤ {figure(s.recoverable_ms)}, latency {figure(s.launch_latency_ms)}, "
            f"host wait {figure(s.host_wait_ms)}, joint {figure(s.joint_with_producer_ms)}"
        )
        rows = s.by_host_cause[:2]
        yield "  host causes: " + "; ".join(
            f"{r.cause} {r.detail}{f' for {r.waits_on}' if r.waits_on else ''} {figure(r.ms)}" for r in rows
        )
    if a.blocking.by_class:
        classes = list(a.blocking.by_class.items())[:4]
        yield "blocking by class " + ", ".join(f"{name} {figure(ms)}" for name, ms in classes)
    told = {k: v for k, v in a.dependency_stalled.by_reason.model_dump().items() if v}
    if told:
        ordered = sorted(told.items(), key=lambda kv: -kv[1])[:4]
        yield "stalled by reason " + ", ".join(f"{name} {figure(ms)}" for name, ms in ordered)


def _path(unit: Unit) -> Iterable[str]:
    """The critical path: its largest classes and links, with their place."""
    p = unit.critical_path
    if p is None:
        return
    kinds = ", ".join(f"{name} {figure(ms)}" for name, ms in list(p.by_class.items())[:2])
    yield f"critical path     {kinds}; {len(p.near)} near misses"
    for row in p.top[:2]:
        place = f" in {shortened(row.nvtx, _LONGEST_PLACE)}" if row.nvtx else ""
        name = shortened(row.name or row.class_, _LONGEST_LINK - cell_len(place))
        yield f"  {percent(row.share)} {row.kind} {name}{place}, {row.grade}"


def _range(value: Stat) -> str:
    return f"{figure(value.min_ms)}–{figure(value.max_ms)}"


def _details(unit: Unit) -> Iterable[str]:
    w, v, c, h = unit.window, unit.work_volume, unit.communication, unit.host_sync
    if w is not None and w.cross_check is not None:
        check = w.cross_check
        says = "agrees" if check.agrees else f"differs by {check.difference_pct:+.1f} %"
        times = "" if check.ratio == 1 else f", {check.ratio:.3g} of its periods a window"
        yield f"cross-check       {check.kind} {figure(check.median_ms)}{times}: {says}"
    yield from _reasons(unit)
    yield from _path(unit)
    if w is not None and w.outside_step_ms:
        yield f"outside the step  {figure(w.outside_step_ms)} ms between steps; no step's time"
    if c is not None and c.union_ms:
        overlap = percent(c.overlap_pct / 100) if c.overlap_pct is not None else "unknown"
        blocking = figure(c.blocking_ms)
        told = f"exposed {figure(c.exposed_ms)}, blocking {blocking}, overlapped {overlap}"
        yield f"communication     union {figure(c.union_ms)}, {told}"
        for row in c.backends[:4]:
            yield f"  {row.backend} {row.component}: {figure(row.union_ms)} in {count(row.count)} ops"
    yield from overlap_lines(unit)
    yield from range_lines(unit)
    yield from launch_lines(unit)
    g = unit.graphs
    if g is not None and g.launches:
        yield (
            f"CUDA graphs       {count(g.launches)} launches in all windows, {count(g.opaque)} opaque for "
            f"{figure(g.opaque_ms)}, {count(g.uncovered)} without any row"
        )
    if h is not None:
        yield (
            f"host waits        {figure(h.host_ms)}, of it {figure(h.while_device_idle_ms)} while the device was idle"
        )
    if v is not None:
        if v.linked_kernels < v.kernels:
            linked = percent(v.linked_kernels / v.kernels)
            yield f"kernels           {linked} of {count(v.kernels)} join an API call; the others' issue is unknown"
        yield (
            f"work volume       {count(v.kernels)} kernels: sum {figure(v.kernel_sum_ms)}, "
            f"union {figure(v.kernel_union_ms)}; a sum is no wall time"
        )
    for t in unit.transfers[:2]:
        rate = f"{figure(t.achieved_GBps)} GB/s" if t.achieved_GBps is not None else "rate unknown"
        yield (
            f"copies            {t.direction} {t.src or '?'}→{t.dst or '?'} {figure(t.union_ms)}, "
            f"{size(t.bytes)} in all, {rate}"
        )
    s = unit.set_aside
    if s is not None and (s.zero or s.negative or s.outside):
        yield f"set aside         damaged records: {s.zero} zero, {s.negative} negative, {s.outside} far outside"
    if w is not None:
        yield from (f"dropped step {d.index:<6}{d.why}" for d in w.dropped[:3])
        if len(w.dropped) > 3:
            yield f"dropped           {len(w.dropped) - 3} more steps, see report.json"


def _problems(report: Report) -> list[RenderableType]:
    lines = capture_problems(report)
    if not lines:
        return []
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8, style="bold")
    grid.add_column(ratio=1, overflow="fold")
    for n, line in enumerate(lines[:_PROBLEMS_TOLD]):
        grid.add_row("Capture" if n == 0 else "", Text(shortened(line, _LONGEST_PROBLEM)))
    if len(lines) > _PROBLEMS_TOLD:
        grid.add_row("", f"{len(lines) - _PROBLEMS_TOLD} more in report.json; see critpath doctor")
    return [grid]


def _limits(report: Report) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8, style="bold")
    grid.add_column(width=4)
    grid.add_column(ratio=1, overflow="fold")
    limits = report.verdict.limits
    for n, limit in enumerate(limits[:_LIMITS_TOLD]):
        grid.add_row("Limits" if n == 0 else "", limit.guard, Text(_first_clauses(limit.text)))
    if len(limits) > _LIMITS_TOLD:
        named = ", ".join(limit.guard for limit in limits[_LIMITS_TOLD:])
        grid.add_row("", "", f"and {named}: see report.json, critpath explain")
    return grid


def _first_clauses(text: str) -> str:
    """As many whole clauses as fit two lines; a first one that doesn't is shortened."""
    clauses = text.split("; ")
    kept = [clauses[0]]
    for clause in clauses[1:]:
        if cell_len("; ".join([*kept, clause])) > _LONGEST_LIMIT - 2:
            break
        kept.append(clause)
    told = shortened("; ".join(kept), _LONGEST_LIMIT)
    return told if len(kept) == len(clauses) else f"{told} …"


def _checks(report: Report) -> Table:
    outcomes = Counter(g.outcome for g in report.guards if g.evidence != "not analysed yet")
    waiting = sum(g.evidence == "not analysed yet" for g in report.guards)
    told = " · ".join(
        f"{outcomes[o]} {o.replace('-', ' ')}" for o in ("held", "limited", "not-applicable") if outcomes[o]
    )
    return _labelled("Checks", f"{told} · {waiting} not analysed yet   critpath explain P01")
