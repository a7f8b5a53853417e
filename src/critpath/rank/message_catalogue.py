"""The profiler's known messages and the claims they bear on: `data/diagnostics.toml`, read once."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["UNCLASSIFIED", "Claim", "Effect", "KnownMessage", "claims", "known_messages", "matching"]

_SPACE = re.compile(r"\s+")


class Effect(StrEnum):
    """What a message does to what may be claimed."""

    NONE = "none"
    POSITIVE = "positive"
    POSSIBLE_LOSS = "possible-loss"
    LOSS = "loss"
    TRUNCATED = "truncated"
    UNUSABLE = "unusable"
    NOT_RECORDED = "not-recorded"
    PERMISSION = "permission"
    MODE_HARDWARE = "mode-hardware"
    MODE_SOFTWARE = "mode-software"
    FLUSH = "flush"
    UNCLASSIFIED = "unclassified"
    """A warning or error that no entry knows; never an entry's own."""


_TAKING_AWAY = frozenset({Effect.UNUSABLE, Effect.NOT_RECORDED, Effect.PERMISSION})


@dataclass(frozen=True, slots=True)
class Claim:
    """Something people say of a run, that a capture may or may not allow.

    Attributes:
        name: as `constrains` spells it.
        asks: what it answers, as a heading.
        completeness: whether a loss here means that a process' own records are incomplete.
        best: what limits it even in the best capture; None = nothing.
    """

    name: str
    asks: str
    completeness: bool
    best: str | None


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """One entry of the catalogue.

    Attributes:
        pattern: matches a whole message, its runs of white space made one space.
        session: whether it speaks of all processes, whoever wrote it.
        takes_away: whether the claims it constrains can't be made at all, rather than with a limit.
        constrains: names of claims.
        mend: ids of remedies of `data/recapture.toml`.
    """

    id: str
    pattern: re.Pattern[str]
    session: bool
    effect: Effect
    takes_away: bool
    means: str
    constrains: tuple[str, ...]
    mend: tuple[str, ...]
    source: str
    examples: tuple[str, ...]
    not_examples: tuple[str, ...]


UNCLASSIFIED = KnownMessage(
    id="unclassified",
    pattern=re.compile(".*"),
    session=False,
    effect=Effect.UNCLASSIFIED,
    takes_away=False,
    means="",
    constrains=(),
    mend=(),
    source="",
    examples=(),
    not_examples=(),
)
"""What a warning or error that no entry knows counts as: nothing is known of it, so nothing is proven beside it."""


@cache
def _document() -> dict[str, Any]:
    text = resources.files("critpath.data").joinpath("diagnostics.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def claims() -> dict[str, Claim]:
    """Every claim by name, in the order of the file: what matters most first."""
    return {
        row["name"]: Claim(row["name"], row["asks"], row["completeness"], row.get("best"))
        for row in _document()["claim"]
    }


@cache
def known_messages() -> tuple[KnownMessage, ...]:
    """Every known message, in the order in which they are tried.

    Raises:
        ValueError: an entry constrains something that isn't on the list of claims.
    """
    found = tuple(_message(row) for row in _document()["message"])
    for message in found:
        if unknown := set(message.constrains) - set(claims()):
            raise ValueError(f"diagnostics.toml, {message.id}: no such claim: {', '.join(sorted(unknown))}")
    return found


def _message(row: dict[str, Any]) -> KnownMessage:
    expression = row["pattern"] if "pattern" in row else re.escape(row["text"])
    return KnownMessage(
        id=row["id"],
        pattern=re.compile(expression, re.IGNORECASE if row.get("ignore_case") else 0),
        session={"process": False, "session": True}[row["scope"]],
        effect=Effect(row["effect"]),
        takes_away=row.get("takes_away", row["effect"] in _TAKING_AWAY),
        means=row["means"],
        constrains=tuple(row.get("constrains", ())),
        mend=tuple(row.get("mend", ())),
        source=row["source"],
        examples=tuple(row["examples"]),
        not_examples=tuple(row["not_examples"]),
    )


def matching(text: str) -> tuple[KnownMessage, int | None] | None:
    """The entry that knows a message, with the number the message tells; None where none does."""
    plain = _SPACE.sub(" ", text).strip()
    for message in known_messages():
        if match := message.pattern.fullmatch(plain):
            told = match.groupdict().get("count")
            return message, int(told.replace(",", "")) if told else None
    return None
