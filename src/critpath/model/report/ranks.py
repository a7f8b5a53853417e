"""Units against each other: groups, clocks, collectives, who is late."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Bytes, Count, Ms, Ns, Part, Percent, Rate, Share, null_means
from critpath.model.report.words import AlignmentQuality, LateCauseKind, Pattern, StragglerVerdict

__all__ = [
    "Alignment",
    "Communicator",
    "Group",
    "HostClock",
    "JobPath",
    "JobStep",
    "MatchedCollectives",
    "PathTransfer",
    "PathUnit",
    "Ranks",
    "Representative",
    "Residual",
    "Straggler",
    "UnitLateness",
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
    certified_width_ns: Ns | None = Field(
        default=None, json_schema_extra=null_means("causality alone ties none of its units to the reference host's")
    )
    """How far its clock may be from the reference's at most, whatever the fit says: the least over pairs of units."""


class Alignment(Part):
    """Clocks of several hosts."""

    reference: str
    """Host whose clock the others are told in."""
    hosts: list[HostClock] = Field(default_factory=list)
    """The other hosts."""
    suspect: list[str] = Field(default_factory=list)
    """Communicators whose matches contradict causality: a wrong match, or a clock that isn't linear. Nothing is aligned
    on them."""


class Communicator(Part):
    """Matched collectives of one communicator."""

    key: str
    """What identifies it; says so when it is inferred."""
    units: list[str]
    """Captured units that take part."""
    inferred: bool
    """Whether only likeness and time tell that they meet: the capture names no communicator."""
    size: Count | None = Field(
        default=None, json_schema_extra=null_means("its initialization, which tells its size, was not captured")
    )
    """Its ranks, captured or not."""
    dimension: str | None = Field(
        default=None, json_schema_extra=null_means("no declared parallel dimension fits, or several do")
    )
    """Parallel dimension, as `tp`."""
    inter_host: bool
    """Whether its captured units lie on several hosts."""
    kinds: list[str] = Field(default_factory=list)
    """What its collectives do."""
    instances: Count
    """Matched instances."""
    bytes: Bytes | None = None
    """Payload of one unit, over all instances."""
    transfer_proxy_ms: Ms | None = None
    """Shortest participant's time: a proxy of the transfer, an upper bound of it."""
    jitter_wait_ms: Ms | None = None
    """How much longer its participants stayed than the shortest one, a mean over them: they waited for the last."""
    busbw_GBps: Rate | None = Field(  # noqa: N815
        default=None, json_schema_extra=null_means("sizes are unknown, or not all participants were captured")
    )
    """Bus bandwidth by the transfer proxy; a lower bound, none unless all participants were captured."""


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
    """The late unit; with `start-skew` the one whose capture began earlier, which isn't late."""
    late_ms: Ms | None = Field(default=None, json_schema_extra=null_means("no lateness beyond the residual is claimed"))
    """How late it arrives an iteration, beyond the residual of the clocks (P23)."""
    evidence: str
    """What shows it."""
    limited_to: list[str] = Field(default_factory=list)
    """Units that the verdict covers; the others are never cleared."""
    steps: Count = 0
    """Steps in which arrivals could be compared."""
    late_steps: Count = 0
    """Steps of those in which that unit, or any where it rotates, was late."""
    cause: LateCauseKind | None = Field(default=None, json_schema_extra=null_means("no single unit is late"))
    """What the late unit has more of than its peers."""
    cause_text: str | None = Field(default=None, json_schema_extra=null_means("no single unit is late"))
    """What shows it."""


class PathUnit(Part):
    """A unit's own part of the job's critical path."""

    unit: str
    """Id of the unit, or `rest`."""
    ms: Ms
    """Its own work and waiting on the path, matched collectives left out."""
    share: Share
    """Of the path."""
    largest: str | None = Field(default=None, json_schema_extra=null_means("the row stands for several units"))
    """Kind and name of the link with most of that time."""
    largest_ms: Ms | None = Field(default=None, json_schema_extra=null_means("the row stands for several units"))
    """Its time."""


class PathTransfer(Part):
    """A communicator's transfers on the job's critical path."""

    key: str
    """The communicator, or `rest`."""
    ms: Ms
    """Shortest participants' time of its collectives on the path."""
    share: Share
    """Of the path."""


class JobPath(Part):
    """The critical path of the job's step, over all captured units.

    From the slowest unit's end back, through each collective to the unit that arrived last at it. It tells what held
    the step, not what shortening it would gain.
    """

    steps: Count
    """Steps that all captured units have."""
    mean_ms: Ms
    """Length of the path; it differs from the steps' by how far apart units began, and by the noise of ends."""
    unmatched_ms: Ms
    """Part of the units' own in kernels in which ranks meet, but whose peers are unknown: the path may lead elsewhere
    there."""
    units: list[PathUnit] = Field(default_factory=list)
    """By unit, largest first."""
    transfers: list[PathTransfer] = Field(default_factory=list)
    """By communicator, largest first."""


class UnitLateness(Part):
    """How late one unit arrived, step by step."""

    unit: str
    """Id of the unit."""
    late_ms: list[float | None]
    """By how much it arrived after its peers at the collectives of each of `steps`, added up [ms]; negative where
    before, null where nothing was compared."""


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
    critical_path: JobPath | None = None
    """Which units held the job's step."""
    steps: list[str] = Field(default_factory=list)
    """The job's steps, by the text of their anchor."""
    lateness: list[UnitLateness] = Field(default_factory=list)
    """Of each unit whose arrival could be compared with others'."""
