"""What the capture holds, what it lacks, and what that takes away."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Count, Ms, Part, Percent, Share, null_means
from critpath.model.report.words import (
    Completeness,
    GraphMode,
    Instrumentation,
    MessageScope,
    MetricsState,
    OverheadOwner,
)

__all__ = [
    "ApiFailure",
    "Capture",
    "CaptureWarning",
    "GraphCoverage",
    "MissingTable",
    "Overhead",
    "Partial",
    "Perturbation",
    "Process",
    "SourceTree",
]


class CaptureWarning(Part):
    """A message of the profiler that constrains something, or that nobody knows; or a note of critpath's own."""

    input: int
    """Index of the input."""
    severity: str
    """Severity as the profiler gave it; lost events come at `info` too, so it decides nothing here."""
    source: str
    """Part of the profiler that wrote it, or `critpath`."""
    text: str
    """The message, without folders, people and secrets."""
    id: str = "unclassified"
    """Which known message it is; `unclassified` where it is not known."""
    means: str = ""
    """What it means in plain words; empty where it is not known."""
    constrains: list[str] = Field(default_factory=list)
    """Claims that it takes away or limits; empty where the message is known to be harmless, is not known, or speaks of
    a helper process."""
    takes_away: bool = False
    """Whether those claims can't be made at all, rather than with a limit."""
    scope: MessageScope = "session"
    """Whom it speaks of."""
    pid: int | None = Field(default=None, json_schema_extra=null_means("it speaks of no single process"))
    """Process it speaks of."""
    units: list[str] = Field(default_factory=list)
    """Ids of the units it bears on; none for a helper process."""
    count: Count | None = Field(default=None, json_schema_extra=null_means("the message tells no number"))
    """The number it tells, as of records dropped."""


class MissingTable(Part):
    """A table that the export does not hold."""

    input: int
    """Index of the input."""
    table: str
    """Full name of the table."""
    means: str = ""
    """What its absence means in plain words."""
    constrains: list[str] = Field(default_factory=list)
    """Claims that can't be made without it."""


class Partial(Part):
    """Something that the export holds in part, or a kind of data it has none of; never read as 0."""

    input: int
    """Index of the input."""
    id: str
    """Which lack it is."""
    what: str
    """One sentence with its numbers."""
    count: Count
    """How many are concerned; 0 where there is nothing to count."""
    of: Count
    """Of how many."""
    units: list[str] = Field(default_factory=list)
    """Ids of the units concerned."""
    constrains: list[str] = Field(default_factory=list)
    """Claims that it takes away or limits."""
    takes_away: bool
    """Whether those claims can't be made at all, rather than with a limit."""
    optional: bool = False
    """Whether it is data that a timing pass leaves out on purpose, as samples and call stacks."""


class GraphCoverage(Part):
    """Graph launches of the whole capture, and how many of them left device rows (P21)."""

    launches: Count
    """Graph launch calls that returned no error."""
    covered: Count
    """Those that left a device row of either kind; the time of the others is unknown, not idle."""
    opaque: Count
    """Those of them that left one row for the whole graph: busy, and unknown inside."""
    by_node: Count
    """Those of them that left rows of their nodes."""


class Overhead(Part):
    """Recorded overhead of one type inside the windows; never a slowdown (P25)."""

    kind: str
    """Type, in words."""
    owner: OverheadOwner
    """Whose cost it is."""
    ms: Ms
    """Union of its rows inside the windows, the mean over all windows of all units."""


class ApiFailure(Part):
    """CUDA API calls of one function that returned one error; a query that isn't ready is none."""

    input: int
    """Index of the input."""
    function: str
    """Function, without version suffix."""
    code: int
    """The error as the call returned it."""
    name: str
    """What the error is called."""
    fatal: bool
    """Whether the context is lost: the program itself failed, and no profiler lost what is missing after it."""
    calls: Count
    """Calls that returned it."""


class SourceTree(Part):
    """The source tree the user gave."""

    available: bool = False
    """Whether one was given and could be read."""
    revision: str | None = Field(default=None, json_schema_extra=null_means("no source, or its revision is not told"))
    """Revision of the tree."""
    matches_profiled: bool | None = Field(
        default=None, json_schema_extra=null_means("no source, or the profiled revision is not declared")
    )
    """Whether the revision is the one that was profiled; only then can a claim be source-verified."""


