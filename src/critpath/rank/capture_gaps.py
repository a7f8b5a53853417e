"""What an export lacks: tables that are absent, and tables that hold less than they should (P27).

A section that couldn't be read or wasn't recorded is never 0: each lack carries the claims it takes away. The wording
is data, `data/capture_tables.toml`; this module counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from critpath.ingest.schema import EXPECTED_TABLES
from critpath.model.trace import Trace
from critpath.rank.api_failures import ApiFailure
from critpath.rank.diagnostics import Message, Reach
from critpath.rank.graph_tracing import GraphTracing
from critpath.rank.message_catalogue import Effect
from critpath.rank.process_rows import ProcessRows

__all__ = ["Gap", "MetricsState", "MissingTable", "Observed", "gaps", "metrics_state", "missing_tables"]

MetricsState = Literal["present", "absent", "denied"]

_METRIC_TABLES = ("GPU_METRICS", "GENERIC_EVENTS")


@dataclass(frozen=True, slots=True)
class MissingTable:
    """A table that the export does not hold, and what that takes away.

    Attributes:
        table: full name.
        constrains: claims that can't be made without it.
        mend: ids of remedies.
    """

    table: str
    means: str
    constrains: tuple[str, ...]
    mend: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that is there in part, or not at all, and what that takes away.

    Attributes:
        id: of `data/capture_tables.toml`.
        text: one sentence with its numbers.
        count, of: how many are concerned, of how many; both 0 where there is nothing to count.
        processes: keys of the processes concerned; empty = all.
        takes_away: whether the claims can't be made at all, rather than with a limit.
        optional: whether it is data that a timing pass leaves out on purpose.
        mend: ids of remedies.
    """

    id: str
    text: str
    count: int
    of: int
    processes: tuple[int, ...]
    constrains: tuple[str, ...]
    takes_away: bool
    mend: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """What was counted of a trace, for the gaps to be read from."""

    rows: tuple[ProcessRows, ...]
    graphs: GraphTracing
    messages: tuple[Message, ...]
    failures: tuple[ApiFailure, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A gap before it has words."""

    id: str
    count: int = 0
    of: int = 0
    processes: tuple[int, ...] = ()
    table: str = ""
    held: int = 0


@cache
def _document() -> dict[str, Any]:
    text = resources.files("critpath.data").joinpath("capture_tables.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _tables() -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in _document()["table"]}


def missing_tables(trace: Trace) -> tuple[MissingTable, ...]:
    """The expected tables that the export doesn't hold, used or not; an empty table is not a missing one."""
    known = _tables()
    return tuple(
        MissingTable(name, known[name]["means"], tuple(known[name]["constrains"]), tuple(known[name]["mend"]))
        for name in EXPECTED_TABLES
        if name not in trace.rows
    )


def metrics_state(trace: Trace, messages: tuple[Message, ...]) -> MetricsState:
    """Whether metric samples were recorded; denied is the profiler's lack of permission, not a fault (P19)."""
    if any(trace.rows.get(table) for table in _METRIC_TABLES):
        return "present"
    denied = any(m.effect is Effect.PERMISSION and "metrics" in m.constrains for m in messages)
    return "denied" if denied else "absent"


def gaps(trace: Trace, observed: Observed) -> tuple[Gap, ...]:
    """What the export holds in part or not at all, in the order in which it should be told."""
    known = _gaps()
    order = {name: place for place, name in enumerate(known)}
    found = [*_by_process(observed), *_graphs(trace, observed), *_exported(trace, observed), *_absent(trace, observed)]
    worded = [*(_worded(gap, known[gap.id]) for gap in found), *_empty_tables(trace)]
    return tuple(sorted(worded, key=lambda gap: order[gap.id]))


def _gaps() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in _document()["gap"]}


def _worded(found: _Found, row: dict[str, Any]) -> Gap:
    whole = found.count == found.of
    template = row["all_text"] if whole and "all_text" in row else row["text"]
    numbers = {"count": f"{found.count:,}", "of": f"{found.of:,}", "held": f"{found.held:,}"}
    return Gap(
        id=found.id,
        text=template.format(table=found.table or row.get("table", ""), **numbers),
        count=found.count,
        of=found.of,
        processes=found.processes,
        constrains=tuple(row["constrains"]),
        takes_away=row.get("takes_away", True) and whole,
        mend=tuple(row["mend"]),
        optional=row.get("optional", False),
    )


