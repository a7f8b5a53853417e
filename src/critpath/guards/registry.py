"""All guards, found by their files: one file a guard, its id from the file's name, its page the file's docstring.

guard("P07").title
rows = guard_all(report)
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import critpath.guards
from critpath.base.errors import OptionError
from critpath.guards.outcome import Outcome
from critpath.model.report import GuardRow, Report

__all__ = ["Guard", "guard", "guard_all", "guards"]

_FILE = re.compile(r"p(?P<number>\d\d)_(?P<slug>[a-z0-9_]+)")


@dataclass(frozen=True, slots=True)
class Guard:
    """A way in which traces are misread, and what keeps this report from it.

    Attributes:
        id: as `P07`.
        slug: the fault, as its file is named.
        title: the rule, one sentence.
        page: what goes wrong, why it misleads, what critpath does, the trap.
        check: what the guard says of a report.
        anchors: dotted names of the code that keeps the rule; empty while it isn't built.
        since: version of the tool that has it.
    """

    id: str
    slug: str
    title: str
    page: str
    check: Callable[[Report], Outcome]
    anchors: tuple[str, ...]
    since: str

    @property
    def sections(self) -> dict[str, str]:
        """The page's sections by heading, each one paragraph."""
        parts = re.split(r"^(\w[^\n]*):\n", self.page, flags=re.MULTILINE)
        return {name: " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def guards() -> tuple[Guard, ...]:
    """Every guard, by id."""
    names = sorted(info.name for info in pkgutil.iter_modules(critpath.guards.__path__))
    return tuple(_load(file) for file in map(_FILE.fullmatch, names) if file is not None)


def guard(name: str) -> Guard:
    """The guard of an id, upper or lower case.

    Raises:
        OptionError: there is no such guard.
    """
    known = {row.id: row for row in guards()}
    if name.upper() not in known:
        raise OptionError.unknown(name.upper(), known, kind="guard", where="guards")
    return known[name.upper()]


def guard_all(report: Report) -> list[GuardRow]:
    """One row a guard, in the order of ids."""
    rows = []
    for each in guards():
        outcome = each.check(report)
        rows.append(GuardRow(id=each.id, title=each.title, outcome=outcome.outcome, evidence=outcome.evidence))
    return rows


def _load(file: re.Match[str]) -> Guard:
    module = importlib.import_module(f"critpath.guards.{file[0]}")
    return Guard(
        id=f"P{file['number']}",
        slug=file["slug"],
        title=module.TITLE,
        page=inspect.cleandoc(module.__doc__ or ""),
        check=module.check,
        anchors=module.ANCHORS,
        since=module.SINCE,
    )
