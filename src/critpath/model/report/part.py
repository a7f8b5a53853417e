"""What all parts of the report share: their base class, their units of measure, how a list is cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from critpath.model.values import Model, Stat

__all__ = [
    "LIST_LIMIT",
    "REST",
    "Bytes",
    "Count",
    "FiniteStat",
    "GuardId",
    "Ms",
    "Ns",
    "Part",
    "Percent",
    "Rate",
    "Share",
    "Us",
    "cut",
    "null_means",
]

LIST_LIMIT = 20
"""Rows a list of the report keeps before the rest is summed into one more row."""

REST = "rest"
"""Name of the row that stands for all rows a list was cut by."""

Row = TypeVar("Row")


class Part(Model):
    """Base of every part of the report: frozen, closed, finite, and each key documented where it is declared.

    The text under a field is its description in the JSON Schema. A field that may be null either says what null
    means (`null_means`) or needs an `unavailable` entry whenever it is null.
    """

    model_config = ConfigDict(
        use_attribute_docstrings=True, allow_inf_nan=False, json_schema_serialization_defaults_required=True
    )


@dataclass(frozen=True, slots=True)
class Measure:
    """A unit of measure, written into the JSON Schema as `unit`."""

    unit: str

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The number's schema and its unit."""
        return handler(core) | {"unit": self.unit}


def _finite(stat: Stat) -> Stat:
    if not all(map(math.isfinite, (stat.mean_ms, stat.median_ms, stat.min_ms, stat.max_ms))):
        raise ValueError("a statistic must be finite; an unknown one is null")
    return stat


FiniteStat = Annotated[Stat, AfterValidator(_finite), Measure("ms/iteration")]
"""A `Stat` without inf or nan."""

Ms = Annotated[float, Measure("ms/iteration")]
"""Milliseconds an iteration, the mean over the unit's windows unless the key says otherwise."""

Us = Annotated[float, Measure("us")]
"""Microseconds of one operation."""

Ns = Annotated[int, Measure("ns")]
"""Nanoseconds on the report's own axis."""

Count = Annotated[int, Field(ge=0), Measure("1")]
"""How many, over all windows of the unit together."""

Bytes = Annotated[int, Field(ge=0), Measure("bytes")]
"""Payload, over all windows of the unit together."""

Share = Annotated[float, Measure("1")]
"""A ratio, 1.0 being the whole."""

Percent = Annotated[float, Measure("%")]
"""A ratio in percent."""

Rate = Annotated[float, Measure("GB/s")]
"""Gigabytes (1e9 bytes) a second."""

GuardId = Annotated[str, Field(pattern=r"^P[0-9]{2}$")]
"""Id of a guard, as `P07`."""


def null_means(meaning: str) -> dict[str, Any]:
    """The schema's note on a key whose null is itself an answer and needs no `unavailable` entry."""
    return {"null_means": meaning}


def cut(rows: Sequence[Row], rest: Callable[[Sequence[Row]], Row], limit: int = LIST_LIMIT) -> list[Row]:
    """The first `limit` rows and, when there are more, one row that stands for the others.

    Args:
        rows: in the order in which they matter.
        rest: makes that row, named `REST`, from the rows left out. Unions don't add: it must not sum them.
        limit: rows kept.
    """
    kept = list(rows[:limit])
    return [*kept, rest(rows[limit:])] if len(rows) > limit else kept