def _empty_tables(trace: Trace) -> Iterator[Gap]:
    """Expected tables that are there and empty: as good as missing.

    Of event records that holds only beside waits for events, which are counted on their own.
    """
    for found in (_Found("table-empty", table=t) for t in EXPECTED_TABLES if trace.rows.get(t) == 0):
        if not found.table.endswith("_CUDA_EVENT"):
            yield _worded(found, _gaps()["table-empty"] | _tables()[found.table])


def _by_process(observed: Observed) -> Iterator[_Found]:
    rows = observed.rows
    for gap, lacking, whole in (
        ("waits-without-records", "waits_without_record", "event_waits"),
        ("launches-without-rows", "launches_without_row", "kernel_launches"),
        ("launches-cut-off", "launches_cut_off", "kernel_launches"),
    ):
        concerned = tuple(r.process for r in rows if getattr(r, lacking))
        if concerned:
            count, of = (sum(getattr(r, column) for r in rows) for column in (lacking, whole))
            yield _Found(gap, count, of, concerned)
    uncalled = tuple(r.process for r in rows if r.ops_without_call)
    if uncalled:
        count, of = sum(r.ops_without_call for r in rows), sum(r.device_rows - r.migrations for r in rows)
        yield _Found("ops-without-calls", count, of, uncalled)
    bare = tuple(r.process for r in rows if r.reach is Reach.API_ONLY)
    if bare:
        yield _Found("processes-without-device-rows", len(bare), len(rows), bare)


def _graphs(trace: Trace, observed: Observed) -> Iterator[_Found]:
    coverage = observed.graphs.coverage
    opaque = sum(c.opaque_rows for c in coverage)
    if opaque:
        concerned = tuple(c.process for c in coverage if c.opaque_rows)
        yield _Found("graphs-opaque", opaque, opaque + sum(c.by_node for c in coverage), concerned)
    uncovered = sum(c.uncovered for c in coverage)
    if uncovered:
        concerned = tuple(c.process for c in coverage if c.uncovered)
        yield _Found("graphs-uncovered", uncovered, sum(c.launches for c in coverage), concerned)
    if not len(trace.runtime_calls) and observed.rows and not coverage:
        yield _Found("graphs-untold")


def _exported(trace: Trace, observed: Observed) -> Iterator[_Found]:
    unreadable: dict[str, int] = {}
    for column, values in trace.mistyped.items():
        table = column.rpartition(".")[0]
        unreadable[table] = unreadable.get(table, 0) + values
    for table, values in unreadable.items():
        yield _Found("values-unreadable", values, table=table)
    source = trace.source
    for what, limit in (("tables", source.tables_exported), ("times", source.times_exported)):
        if limit:
            yield _Found("export-partial", table=f"the {what} {limit}")
    collected = sum(m.count or 0 for m in observed.messages if m.id == "cuda-events-collected")
    # Which tables the counter counts isn't documented: all of them together must hold no fewer rows.
    held = sum(rows for table, rows in trace.rows.items() if table.startswith(("CUPTI_ACTIVITY_KIND_", "CUDA_")))
    if held < collected:
        yield _Found("rows-fewer-than-collected", collected - held, collected, held=held)
    if trace.rows.get("NVTX_PAYLOAD_SCHEMAS") and source.blobs_exported is False:
        yield _Found("payloads-not-exported")
    if trace.capture_options.get("CUDA_SKIP_SOME_API_CALLS", "").lower() == "true":
        yield _Found("api-calls-skipped")
    fatal = sum(f.calls for f in observed.failures if f.fatal)
    if fatal:
        yield _Found("program-failed", fatal)


def _absent(trace: Trace, observed: Observed) -> Iterator[_Found]:
    if not len(trace.diagnostics):
        yield _Found("no-messages")
    if trace.rows.get("NVTX_EVENTS"):
        if not len(trace.nvtx_ranges):
            yield _Found("no-nvtx-ranges")
        if not trace.rows.get("NVTX_PAYLOAD_SCHEMAS"):
            yield _Found("no-payloads")
    ops = sum(r.device_rows for r in observed.rows)
    if not ops:
        yield _Found("no-device-rows")
    stackless = ops - sum(r.with_stack for r in observed.rows)
    if stackless or not ops:
        yield _Found("no-call-stacks", stackless, ops)
    for gap, tables in (
        ("no-os-calls", ("OSRT_API",)),
        ("no-cpu-samples", ("COMPOSITE_EVENTS",)),
        ("no-scheduling", ("SCHED_EVENTS",)),
        ("no-library-calls", ("CUBLAS_EVENTS", "CUDNN_EVENTS")),
    ):
        if not any(trace.rows.get(table) for table in tables):
            yield _Found(gap)
    if metrics_state(trace, observed.messages) == "absent":
        yield _Found("no-metrics")