class Perturbation(Part):
    """How much slower the profiled steps were than unprofiled ones of the same run."""

    profiled_ms: Ms
    """Median time of the profiled steps, from the trainer's log."""
    reference_ms: Ms
    """Median time of the unprofiled steps, from the trainer's log."""
    reference_n: Count
    """Unprofiled steps compared with."""
    slowdown_pct: Percent
    """Profiled over reference, minus one. Recorded profiler activity is no part of it."""
    natural_spread_pct: Percent
    """Robust spread of the unprofiled steps; a slowdown within it is no perturbation."""
    material: bool
    """Whether ceilings must be marked as computed on a perturbed step."""


class Process(Part):
    """A process with CUDA rows; one without device rows may be a rank that was not captured."""

    input: int
    """Index of the input."""
    pid: int
    """Process number of the operating system; a label, unique on its host only."""
    name: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Name of its executable, folders hidden."""
    scope: MessageScope = "unit"
    """`unit` with device rows, else `api-only`."""
    units: list[str] = Field(default_factory=list)
    """Ids of its units."""
    device_rows: Count
    """Kernels, copies, memsets and graphs recorded for it."""
    migrations: Count = 0
    """Those of them that are unified-memory migrations: no API call issues them."""
    api_rows: Count
    """CUDA API calls recorded for it."""
    completeness: Completeness | None = Field(default=None, json_schema_extra=null_means("it was not judged"))
    """How complete its records can be called; nothing proves that none was lost (P27)."""
    reasons: list[str] = Field(default_factory=list)
    """Why, a sentence each."""
    instrumentation: Instrumentation = "unknown"
    """How its device times were taken."""
    dropped: Count = 0
    """Records that the profiler says it dropped."""


class Capture(Part):
    """What all inputs together can and can't support."""

    ranks_declared: Count | None = Field(default=None, json_schema_extra=null_means("nobody said"))
    """Ranks of the whole job, captured or not."""
    ranks_captured: Count
    """Units that were analysed; what the others did is unknown (P24)."""
    graph_mode: GraphMode = "unknown"
    """How CUDA graphs were traced; `graph` hides the kernels inside (P21)."""
    graph_coverage: GraphCoverage | None = Field(
        default=None, json_schema_extra=null_means("no API call was recorded, so launches can't be counted")
    )
    """How many graph launches left device rows (P21)."""
    event_trace: bool | None = None
    """Whether the CUDA event table has rows."""
    runtime_link_rate: Share | None = None
    """Device ops that join a CUDA API row, over all device ops. It says nothing about source code (P22)."""
    source_link_rate: Share | None = None
    """Device ops with a call stack, over all device ops; not the runtime link rate (P22)."""
    instrumentation: Instrumentation = "unknown"
    """How device times were taken."""
    source: SourceTree = SourceTree()
    """The source tree given beside the capture."""
    metrics: MetricsState | None = None
    """Whether metric samples were recorded; a missing permission is no fault of the workload (P19)."""
    warnings: list[CaptureWarning] = Field(default_factory=list)
    """Messages of the profiler that constrain a claim or aren't known, and notes of critpath's own (P27)."""
    missing: list[MissingTable] = Field(default_factory=list)
    """Tables that are absent, used or not."""
    partial: list[Partial] = Field(default_factory=list)
    """What is there in part, or not at all, beside the missing tables (P27)."""
    profiler_overhead_recorded_ms: Ms | None = None
    """Recorded profiler activity inside the windows; never called the slowdown (P25)."""
    overhead: list[Overhead] = Field(default_factory=list)
    """Recorded overhead inside the windows by type, the application's own apart from the profiler's."""
    perturbation: Perturbation | None = None
    """Profiled against unprofiled steps; null without trainer step times (P25)."""
    processes: list[Process] = Field(default_factory=list)
    """Every process with CUDA rows of every input, with or without device rows."""
    api_failures: list[ApiFailure] = Field(default_factory=list)
    """CUDA API calls that returned an error, fatal ones first."""
