"""How a number is told, and how its absence is.

A report never holds a bare number whose origin is unclear: a per-iteration time is a `Stat`, and what can't be had is
`null` beside an `Unavailable` entry that says why and what would bring it. 0 always means "measured, and none".
"""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict

__all__ = ["NS_PER_MS", "Model", "Stat", "Unavailable", "figure", "percent"]

NS_PER_MS = 1_000_000

_SMALLEST = 1e-6
"""Times of an export are whole ns, which is 1e-6 ms; a mean of many windows may be less."""


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


def figure(value: float | None) -> str:
    """A quantity for people: three significant digits, thousands separated; what isn't 0 never reads so."""
    if value is None:
        return "unknown"
    if value == 0:
        return "0"
    if abs(value) < _SMALLEST:
        return f"< {_SMALLEST:.6f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def percent(share: float | None) -> str:
    """A ratio in percent, for people; what isn't 0 or 100 % never reads so."""
    if share is None:
        return "unknown"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"
