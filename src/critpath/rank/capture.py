"""What one capture holds, what it lacks, and how complete each process' records can be called.

    quality = capture_quality(trace)
    quality.completeness            # the worst of its units
    quality.gaps[0].text            # "236 of 236 waits for CUDA events have no record row, …"
    quality.constrained(process)    # claim → what takes it away or limits it

Nothing here calls a capture complete: the profiler offers no proof that nothing was lost, so the best tier is that
nothing speaks against it (P27).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from critpath.model.trace import Trace
from critpath.rank.api_failures import ApiFailure, api_failures
from critpath.rank.capture_gaps import Gap, MetricsState, MissingTable, Observed, gaps, metrics_state, missing_tables
from critpath.rank.diagnostics import Message, Reach, recognised
from critpath.rank.graph_tracing import GraphTracing, graph_tracing
from critpath.rank.message_catalogue import Effect, claims
from critpath.rank.process_rows import ProcessRows, process_rows

__all__ = [
    "CaptureQuality",
    "Completeness",
    "Instrumentation",
    "Lack",
    "LinkRate",
    "ProcessQuality",
    "capture_quality",
]

Instrumentation = Literal["hardware", "software", "unknown"]

_LOSING = frozenset({Effect.LOSS, Effect.TRUNCATED, Effect.UNUSABLE})
_MODES: dict[Effect, Instrumentation] = {Effect.MODE_HARDWARE: "hardware", Effect.MODE_SOFTWARE: "software"}


class Completeness(StrEnum):
    """How complete a process' records can be called, worst first; there is no tier "complete"."""

    CONTRADICTED = "contradicted"
    """Records are missing for certain."""
    POSSIBLE_LOSS = "possible loss"
    """Records may be missing, and how many is unknown."""
    NO_ADVERSE_EVIDENCE = "no adverse evidence"
    """Nothing says that a record is missing; nothing proves the contrary."""


_TIERS = tuple(Completeness)


@dataclass(frozen=True, slots=True)
class LinkRate:
    """Device ops that something is known of, over all device ops; the runtime's and the source's are two (P22)."""

    linked: int
    device_ops: int

    @property
    def share(self) -> float | None:
        """In [0, 1]; None without device ops."""
        return self.linked / self.device_ops if self.device_ops else None


