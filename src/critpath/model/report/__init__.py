"""The report: typed, frozen, versioned; the one product that every renderer only renders.

    report = load_report(text)
    violations(report)            # [] unless a figure contradicts another one
    text = report.to_json()

Modules split it by subject; `words` holds the closed sets of words, `part` what all parts share.
"""

from critpath.model.report.about import ABOUT
from critpath.model.report.absence import unexplained_nulls
from critpath.model.report.absent import (
    Absent,
    Blocking,
    BlockingOperation,
    BucketTimes,
    DependencyStalled,
    HostCauseTime,
    LaunchStarved,
    OffsetSensitivity,
    StallReasons,
    StreamWaits,
)
from critpath.model.report.capture import (
    ApiFailure,
    Capture,
    CaptureWarning,
    GraphCoverage,
    MissingTable,
    Overhead,
    Partial,
    Perturbation,
    Process,
    SourceTree,
)
from critpath.model.report.communication import (
    BackendTime,
    Collectives,
    Communication,
    Contention,
    DimensionTime,
    NcclOnly,
    OverlapCost,
)
from critpath.model.report.critical_path import CriticalPath, NearCritical, PathPart
from critpath.model.report.document import SCHEMA, Report, load_report
from critpath.model.report.inputs import Input, RuleFile, TaxonomyUsed, Tool, Workload
from critpath.model.report.invariants import large_residuals, violations
from critpath.model.report.launches import LaunchCall, LaunchDelay, Launches, LaunchQueue, ShortKernels
from critpath.model.report.nvtx import HostRange, NvtxRange, NvtxRanges
from critpath.model.report.opportunities import CombinedCeiling, Evidence, Opportunity, WhatIf
from critpath.model.report.part import LIST_LIMIT, REST, Part, cut
from critpath.model.report.ranks import (
    Alignment,
    Communicator,
    Group,
    HostClock,
    JobStep,
    MatchedCollectives,
    Ranks,
    Representative,
    Residual,
    Straggler,
    UnitLateness,
)
from critpath.model.report.schema import report_keys, report_schema
from critpath.model.report.timeline import Timeline, TimelineArrow, TimelineGap
from critpath.model.report.unit import GraphUse, PhysicalGpu, SetAside, Unit
from critpath.model.report.verdict import About, Claim, Dominant, GuardRow, Limit, Verdict
from critpath.model.report.window import Anchor, Budget, CrossCheck, DroppedWindow, Series, Window, WorkVolume
from critpath.model.report.work import (
    Category,
    Compute,
    DurationBin,
    HostSync,
    KernelWork,
    MaterialName,
    MetricRow,
    Metrics,
    Mfu,
    Transfer,
    UnclassifiedName,
)

__all__ = [
    "ABOUT",
    "LIST_LIMIT",
    "REST",
    "SCHEMA",
    "About",
    "Absent",
    "Alignment",
    "Anchor",
    "ApiFailure",
    "BackendTime",
    "Blocking",
    "BlockingOperation",
    "BucketTimes",
    "Budget",
    "Capture",
    "CaptureWarning",
    "Category",
    "Claim",
    "Collectives",
    "CombinedCeiling",
    "Communication",
    "Communicator",
    "Compute",
    "Contention",
    "CriticalPath",
    "CrossCheck",
    "DependencyStalled",
    "DimensionTime",
    "Dominant",
    "DroppedWindow",
    "DurationBin",
    "Evidence",
    "GraphCoverage",
    "GraphUse",
    "Group",
    "GuardRow",
    "HostCauseTime",
    "HostClock",
    "HostRange",
    "HostSync",
    "Input",
    "JobStep",
    "KernelWork",
    "LaunchCall",
    "LaunchDelay",
    "LaunchQueue",
    "LaunchStarved",
    "Launches",
    "Limit",
    "MatchedCollectives",
    "MaterialName",
    "MetricRow",
    "Metrics",
    "Mfu",
    "MissingTable",
    "NcclOnly",
    "NearCritical",
    "NvtxRange",
    "NvtxRanges",
    "OffsetSensitivity",
    "Opportunity",
    "Overhead",
    "OverlapCost",
    "Part",
    "Partial",
    "PathPart",
    "Perturbation",
    "PhysicalGpu",
    "Process",
    "Ranks",
    "Report",
    "Representative",
    "Residual",
    "RuleFile",
    "Series",
    "SetAside",
    "ShortKernels",
    "SourceTree",
    "StallReasons",
    "Straggler",
    "StreamWaits",
    "TaxonomyUsed",
    "Timeline",
    "TimelineArrow",
    "TimelineGap",
    "Tool",
    "Transfer",
    "UnclassifiedName",
    "Unit",
    "UnitLateness",
    "Verdict",
    "WhatIf",
    "Window",
    "WorkVolume",
    "Workload",
    "cut",
    "large_residuals",
    "load_report",
    "report_keys",
    "report_schema",
    "unexplained_nulls",
    "violations",
]
