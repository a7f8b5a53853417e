"""One step of a unit as it is drawn: ops in columns, gaps with their bucket, arrows from producers."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Ns, Part, null_means
from critpath.model.report.words import OperationClass

__all__ = ["Timeline", "TimelineArrow", "TimelineGap"]


class TimelineGap(Part):
    """An interval without compute, or the part of one that has one cause."""

    start_ns: Ns
    """Its start, from the window's start."""
    end_ns: Ns
    """Its end, from the window's start."""
    bucket: str
    """Its bucket."""
    class_: OperationClass | None = Field(
        default=None,
        validation_alias="class",
        serialization_alias="class",
        json_schema_extra=null_means("the bucket has no classes"),
    )
    """Class of the producer that owns it."""


class TimelineArrow(Part):
    """A producer and the op that waited for it, by their index in `ops`."""

    producer: int
    """Row of the producer."""
    waiter: int
    """Row of the op that waited."""
    grade: str
    """How the edge is known: recorded, documented, inferred or assumed."""


class Timeline(Part):
    """At most 50,000 ops of one window."""

    unit: str
    """Id of the unit."""
    window: int
    """Index of the window."""
    ops: dict[str, list[int] | list[str]] = Field(default_factory=dict)
    """Columns of equal length, one row an op; times are delta-coded [ns], the first from the window's start. A column
    of names holds each name once, a column of indices refers to it."""
    gaps: list[TimelineGap] = Field(default_factory=list)
    """Intervals without compute."""
    arrows: list[TimelineArrow] = Field(default_factory=list)
    """Dependencies that held compute up."""