@dataclass(frozen=True, slots=True)
class Lack:
    """One reason why a claim can't be made, or not without a limit.

    Attributes:
        because: one sentence.
        takes_away: whether it can't be made at all.
        mend: ids of remedies.
        optional: whether it is data that a timing pass leaves out on purpose.
    """

    because: str
    takes_away: bool
    mend: tuple[str, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ProcessQuality:
    """What can be said of the records of one process with CUDA rows.

    Attributes:
        reasons: sentences for the tier; those of the tier itself first.
        injected: whether the profiler said that CUDA tracing began in it; false in exports without messages too.
        instrumentation: how its device times were taken, as the profiler said; a device's capability tells nothing.
        dropped: records that the profiler says it dropped.
    """

    rows: ProcessRows
    completeness: Completeness
    reasons: tuple[str, ...]
    injected: bool
    instrumentation: Instrumentation
    dropped: int

    @property
    def loss_share(self) -> float | None:
        """Dropped records over those and the kernels that are left, in [0, 1]; None where none was dropped."""
        return self.dropped / (self.dropped + self.rows.kernels) if self.dropped else None


@dataclass(frozen=True, slots=True)
class CaptureQuality:
    """What one export can and can't support.

    Attributes:
        messages: the profiler's, in the export's order.
        processes: those with CUDA rows: units first.
        missing: expected tables that are absent.
        gaps: what is there in part or not at all, most telling first.
        event_trace: whether the CUDA event table has rows.
        runtime_links: device ops that join an API call.
        source_links: device ops whose API call has a call stack; not the same thing (P22).
        failures: API calls that returned an error.
        overheads_recorded: whether it has rows of overhead; without them nothing is known of it.
        traced: kinds of events that the capture was asked for, as the export names them; empty where it doesn't say.
    """

    messages: tuple[Message, ...]
    processes: tuple[ProcessQuality, ...]
    missing: tuple[MissingTable, ...]
    gaps: tuple[Gap, ...]
    graphs: GraphTracing
    event_trace: bool
    runtime_links: LinkRate
    source_links: LinkRate
    metrics: MetricsState
    failures: tuple[ApiFailure, ...]
    overheads_recorded: bool
    traced: tuple[str, ...]

    @property
    def completeness(self) -> Completeness | None:
        """The worst tier of the units, or of all CUDA processes where none has device rows; None without any."""
        tiers = [p.completeness for p in self._units()]
        return min(tiers, key=_TIERS.index) if tiers else None

    @property
    def instrumentation(self) -> Instrumentation:
        """How device times were taken; unknown where the units differ or nothing was said."""
        modes = {p.instrumentation for p in self._units()}
        return modes.pop() if len(modes) == 1 else "unknown"

    def constrained(self, process: int | None = None) -> dict[str, tuple[Lack, ...]]:
        """Claims that can't be made, or not without a limit, with the reasons; in the order of the list of claims.

        Args:
            process: what may be claimed of this process; None = of the capture as a whole.
        """
        found: dict[str, dict[str, Lack]] = {name: {} for name in claims()}
        for names, lack in (*self._of_messages(process), *self._of_tables(), *self._of_gaps(process)):
            for name in names:
                found[name].setdefault(lack.because, lack)
        return {name: tuple(lacks.values()) for name, lacks in found.items() if lacks}

    def _units(self) -> tuple[ProcessQuality, ...]:
        units = tuple(p for p in self.processes if p.rows.reach is Reach.UNIT)
        return units or self.processes

    def _of_messages(self, process: int | None) -> list[tuple[tuple[str, ...], Lack]]:
        concerned = {p.rows.process for p in self._units()} if process is None else {process}
        found = []
        for message in self.messages:
            reached = message.reach is Reach.SESSION or any(message.reaches(p) for p in concerned)
            if message.constrains and reached:
                whole = message.reach is Reach.SESSION or self._all_told(message, concerned)
                lack = Lack(message.means, message.takes_away and whole, message.mend)
                found.append((message.constrains, lack))
        return found

    def _all_told(self, message: Message, concerned: set[int]) -> bool:
        """Whether every process concerned was told the same."""
        return concerned <= {m.process for m in self.messages if m.id == message.id}

    def _of_tables(self) -> list[tuple[tuple[str, ...], Lack]]:
        return [(table.constrains, Lack(table.means, True, table.mend)) for table in self.missing]

    def _of_gaps(self, process: int | None) -> list[tuple[tuple[str, ...], Lack]]:
        return [
            (gap.constrains, Lack(gap.text, gap.takes_away, gap.mend, gap.optional))
            for gap in self.gaps
            if process is None or not gap.processes or process in gap.processes
        ]


def capture_quality(trace: Trace) -> CaptureQuality:
    """The quality of one capture, from the trace as read: what is set aside as damaged later was recorded too."""
    rows, messages = process_rows(trace), recognised(trace)
    graphs, failures = graph_tracing(trace), api_failures(trace.runtime_calls, trace.strings)
    lacking = gaps(trace, Observed(rows, graphs, messages, failures))
    missing = missing_tables(trace)
    device_ops = sum(r.device_rows for r in rows)
    return CaptureQuality(
        messages=messages,
        processes=tuple(_process_quality(r, messages, lacking, missing) for r in rows),
        missing=missing,
        gaps=lacking,
        graphs=graphs,
        event_trace=len(trace.event_records) > 0,
        runtime_links=LinkRate(sum(r.linked for r in rows), device_ops),
        source_links=LinkRate(sum(r.with_stack for r in rows), device_ops),
        metrics=metrics_state(trace, messages),
        failures=failures,
        overheads_recorded=len(trace.overheads) > 0,
        traced=tuple(filter(None, trace.capture_options.get("CAPTURE_EVENT_TYPE", "").split(","))),
    )


def _process_quality(
    rows: ProcessRows, messages: tuple[Message, ...], lacking: tuple[Gap, ...], missing: tuple[MissingTable, ...]
) -> ProcessQuality:
    mine = [m for m in messages if m.reaches(rows.process)]
    contradicting = _contradicting(rows, mine, missing)
    doubtful = _doubtful(rows, mine, lacking)
    if contradicting:
        tier, reasons = Completeness.CONTRADICTED, (*contradicting, *doubtful)
    elif doubtful:
        tier, reasons = Completeness.POSSIBLE_LOSS, tuple(doubtful)
    else:
        tier, reasons = Completeness.NO_ADVERSE_EVIDENCE, (_undoubted(mine),)
    modes = {_MODES[m.effect] for m in mine if m.effect in _MODES}
    return ProcessQuality(
        rows=rows,
        completeness=tier,
        reasons=tuple(dict.fromkeys(reasons)),
        injected=any(m.id == "cuda-injected" for m in mine),
        instrumentation=modes.pop() if len(modes) == 1 else "unknown",
        dropped=sum(m.count or 0 for m in mine if m.id == "cupti-records-dropped"),
    )


def _contradicting(rows: ProcessRows, mine: list[Message], missing: tuple[MissingTable, ...]) -> list[str]:
    """Why records are missing for certain."""
    found = [_told(m) for m in mine if m.effect in _LOSING and _of_records(m) and m.count != 0]
    if rows.kernel_launches and not rows.kernels:
        found.append(f"It launched kernels ({rows.kernel_launches:,}), and has no kernel row.")
    if rows.reach is Reach.API_ONLY and any(t.table.endswith("_KERNEL") for t in missing):
        found.append("It made CUDA calls, and the export has no kernel table.")
    if any(m.id == "cuda-events-collected" and m.count == 0 for m in mine):
        found.append("The profiler counted no CUDA event in it, and the export holds some.")
    return found


def _doubtful(rows: ProcessRows, mine: list[Message], lacking: tuple[Gap, ...]) -> list[str]:
    """Why records may be missing."""
    found = [_told(m) for m in mine if m.effect is Effect.POSSIBLE_LOSS and _of_records(m)]
    found.extend(f"The profiler warned of something not known here: {m.text}" for m in mine if _unclassified(m))
    if rows.reach is Reach.API_ONLY:
        found.append("It made CUDA calls and has no device row: not captured, or it ran nothing.")
    for count, text in (
        (rows.launches_without_row, "Kernel launches without kernel row"),
        (
            rows.launches_cut_off,
            "Kernel launches after the last one with a kernel row, which the capture's end cut off",
        ),
        (rows.ops_without_call, "Device ops without API row"),
    ):
        if count:
            found.append(f"{text}: {count:,}.")
    named = ("graphs-uncovered", "values-unreadable", "export-partial", "rows-fewer-than-collected")
    found.extend(g.text for g in lacking if g.id in named and (not g.processes or rows.process in g.processes))
    return found


def _undoubted(mine: list[Message]) -> str:
    if any(m.id == "cuda-injected" for m in mine):
        return "CUDA tracing began in it, and no message speaks of loss."
    return "No message of the profiler speaks of it, for or against."


def _of_records(message: Message) -> bool:
    """Whether the message speaks of the process' own records, rather than of samples or clocks."""
    known = claims()
    return any(known[name].completeness for name in message.constrains)


def _unclassified(message: Message) -> bool:
    return message.effect is Effect.UNCLASSIFIED


def _told(message: Message) -> str:
    count = f" ({message.count:,})" if message.count and message.id == "cupti-records-dropped" else ""
    return f"{message.means}{count}"
