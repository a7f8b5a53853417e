"""How a number is told, and how its absence is.

A report never holds a bare number whose origin is unclear: a per-iteration time is a `Stat`, and what can't be had is
`null` beside an `Unavailable` entry that says why and what would bring it. 0 always means "measured, and none".
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["NS_PER_MS", "Model", "Stat", "Unavailable"]

NS_PER_MS = 1_000_000


class Model(BaseModel):
    """Base of every part of the report: frozen, and closed to keys that nobody declared."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Stat(Model):
    """A time per iteration over a unit's windows [ms]. Means add up; medians don't."""

    mean_ms: float
    median_ms: float
    min_ms: float
    max_ms: float


class Unavailable(Model):
    """Why a value of the report is null: the one way to say "unavailable".

    Attributes:
        path: place of the value in the report, as `units[0].mfu`.
        reason: what is missing, in words.
        needs: what would have to be captured or said to have it.
    """

    path: str
    reason: str
    needs: list[str] = []
