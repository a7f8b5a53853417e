"""What the capture holds, what it lacks, and what that takes away."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Count, Ms, Part, Percent, Share, null_means
from critpath.model.report.words import GraphMode, Instrumentation, MetricsState

__all__ = ["Capture", "CaptureWarning", "MissingTable", "Perturbation", "Process", "SourceTree"]


class CaptureWarning(Part):
    """A message of the profiler."""

    input: int
    """Index of the input."""
    severity: str
    """Severity as the profiler gave it; lost events come at `info` too, so it decides nothing here."""
    source: str
    """Part of the profiler that wrote it."""
    text: str
    """The message."""
    constrains: list[str] = Field(default_factory=list)
    """Claims that it takes away; empty where the message is known to be harmless or is not known."""


class MissingTable(Part):
    """A table that the export does not hold."""

    input: int
    """Index of the input."""
    table: str
    """Full name of the table."""
    constrains: list[str] = Field(default_factory=list)
    """Claims that can't be made without it."""


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
    """A process of the capture; one without device rows may be a launcher, or may have lost its rows."""

    input: int
    """Index of the input."""
    pid: int
    """Process number of the operating system; a label, unique on its host only."""
    name: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Name of its executable."""
    device_rows: Count
    """Kernels, copies, memsets and graphs recorded for it."""
    api_rows: Count
    """CUDA API calls recorded for it."""


class Capture(Part):
    """What all inputs together can and can't support."""

    ranks_declared: Count | None = Field(default=None, json_schema_extra=null_means("nobody said"))
    """Ranks of the whole job, captured or not."""
    ranks_captured: Count
    """Units that were analysed; what the others did is unknown (P24)."""
    graph_mode: GraphMode = "unknown"
    """How CUDA graphs were traced; `graph` hides the kernels inside (P21)."""
    event_trace: bool | None = None
    """Whether the CUDA event table has rows."""
    runtime_link_rate: Share | None = None
    """Device ops that join a CUDA API call, over all device ops. It says nothing about source code (P22)."""
    source_link_rate: Share | None = None
    """Device ops with a call stack, over all device ops; not the runtime link rate (P22)."""
    instrumentation: Instrumentation = "unknown"
    """How device times were taken."""
    source: SourceTree = SourceTree()
    """The source tree given beside the capture."""
    metrics: MetricsState | None = None
    """Whether metric samples were recorded; a missing permission is no fault of the workload (P19)."""
    warnings: list[CaptureWarning] = Field(default_factory=list)
    """Messages of the profiler (P27)."""
    missing: list[MissingTable] = Field(default_factory=list)
    """Tables that are absent, used or not."""
    profiler_overhead_recorded_ms: Ms | None = None
    """Recorded profiler activity inside the windows; never called the slowdown (P25)."""
    perturbation: Perturbation | None = None
    """Profiled against unprofiled steps; null without trainer step times (P25)."""
    processes: list[Process] = Field(default_factory=list)
    """Every process of every input, with or without device rows."""
