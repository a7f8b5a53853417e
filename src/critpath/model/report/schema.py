"""The JSON Schema of `report.json`, and the keys of a report as paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from critpath.model.report.document import SCHEMA, Report

__all__ = ["Key", "report_keys", "report_schema"]


class _Generator(GenerateJsonSchema):
    """A generator without the titles that only repeat keys."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def report_schema() -> JsonSchemaValue:
    """The JSON Schema of a report as it is written: every key required, further ones allowed.

    A later version may add keys without a new schema number, so that readers must pass over those they don't know.
    """
    schema = Report.model_json_schema(mode="serialization", by_alias=True, schema_generator=_Generator)
    opened: JsonSchemaValue = _opened(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | opened | {"title": SCHEMA}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the report.

    Attributes:
        path: its place, `[]` standing for any index and `{}` for any key of a map.
        types: JSON types it may have, closed sets spelled out.
        unit: its unit of measure; empty where it has none.
        meaning: what it means and doesn't mean; empty where only the glossary says it.
        null_means: what null means; empty where null needs an `unavailable` entry or can't occur.
    """

    path: str
    types: tuple[str, ...]
    unit: str
    meaning: str
    null_means: str

    @property
    def name(self) -> str:
        """The key itself, without its place."""
        return self.path.rpartition(".")[2].removesuffix("[]").removesuffix("{}")


def report_keys() -> tuple[Key, ...]:
    """Every key of the report, parents before children, in the order in which they are written."""
    schema = report_schema()
    return tuple(_keys(schema, schema["$defs"], ""))


def _opened(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _opened(value) for key, value in node.items() if not (key == "additionalProperties" and value is False)
        }
    return [_opened(value) for value in node] if isinstance(node, list) else node


def _keys(node: JsonSchemaValue, defs: JsonSchemaValue, path: str) -> Iterator[Key]:
    for name, value in node.get("properties", {}).items():
        place = f"{path}.{name}".lstrip(".")
        branches = _branches(value, defs)
        yield Key(
            path=place,
            types=tuple(_type(branch) for branch in branches),
            unit=next((str(branch["unit"]) for branch in (value, *branches) if "unit" in branch), ""),
            meaning=next((str(part["description"]) for part in (value, *branches) if "description" in part), ""),
            null_means=str(value.get("null_means", "")),
        )
        for branch in branches:
            yield from _below(branch, defs, place)


def _below(node: JsonSchemaValue, defs: JsonSchemaValue, path: str) -> Iterator[Key]:
    if "properties" in node:
        yield from _keys(node, defs, path)
    if isinstance(node.get("items"), dict):
        for branch in _branches(node["items"], defs):
            yield from _below(branch, defs, f"{path}[]")
    for value in [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]:
        if isinstance(value, dict):
            for branch in _branches(value, defs):
                yield from _below(branch, defs, f"{path}{{}}")


def _branches(node: JsonSchemaValue, defs: JsonSchemaValue) -> list[JsonSchemaValue]:
    """The alternatives of a node with references followed."""
    if "$ref" in node:
        return _branches(defs[node["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in node:
        return [branch for option in node["anyOf"] for branch in _branches(option, defs)]
    return [node]


def _type(node: JsonSchemaValue) -> str:
    if "const" in node:
        return str(node["const"])
    if "enum" in node:
        return " | ".join(map(str, node["enum"]))
    return str(node.get("type", "any"))
