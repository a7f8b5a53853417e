"""The glossary, as shipped with the package: the words of the report, one meaning each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Term", "glossary", "glossary_text"]

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_KEYS = re.compile(r"^Keys: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the report.

    Attributes:
        name: the word, in lower case.
        text: its meaning, and where it has one its formula.
        keys: keys of the report that it explains.
    """

    name: str
    text: str
    keys: tuple[str, ...]


def glossary_text() -> str:
    """The glossary as Markdown."""
    return files("critpath").joinpath("data", "glossary.md").read_text(encoding="utf-8")


@cache
def glossary() -> tuple[Term, ...]:
    """Every term, in the order of the glossary."""
    parts = _HEADING.split(glossary_text())
    return tuple(_term(name, text) for name, text in zip(parts[1::2], parts[2::2], strict=True))


def _term(name: str, text: str) -> Term:
    keys = _KEYS.search(text)
    names = re.findall(r"`([^`]+)`", keys[1]) if keys else []
    return Term(name=name.strip(), text=text.strip(), keys=tuple(names))
