"""Runtime correlation is not source attribution.

What goes wrong:
    A trace in which every kernel joins its API call is said to attribute every kernel to source code.

Why it misleads:
    The join to an API call says when and by which thread an op was launched. Where in the program that happened
    needs a call stack, which most captures don't have. Correlation ids repeat across processes, so that even the
    first join is wrong without the process.

What critpath does:
    Two rates have two names: `runtime_link_rate` for ops that join an API call, `source_link_rate` for ops with a
    call stack. The join is by process and correlation id. Migrations of unified memory have no call to join and are
    named apart.

The trap:
    All ops correlated and no call stack at all; correlation ids that collide across processes.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Runtime correlation is not source attribution."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.identity.join_index",
    "critpath.rank.process_rows.process_rows",
    "critpath.rank.capture.LinkRate",
    "critpath.model.report.Capture",
)


def check(report: Report) -> Outcome:
    """Held when both rates are told; limited when call stacks are not known."""
    if not analysed_units(report):
        return NO_ANALYSED_UNIT
    runtime, source = report.capture.runtime_link_rate, report.capture.source_link_rate
    if runtime is None:
        return NOT_ANALYSED_YET
    joined = f"{runtime:.2%} of device ops join an API call (runtime_link_rate)"
    if source is None:
        return Outcome("limited", f"{joined}; how many have a call stack is unknown, so none is attributed to source")
    migrations = sum(process.migrations for process in report.capture.processes)
    apart = f"; {migrations} ops are migrations, which no call issues" if migrations else ""
    return Outcome(
        "held", f"{joined}, {source:.2%} have a call stack (source_link_rate); one never stands for the other{apart}"
    )
