"""What the report says, how well it is proven, and what it must not be read as."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import GuardId, Ms, Part, Share, null_means
from critpath.model.report.words import Bound, Bucket, GuardOutcome, ProofStatus

__all__ = ["About", "Claim", "Dominant", "GuardRow", "Limit", "Verdict"]

_INCONCLUSIVE = null_means("the bucket is inconclusive, or no unit could be analysed")


class Dominant(Part):
    """The largest cost of a step on the slowest unit."""

    bucket: Bucket
    """Where it is."""
    class_: str | None = Field(
        default=None,
        validation_alias="class",
        serialization_alias="class",
        json_schema_extra=null_means("the bucket has no classes, or is inconclusive"),
    )
    """Largest class, host cause or reason inside the bucket."""
    unit: str | None = Field(default=None, json_schema_extra=_INCONCLUSIVE)
    """The slowest unit."""
    ms: Ms | None = Field(default=None, json_schema_extra=_INCONCLUSIVE)
    """Mean time of the bucket; with `outside_step` it lies between the windows."""
    share: Share | None = Field(default=None, json_schema_extra=_INCONCLUSIVE)
    """That time over the iteration, time outside the step included where there is any."""


class Limit(Part):
    """Something that this capture does not allow to be claimed."""

    guard: GuardId
    """The guard that says so."""
    text: str
    """What can't be claimed, and why."""


class Verdict(Part):
    """The answer, for captured ranks only (P24)."""

    headline: str
    """One paragraph: the dominant cost, per step, and what the trace cannot say."""
    dominant: Dominant
    """The dominant cost."""
    status: ProofStatus
    """How well it is proven."""
    limits: list[Limit] = Field(default_factory=list)
    """What this capture does not allow to be claimed."""


class GuardRow(Part):
    """What one guard says of this report."""

    id: GuardId
    """Id of the guard."""
    title: str
    """The rule."""
    outcome: GuardOutcome
    """Whether the rule held, limits a claim, or has nothing to say here."""
    evidence: str
    """The figures that show it, or why it doesn't apply."""


class Claim(Part):
    """A sentence that the report stands for."""

    text: str
    """The sentence."""
    status: ProofStatus
    """How well it is proven."""
    guards: list[GuardId] = Field(default_factory=list)
    """Guards that it passed."""
    evidence: str
    """What shows it."""


class About(Part):
    """How a quantity is to be read."""

    unit: str
    """Unit of measure."""
    bound: Bound
    """Which way it may be wrong."""
    formula: str
    """How it is computed."""
    guards: list[GuardId] = Field(default_factory=list)
    """Guards that keep it from being misread."""
    frame: str | None = Field(default=None, json_schema_extra=null_means("no frame holds it in detail"))
    """Frame that holds its rows."""
