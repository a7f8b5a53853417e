"""Units against each other: groups, clocks, collectives, who is late."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Bytes, Count, Ms, Ns, Part, Percent, Rate, Share, null_means
from critpath.model.report.words import AlignmentQuality, Pattern, StragglerVerdict

__all__ = [
    "Alignment",
    "Communicator",
    "Group",
    "HostClock",
    "JobStep",
    "MatchedCollectives",
    "Ranks",
    "Representative",
    "Residual",
    "Straggler",
]


class JobStep(Part):
    """The job's step: the slowest captured rank in each step; no unit's own step stands for it (P02, P03)."""

    median_ms: Ms
    """Median over steps of the slowest unit's step."""
    slowest_per_step: list[str] = Field(default_factory=list)
    """Unit that was slowest in each step."""
    slowest_unit: str
    """Unit that was slowest most often."""


class Group(Part):
    """Units that do the same work, and may be compared (P04)."""

    id: str
    """Id of the group."""
    part: str | None = Field(
        default=None, json_schema_extra=null_means("grouped by fingerprint, nobody named the part")
    )
    """Declared part of the model."""
    units: list[str]
    """Ids of its units."""
    similarity_min: Share | None = Field(default=None, json_schema_extra=null_means("the group has one unit"))
    """Least similarity of two fingerprints in it."""
    fastest: str
    """Unit with the shortest mean step."""
    slowest: str
    """Unit with the longest mean step."""
    spread_pct: Percent
    """Slowest over fastest mean step, minus one."""
    pattern: Pattern
    """Whether the slowest is always the same."""


class Representative(Part):
    """A unit that is shown in detail for others."""

    unit: str
    """Id of the unit."""
    why: str
    """Why this one (P03)."""


class Residual(Part):
    """What is left of matched ends after alignment; nothing smaller than it can be claimed (P23)."""

    p05: Ns
    """5th percentile."""
    p50: Ns
    """Median."""
    p95: Ns
    """95th percentile."""


_UNALIGNED = null_means("the host could not be aligned: durations only")


class HostClock(Part):
    """A host's clock against the reference."""

    host: str
    """The host."""
    offset_ns: Ns | None = Field(default=None, json_schema_extra=_UNALIGNED)
    """Local minus reference at the first common window, after the UTC rebase."""
    drift_ppm: float | None = Field(default=None, json_schema_extra=_UNALIGNED | {"unit": "ppm"})
    """Change of the offset with time."""
    matched: Count
    """Matched collective ends that the fit used."""
    residual_ns: Residual | None = Field(default=None, json_schema_extra=_UNALIGNED)
    """Held-out residuals of the fit."""
    quality: AlignmentQuality
    """Whether times of this host may be compared with others."""


class Alignment(Part):
    """Clocks of several hosts."""

    reference: str
    """Host whose clock the others are told in."""
    hosts: list[HostClock] = Field(default_factory=list)
    """The other hosts."""


class Communicator(Part):
    """Matched collectives of one communicator."""

    key: str
    """What identifies it; says so when it is inferred."""
    units: list[str]
    """Captured units that take part."""
    instances: Count
    """Matched instances."""
    bytes: Bytes | None = None
    """Payload of one unit, over all instances."""
    transfer_proxy_ms: Ms | None = None
    """Shortest participant's time: a proxy of the transfer, an upper bound of it."""
    busbw_GBps: Rate | None = None  # noqa: N815
    """Bus bandwidth by the transfer proxy; a lower bound, none with one participant."""


class MatchedCollectives(Part):
    """Collective instances matched between units."""

    matched: Count
    """Instances with at least two captured participants."""
    unmatched: Count
    """Instances without one; they support no claim on transfer."""
    communicators: list[Communicator] = Field(default_factory=list)
    """By communicator."""


class Straggler(Part):
    """Who arrives last, among captured ranks only (P24)."""

    verdict: StragglerVerdict
    """Whether one is late, and whether it is always the same."""
    unit: str | None = Field(default=None, json_schema_extra=null_means("no single unit is late, or none can be named"))
    """The late unit."""
    late_ms: Ms | None = Field(default=None, json_schema_extra=null_means("no lateness beyond the residual is claimed"))
    """How late it arrives an iteration, beyond the residual of the clocks (P23)."""
    evidence: str
    """What shows it."""
    limited_to: list[str] = Field(default_factory=list)
    """Units that the verdict covers; the others are never cleared."""


class Ranks(Part):
    """What only several units together can tell."""

    step: JobStep | None = None
    """The job's step."""
    groups: list[Group] = Field(default_factory=list)
    """Units that may be compared with each other."""
    representatives: list[Representative] = Field(default_factory=list)
    """Units shown in detail."""
    alignment: Alignment | None = Field(default=None, json_schema_extra=null_means("all units ran on one host"))
    """Clocks of the hosts."""
    collectives: MatchedCollectives | None = None
    """Matched collectives."""
    straggler: Straggler | None = None
    """Who is late."""
