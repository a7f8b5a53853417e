from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builders import absent, minimal_report, unit
from critpath.guards.glossary import glossary
from critpath.model.report import ABOUT, report_keys, report_schema

KEYS = {key.path: key for key in report_keys()}
HERE = Path(__file__).parent
CONTRACT = HERE.parents[3] / "shared" / "report-contract.md"
REQUIRED = HERE.joinpath("contract_keys.txt").read_text(encoding="utf-8").split()
MAPS = [path for path, key in KEYS.items() if "object" in key.types and not any(p.startswith(path + ".") for p in KEYS)]


def contract() -> dict[str, Any]:
    """The skeleton report of the contract, its comments and ellipses taken out."""
    if not CONTRACT.exists():
        pytest.skip(f"the contract is not beside this checkout: {CONTRACT.name}")
    block = re.search(r"```jsonc\n(.*?)```", CONTRACT.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*', lambda match: match[1] or "", block[1])
    skeleton: dict[str, Any] = json.loads(text.replace("{…}", "{}"))
    return skeleton


def paths(value: object, place: str = "") -> list[str]:
    if isinstance(value, dict):
        found = []
        for name, inner in value.items():
            below = f"{place}.{name}".lstrip(".")
            found += [below, *paths(inner, below)]
        return found
    return [path for inner in value for path in paths(inner, f"{place}[]")] if isinstance(value, list) else []


def is_key(path: str) -> bool:
    """Whether the report has the key; below a map, whose names are data, any will do."""
    return path in KEYS or any(path.startswith(name + ".") for name in MAPS)


@pytest.mark.parametrize("path", REQUIRED)
def test_a_key_of_the_contract_is_in_the_report(path: str):
    assert is_key(path)


def test_a_map_of_parts_has_their_keys():
    parts = {
        "about{}": ("unit", "bound", "formula", "guards", "frame"),
        "units[].communication.by_dimension{}": ("union_ms",),
    }
    assert [f"{path}.{name}" for path, names in parts.items() for name in names if f"{path}.{name}" not in KEYS] == []


def test_the_list_of_keys_is_the_contracts():
    skeleton = paths(contract())
    assert sorted({path for path in skeleton if "…" not in path}) == sorted(REQUIRED)


def test_closed_sets_are_the_contracts():
    skeleton = contract()
    seen = 0
    for path, words in _alternatives(skeleton):
        kinds = next((set(kind.split(" | ")) for kind in KEYS[path].types if " | " in kind), None)
        if kinds is not None and "…" not in words:
            assert kinds - {"rest"} == words, path
            seen += 1
    assert seen > 10


def _alternatives(value: object, place: str = "") -> list[tuple[str, set[str]]]:
    if isinstance(value, dict):
        return [pair for name, inner in value.items() for pair in _alternatives(inner, f"{place}.{name}".lstrip("."))]
    if isinstance(value, list):
        return [pair for inner in value for pair in _alternatives(inner, f"{place}[]")]
    return [(place, set(value.split("|")) - {"null"})] if isinstance(value, str) and "|" in value else []


def test_every_key_has_a_meaning():
    told = {key for term in glossary() for key in term.keys}
    assert [key.path for key in KEYS.values() if not key.meaning and key.name not in told] == []


def test_every_number_has_a_unit():
    exceptions = {"mean_ms", "median_ms", "min_ms", "max_ms", "mean"}
    numbers = [key for key in KEYS.values() if "number" in key.types and key.name not in exceptions]
    assert [key.path for key in numbers if not key.unit] == []


def test_a_written_report_is_valid():
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(minimal_report(units=[unit(absent=absent())]).to_json()), schema)


def test_every_key_is_required_and_further_ones_are_allowed():
    schema = report_schema()
    values = json.loads(minimal_report().to_json())
    jsonschema.validate(values | {"later": 1}, schema)
    del values["units"][0]["absent"]
    with pytest.raises(jsonschema.ValidationError, match="absent"):
        jsonschema.validate(values, schema)


@pytest.mark.parametrize("path", ABOUT)
def test_what_is_said_about_a_quantity_is_said_of_a_key(path: str):
    assert path in KEYS
    assert ABOUT[path].unit == KEYS[path].unit


def test_every_key_that_the_glossary_explains_exists():
    names = {key.name for key in KEYS.values()}
    assert {key for term in glossary() for key in term.keys} <= names
