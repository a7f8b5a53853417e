"""Dispatcher time is not network transfer.

What goes wrong:
    The time in which dispatch and combine kernels ran is told as time on the network, or divided into bytes for a
    bandwidth.

Why it misleads:
    Such kernels pack tokens, lay them out, notify peers and wait for their arrival. Moving the payload may be the
    smaller part. A bandwidth from the whole is too low by an unknown factor.

What critpath does:
    Backends are split into components: collective, transport sync, control, fused. Packing, routing, layout and
    notification are control and stand apart. The union of them all is never called network time, and no bandwidth is
    made of it: a payload kernel waits for its peers inside.

The trap:
    A dispatch of which 60 % is packing, notification and arrival jitter.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Communication, Report, Unit

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Dispatcher time is not network transfer."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.report.BackendTime",
    "critpath.rank.communication.communication",
    "critpath.run.collectives.match",
)

_ROWS_TOLD = 6


def check(report: Report) -> Outcome:
    """Held when components stand apart; cites the unit with the largest share of dispatcher kernels."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [(unit, unit.whole.communication) for unit in units if unit.whole.communication is not None]
    if not told:
        return NOT_ANALYSED_YET
    unit, comm = max(told, key=lambda row: (_dispatcher_ms(row[1]), row[1].union_ms))
    if not comm.union_ms:
        return Outcome("not-applicable", "no communication kernel ran in any window")
    rows = [row for row in comm.backends if row.component != "fused"]
    parts = ", ".join(
        f"{row.backend} {row.component.replace('_', ' ')} {row.union_ms:.2f}" for row in rows[:_ROWS_TOLD]
    )
    return Outcome(
        "held",
        f"{unit.id}: communication union {comm.union_ms:.2f} ms an iteration, by component {parts}; it holds waiting "
        f"for peers, is no network time, and no bandwidth is made of it{_across(unit.whole)}",
    )


def _across(unit: Unit) -> str:
    """What ranks that match tell of waiting, where they do."""
    comm = unit.communication
    if comm is None or comm.jitter_wait_ms is None or comm.transfer_proxy_ms is None:
        return ""
    return (
        f"; in {comm.matched or 0:,} ops that match other units' it waited {comm.jitter_wait_ms:.2f} for them, and the "
        f"shortest participants took {comm.transfer_proxy_ms:.2f}"
    )


def _dispatcher_ms(comm: Communication) -> float:
    return sum(row.union_ms for row in comm.backends if row.component in ("control", "transport_sync"))
