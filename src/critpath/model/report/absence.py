"""Whether the report says why each of its nulls is null."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from critpath.model.report.document import Report

__all__ = ["unexplained_nulls"]


def unexplained_nulls(report: Report) -> list[str]:
    """Paths of nulls that neither their key's `null_means` nor an `unavailable` entry explains, in report order.

    An entry explains its own path and all below it; `[]` in an entry stands for every index:

        Unavailable(path="units[].absent", reason="…")          # of every unit
        Unavailable(path="units[2]", reason="…")                # everything of one
    """
    explained = [_pattern(entry.path) for entry in report.unavailable]
    return [path for path in _nulls(report, "") if not any(pattern.match(path) for pattern in explained)]


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.escape(path).replace(r"\[\]", r"\[\d+\]") + r"(?=[.\[]|$)")


def _nulls(value: object, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            below = f"{path}.{field.serialization_alias or name}".lstrip(".")
            inner = getattr(value, name)
            if inner is None and not _says_what_null_means(field):
                yield below
            yield from _nulls(inner, below)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _nulls(inner, f"{path}.{key}")
    elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
        for index, inner in enumerate(value):
            yield from _nulls(inner, f"{path}[{index}]")


def _says_what_null_means(field: FieldInfo) -> bool:
    return isinstance(field.json_schema_extra, dict) and "null_means" in field.json_schema_extra
