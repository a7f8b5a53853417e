"""What could be gained at most, with the intervals that show it; never a forecast."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Count, Ms, Part, Percent, Share, null_means
from critpath.model.report.words import Confidence, EvidenceKind, OpportunityScope, ProofStatus

__all__ = ["CombinedCeiling", "Evidence", "Opportunity", "WhatIf"]

_NO_PLACE = null_means("the evidence is no place in a trace")


class Evidence(Part):
    """A place to look at: in the trace, to find it in the nsys GUI, or in the source."""

    kind: EvidenceKind
    """What it points at."""
    text: str
    """What is seen there."""
    anchor: str | None = Field(default=None, json_schema_extra=null_means("the evidence is no place in the source"))
    """`file:line` or configuration key that exists in the given source (P32)."""
    report: str | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Path of the input."""
    process: int | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Process number of the operating system."""
    start_ns: int | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Its start [ns, report axis]."""
    end_ns: int | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Its end [ns, report axis]."""
    stream: int | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Its stream."""
    correlation_id: int | None = Field(default=None, json_schema_extra=_NO_PLACE)
    """Correlation id of its API call, unique within the process."""


class WhatIf(Part):
    """The step re-timed with the cause removed on all units."""

    predicted_step_ms: Ms
    """Length of the step without the cause, as replay predicts it."""
    replay_error_pct: Percent
    """How far the same replay misses steps that it was not fitted on."""
    unexplained_lag_pct: Percent
    """Part of the critical path that no known edge explains."""


class Opportunity(Part):
    """One cause and its ceiling: the step can't become shorter than `new_step_ceiling_ms` by removing it alone."""

    id: str = Field(pattern=r"^o[0-9]+$")
    """Id inside this report."""
    title: str
    """The cause, in words."""
    unit: str
    """Unit whose intervals it was computed from."""
    bucket: str
    """Bucket that it takes from, as `blocking`."""
    class_: str | None = Field(
        default=None,
        validation_alias="class",
        serialization_alias="class",
        json_schema_extra=null_means("the bucket has no classes"),
    )
    """Class, host cause or reason inside the bucket."""
    scope: OpportunityScope
    """Whether the ceiling holds for this unit or for the job."""
    n: Count
    """Windows that it was computed over."""
    recoverable_ms: Ms
    """Mean time that removing the cause wins at most (R); at most its bucket."""
    recoverable_min_ms: Ms
    """Least over the windows."""
    recoverable_max_ms: Ms
    """Most over the windows."""
    new_step_ceiling_ms: Ms
    """T - R, T being the mean step: the shortest it could become with compute busy unchanged."""
    throughput_gain_ceiling_pct: Percent
    """(T / (T - R) - 1) * 100."""
    mfu_ceiling: Share | None = None
    """MFU at the ceiling."""
    perturbed: bool = False
    """Whether the step it is computed on is materially slower for being profiled (P25)."""
    confidence: Confidence
    """How sure the cause is."""
    status: ProofStatus
    """How it is proven; a trace phenomenon is no root cause (P32)."""
    evidence: list[Evidence] = Field(default_factory=list)
    """Where to look."""
    action: str
    """What to try."""
    verify: str
    """How to see whether it worked."""
    overlaps_with: list[str] = Field(default_factory=list)
    """Opportunities that share time with it: their ceilings don't add (P31)."""
    whatif: WhatIf | None = None
    """What replay predicts, where its error allows."""


class CombinedCeiling(Part):
    """Opportunities whose intervals are disjoint and whose fixes are independent, together (P31)."""

    opportunities: list[str]
    """Their ids."""
    recoverable_ms: Ms
    """The union of their intervals; never a sum of overlapping parts."""
    why: str
    """Why these may be combined, and why the others may not."""
