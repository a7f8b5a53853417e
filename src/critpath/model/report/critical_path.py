"""The chain that bounds a unit's step, and what nearly bound it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from critpath.model.report.part import Count, Ms, Part, Share, Us, null_means

__all__ = ["CriticalPath", "EdgeGrade", "LinkKind", "NearCritical", "PathPart"]

LinkKind = Literal["op", "gap", "launch", "host", "wait", "unknown", "rest"]
"""What a link of the critical path is; `rest` only where a list was cut."""

EdgeGrade = Literal["recorded", "documented", "inferred", "assumed", "unresolved", "rest"]
"""How well it is known that a link led to the next; `rest` only where a list was cut."""


class PathPart(Part):
    """Links of one kind, class, name, place and grade."""

    kind: LinkKind
    """What they are: an op ran, it waited behind its producer, its launch was under way, the launching thread worked,
    the thread woke from a wait, or the capture doesn't tell."""
    class_: str = Field(validation_alias="class", serialization_alias="class")
    """Class of the op that ran; `latency` or `stall` of a gap or launch; the host's cause."""
    name: str | None = Field(default=None, json_schema_extra=null_means("nothing is known of the time"))
    """Kernel or copy that ran or waited, API call, or what the host did."""
    nvtx: str | None = Field(default=None, json_schema_extra=null_means("launched outside every NVTX range"))
    """NVTX ranges around the op's launch, outermost first: a place, never a cause."""
    grade: EdgeGrade
    """How well it is known that they led to what followed."""
    ms: Ms
    """Time of these links."""
    share: Share
    """Over the iteration."""
    count: Count
    """Links, over all windows."""


class NearCritical(Part):
    """What would bind an op of the path were the path shorter by its slack."""

    kind: Literal["op", "launch", "rest"]
    """A producer of the op, or the op's own launch."""
    name: str
    """The producer, or the op that was launched; `rest` for all others."""
    class_: str = Field(validation_alias="class", serialization_alias="class")
    """Class of that op."""
    holds: str
    """The op on the path that it would hold."""
    slack_us: Us
    """Least time by which something else held it longer."""
    count: Count
    """How often, over all windows."""
    windows: Count
    """Windows in which it was so."""


class CriticalPath(Part):
    """The chain of ops, launches and host time that ends with the window's end; its links add up to the step.

    It says what the step waited for, not what removing a link would gain: the next chain may be close.
    """

    by_kind: dict[LinkKind, Ms] = Field(default_factory=dict)
    """Its time by what the links are; adds up to the iteration."""
    by_class: dict[str, Ms] = Field(default_factory=dict)
    """Its time by kind and class, as `kind:class`; adds up to the iteration."""
    by_place: dict[str, Ms] | None = Field(
        default=None, json_schema_extra=null_means("the process has no NVTX range that launched an op")
    )
    """Its time by NVTX place, an empty name for what was launched outside; adds up to the iteration."""
    by_grade: dict[EdgeGrade, Ms] = Field(default_factory=dict)
    """Its time by how well each link is known; adds up to the iteration."""
    top: list[PathPart] = Field(default_factory=list)
    """Its links by kind, class, name, place and grade, largest first; adds up to the iteration."""
    near: list[NearCritical] = Field(default_factory=list)
    """What missed being on it by less than 1 % of its window, most frequent first."""
