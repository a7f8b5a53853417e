"""CUDA API calls that returned an error, by function and code.

A query that isn't ready is no error. A fatal one means that the program itself failed: what is missing after it never
ran, and no profiler lost it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from critpath.base.grouping import group_rows
from critpath.model.tables import RuntimeCalls
from critpath.model.trace import Strings
from critpath.rank.api_calls import function_name, succeeded

__all__ = ["ApiFailure", "api_failures"]


@dataclass(frozen=True, slots=True)
class ApiFailure:
    """Calls of one function that returned one error.

    Attributes:
        function: its name without version suffix.
        code: as the call returned it.
        name: what the code means; `error <code>` where no table tells.
        fatal: whether the context is lost, so that the program itself failed.
    """

    function: str
    code: int
    name: str
    fatal: bool
    calls: int


@cache
def _results() -> dict[int, dict[str, object]]:
    text = resources.files("critpath.data").joinpath("api_results.toml").read_text(encoding="utf-8")
    return {row["code"]: row for row in tomllib.loads(text)["result"]}


def api_failures(calls: RuntimeCalls, strings: Strings) -> tuple[ApiFailure, ...]:
    """Failed calls by function and code: fatal ones first, then the most frequent."""
    benign = [code for code, row in _results().items() if row.get("benign")]
    failed = calls.where(~succeeded(calls) & ~np.isin(calls.result, benign))
    first, group = group_rows(failed.name, failed.result)
    counts: dict[tuple[str, int], int] = {}
    for row, count in zip(first.tolist(), np.bincount(group, minlength=first.size).tolist(), strict=True):
        key = function_name(strings[int(failed.name[row])]), int(failed.result[row])
        counts[key] = counts.get(key, 0) + count
    found = [_failure(function, code, count) for (function, code), count in counts.items()]
    return tuple(sorted(found, key=lambda f: (not f.fatal, -f.calls, f.function, f.code)))


def _failure(function: str, code: int, calls: int) -> ApiFailure:
    row = _results().get(code, {})
    return ApiFailure(function, code, str(row.get("name", f"error {code}")), bool(row.get("fatal")), calls)
