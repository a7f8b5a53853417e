"""CUDA event handles are reused.

What goes wrong:
    An event wait is joined to an event record by the event's handle.

Why it misleads:
    A program records the same handle again in every step, and two processes use equal numbers. A join by handle
    alone ties one wait to thousands of records and invents dependencies.

What critpath does:
    A wait joins the record with the same event sync id in the same process. In exports without that id it joins the
    latest record of its handle before its own API call, in the same process. Every key begins with the process, so
    that a join by the bare handle can't be written.

The trap:
    One handle recorded five times; two processes with equal ids; 4 handles behind 4,000 records.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "CUDA event handles are reused."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.model.identity.process_of", "critpath.model.identity.join_index")


def check(report: Report) -> Outcome:
    """Not applicable: keys hold the process, and waits are not resolved to records yet."""
    if not analysed_units(report):
        return NO_ANALYSED_UNIT
    if report.capture.event_trace is False:
        return Outcome("not-applicable", "the event table has no rows, so no wait is joined to a record")
    return Outcome("not-applicable", "no wait is joined to a record yet; every event id is keyed by its process")
