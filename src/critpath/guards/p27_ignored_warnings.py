"""Capture warnings constrain claims.

What goes wrong:
    The profiler's own messages, and tables that are missing, are passed over.

Why it misleads:
    Lost events come at severity `info`. Seven of eight processes may have no device rows. A table that is absent
    reads as if nothing had happened, and the analysis goes on with what is left.

What critpath does:
    Known messages are recognised by their text and scope, whatever their severity; missing and partial tables are
    named, each with the claims that it takes away. A process is called contradicted, possibly lossy, or without
    adverse evidence, and never complete. A table that is absent makes its figures null. Messages of helper processes
    constrain no unit, unknown warnings are kept. Steps at the capture's edges are left out anyway (P26), so what
    constrains only them is no limit.

The trap:
    Lost events at severity `info`; 7 of 8 processes without device rows; one unreadable section.
"""

from __future__ import annotations

from collections.abc import Sequence

from critpath.guards.outcome import NO_ANALYSED_UNIT, Outcome, analysed_units
from critpath.model.report import Process, Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Capture warnings constrain claims."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.diagnostics.recognised",
    "critpath.rank.capture_gaps.gaps",
    "critpath.rank.capture.capture_quality",
    "critpath.pipeline.capture.capture_section",
)

_LEFT_OUT_ANYWAY = frozenset({"boundary steps"})
_REASONS_TOLD = 3
_LONGEST = 120


def check(report: Report) -> Outcome:
    """Limited when anything takes a claim away; cites the strongest reasons and the claims."""
    capture = report.capture
    partial = [row for row in capture.partial if not row.optional]
    messages = [w for w in capture.warnings if set(w.constrains) - _LEFT_OUT_ANYWAY]
    unknown = [w for w in capture.warnings if w.id == "unclassified" and w.scope != "helper"]
    reasons = [
        *_lost(capture.processes),
        *(row.what.rstrip(".") for row in partial),
        *((w.means or w.text).rstrip(".") for w in messages),
        *(f"{row.table} is absent" for row in capture.missing),
        *(f"a warning that nobody knows: {w.text[:_LONGEST]}" for w in unknown),
    ]
    if not reasons:
        return _nothing_constrains(report)
    claims = dict.fromkeys(
        claim
        for names in (row.constrains for rows in (partial, messages, capture.missing) for row in rows)
        for claim in names
        if claim not in _LEFT_OUT_ANYWAY
    )
    distinct = list(dict.fromkeys(reasons))
    more = f"; and {len(distinct) - _REASONS_TOLD} more" if len(distinct) > _REASONS_TOLD else ""
    named = f". Taken away or limited: {', '.join(claims)}" if claims else ""
    return Outcome("limited", "; ".join(distinct[:_REASONS_TOLD]) + more + named)


def _lost(processes: Sequence[Process]) -> list[str]:
    """One sentence on the processes whose records are missing for certain; none without any."""
    lost = [p for p in processes if p.completeness == "contradicted" and p.reasons]
    if not lost:
        return []
    first = f"pid {lost[0].pid}: {lost[0].reasons[0].rstrip('.')}"
    whose = "one process" if len(lost) == 1 else f"{len(lost)} processes"
    return [f"records of {whose} are missing for certain ({first})"]


def _nothing_constrains(report: Report) -> Outcome:
    if not analysed_units(report):
        return NO_ANALYSED_UNIT
    return Outcome(
        "held",
        "no message of the profiler, no missing table and no partial one takes a claim away from steps that are kept; "
        "that nothing was lost is not proven by it",
    )
