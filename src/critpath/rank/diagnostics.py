"""What the profiler itself says of the capture, and which processes it says it of.

    for message in recognised(trace):
        message.effect, message.reach, message.constrains

A message's own severity decides nothing (P27): lost records are told at severity "info", and a launcher warns that it
has no CUDA events. So each message is read by its text, and scoped by the process it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.base.redaction import redacted
from critpath.model.identity import NULL, pid_of
from critpath.model.tables import DeviceOps
from critpath.model.trace import Trace
from critpath.rank.message_catalogue import UNCLASSIFIED, Effect, matching

__all__ = ["Message", "Reach", "device_tables", "process_reaches", "recognised"]

_SEVERITIES = {0: "unknown", 1: "info", 2: "warning", 3: "error", 4: "verbose"}
_SOURCES = {0: "unknown", 1: "injection", 2: "daemon", 3: "analysis"}
_INFORMATION = frozenset({"info", "verbose"})
_EVENT_CLOCK = 1


class Reach(StrEnum):
    """Whom a message speaks of."""

    SESSION = "session"
    """All processes of the report."""
    UNIT = "unit"
    """One process with device rows."""
    API_ONLY = "api-only"
    """One process with CUDA calls and no device row: a rank that wasn't captured, or none at all."""
    HELPER = "helper"
    """One process without any CUDA row: a launcher, a loader; what it warns of constrains no rank."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the profiler, recognised and scoped.

    Attributes:
        id: of the catalogue, or `unclassified`.
        severity, source: as the profiler gave them.
        text: the message, with paths, people and secrets hidden.
        means: what it means in plain words; empty for an unclassified one.
        constrains: claims it takes away from those it reaches; empty for helpers, harmless and unclassified messages,
            and where it tells that 0 records were lost.
        takes_away: whether those claims can't be made at all, rather than with a limit.
        mend: ids of remedies.
        process: key of the process it speaks of; None = the session.
        count: the number it tells, None without one.
        time_ns: when, on the events' axis; None where its time is of another clock and can't be compared.
    """

    id: str
    effect: Effect
    severity: str
    source: str
    text: str
    means: str
    constrains: tuple[str, ...]
    takes_away: bool
    mend: tuple[str, ...]
    reach: Reach
    process: int | None
    count: int | None
    time_ns: int | None

    def reaches(self, process: int) -> bool:
        """Whether it bears on what is claimed of a process; a helper's message bears on none."""
        return self.reach is Reach.SESSION or (self.reach is not Reach.HELPER and self.process == process)


def recognised(trace: Trace) -> tuple[Message, ...]:
    """The messages of a report in the order of the export, which is no order in time: they come from several clocks.

    An unknown message is kept, as unclassified, unless the profiler calls it information.
    """
    table = trace.diagnostics
    reaches = process_reaches(trace)
    columns = (table.time_ns, table.clock, table.source, table.severity, table.process, table.text)
    found = []
    for time_ns, clock, source, severity, process, text_id in zip(*(c.tolist() for c in columns), strict=True):
        text, level = trace.strings[text_id], _SEVERITIES.get(severity, "unknown")
        known, count = matching(text) or (UNCLASSIFIED, None)
        if known is UNCLASSIFIED and level in _INFORMATION:
            continue
        session = known.session or process == NULL or pid_of(process) == 0
        reach = Reach.SESSION if session else reaches.get(process, Reach.HELPER)
        harmless = reach is Reach.HELPER or (known.effect is Effect.LOSS and count == 0)
        found.append(
            Message(
                id=known.id,
                effect=known.effect,
                severity=level,
                source=_SOURCES.get(source, "unknown"),
                text=redacted(text),
                means=known.means,
                constrains=() if harmless else known.constrains,
                takes_away=known.takes_away,
                mend=known.mend,
                reach=reach,
                process=None if session else process,
                count=count,
                time_ns=time_ns if clock == _EVENT_CLOCK and time_ns != NULL else None,
            )
        )
    return tuple(found)


def process_reaches(trace: Trace) -> dict[int, Reach]:
    """The processes with CUDA rows, and of which kind; any other process is a helper."""
    calls = trace.runtime_calls.process
    found = dict.fromkeys(_distinct(calls), Reach.API_ONLY)
    for table in device_tables(trace):
        found.update(dict.fromkeys(_distinct(table.process), Reach.UNIT))
    found.pop(NULL, None)
    return found


def device_tables(trace: Trace) -> tuple[DeviceOps, ...]:
    """The tables of what ran on a device."""
    return trace.kernels, trace.copies, trace.memsets, trace.graph_launches


def _distinct(processes: I64) -> list[int]:
    first, _ = group_rows(processes)
    return sorted(processes[first].tolist())
