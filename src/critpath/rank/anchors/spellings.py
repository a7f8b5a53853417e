"""How steps are called in NVTX ranges, and which names are no step's: data, with the source of each.

spellings = Spellings.bundled()
spellings.role("ProfilerStep#12")       # "step"
spellings.role("sample_0")              # "part"
spellings.role("forge the ring")        # "unknown"
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import polars as pl

__all__ = ["ELIGIBLE", "Role", "Spelling", "Spellings", "bare", "bare_texts"]

Role = Literal["step", "warm-up", "unknown", "evaluation", "part", "whole", "operator"]
"""What a range surrounds, told by its text."""

ELIGIBLE: tuple[Role, ...] = ("step", "warm-up", "unknown", "evaluation")
"""Roles that may be the step, best first; an evaluation step is not a training step and comes last."""

_SUFFIX = (
    r"(?s)(?:,\s*[A-Za-z_][A-Za-z_0-9]*\s=\s(?:\[[^()\[\]]*\]|[^,()\[\]]*))*"
    r"(?:,\s*(?:op_id|seq|sizes|shapes|input_op_ids)\s*=.*)?$"
)
"""What profilers append: lists of `, key = value`, spaces included, and PyTorch's known keys with all that follows."""
_LONGEST = 300
"""Characters of a text that are matched: names are foreign text of any length."""
_LONGEST_BACKTRACKED = 4_096
"""Characters of a text that an engine may read whose time can grow with the square of them."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to call a thing.

    Attributes:
        id: its name in the data file.
        framework: who writes it.
        role: what ranges of that text surround.
        pattern: matched against the whole text, letter case aside.
        source: where it was read.
        examples, not_examples: texts that it must and must not match.
    """

    id: str
    framework: str
    role: Role
    pattern: str
    source: str
    examples: tuple[str, ...]
    not_examples: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether the whole text is spelled this way."""
        return _compiled(self.pattern).fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Spellings:
    """Spellings in order of precedence, and what kernels of backward passes are called."""

    entries: tuple[Spelling, ...]
    backward: Spelling

    @classmethod
    @functools.cache
    def bundled(cls) -> Spellings:
        """The spellings that come with critpath."""
        text = (resources.files("critpath.data") / "anchors.toml").read_text(encoding="utf-8")
        data = tomllib.loads(text)
        entries = tuple(_spelling(row) for row in data["spelling"])
        backward = _spelling({"id": "backward", "framework": "any", "role": "part"} | data["backward"])
        return cls(entries, backward)

    def role(self, text: str) -> Role:
        """What ranges of this text surround; the first spelling that matches decides."""
        known = self.of(text)
        return known.role if known else "unknown"

    def of(self, text: str) -> Spelling | None:
        """The spelling of a text, None where none is known."""
        spelled = bare(text)[:_LONGEST]
        return next((entry for entry in self.entries if entry.matches(spelled)), None)

    def is_backward(self, kernel: str) -> bool:
        """Whether a kernel's name says that it belongs to a backward pass."""
        return _searched(self.backward.pattern).search(kernel) is not None


def bare(text: str) -> str:
    """A text without what profilers append to it."""
    if len(text) > _LONGEST_BACKTRACKED:
        return str(bare_texts(pl.Series([text]))[0])
    return _searched(_SUFFIX).sub("", text).strip()


def bare_texts(texts: pl.Series) -> pl.Series:
    """`bare` of many texts, by an engine fit for millions."""
    return texts.str.replace(_SUFFIX, "").str.strip_chars()


def _spelling(row: dict[str, object]) -> Spelling:
    texts: dict[str, Sequence[str]] = {k: row[k] for k in ("examples", "not_examples")}  # type: ignore[misc]
    role: Role = row["role"]  # type: ignore[assignment]
    return Spelling(
        id=str(row["id"]),
        framework=str(row["framework"]),
        role=role,
        pattern=str(row["pattern"]),
        source=str(row["source"]),
        examples=tuple(texts["examples"]),
        not_examples=tuple(texts["not_examples"]),
    )


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


@functools.cache
def _searched(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
