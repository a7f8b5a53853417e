"""Host synchronization time is not GPU stall.

What goes wrong:
    Time that host threads spent in synchronizing calls is told as time that the device lost.

Why it misleads:
    A host thread that waits for a busy device loses nothing: the device works. Waits of several threads overlap. A
    stream wait returns at once, and an event query waits for nothing.

What critpath does:
    Host waits are the union over the threads of a process, printed beside the part in which the device was idle.
    Stream waits and event queries are no host waits. Whether a wait delayed a launch is a question of the
    launch-starved bucket, never of the call's duration.

The trap:
    A synchronization of 30 ms during which the device is busy for 28 ms.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Host synchronization time is not GPU stall."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.model.tables.SyncShape", "critpath.model.report.HostSync")


def check(report: Report) -> Outcome:
    """Held when host waits stand beside their part with an idle device; cites the unit with the longest waits."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    waits = [(unit, unit.whole.host_sync) for unit in units if unit.whole.host_sync is not None]
    if not waits:
        return Outcome("not-applicable", "no unit has synchronization rows, so host waits are not known")
    unit, sync = max(waits, key=lambda row: row[1].host_ms)
    return Outcome(
        "held",
        f"{unit.id}: host threads waited {sync.host_ms:.1f} ms an iteration, {sync.while_device_idle_ms:.1f} ms of it "
        "while the device was idle; only that part can have cost device time",
    )
