"""What can stop an analysis.

    CritpathError
    ├── InputError      an input can't be read as what it claims to be
    ├── OptionError     an option, or a file of options, can't be what was meant
    └── SelectionError  inputs and options are fine, but together they select nothing

What a capture merely lacks is not an error: it is `Unavailable`, a value in the report.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

__all__ = ["CritpathError", "InputError", "OptionError", "SelectionError"]


class CritpathError(Exception):
    """A fault told in four parts, so that a tired reader knows what to type next.

    Args:
        what: what happened, one line, without a full stop.
        where: the file, option or table it happened in.
        meaning: what it means for the diagnosis.
        remedy: what to do next.
    """

    def __init__(self, what: str, *, where: str, meaning: str, remedy: str) -> None:
        super().__init__(what, where, meaning, remedy)
        self.what = what
        self.where = where
        self.meaning = meaning
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.where}: {self.what}\n{self.meaning}\n{self.remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        # The keyword-only parts rule out the default way; the attributes bring along what `add_note` left.
        return (_rebuild, (type(self), self.what, self.where, self.meaning, self.remedy), self.__dict__)


class InputError(CritpathError):
    """Raised when an input is missing, empty, damaged, or not an Nsight Systems export."""


class OptionError(CritpathError):
    """Raised when an option has a value that can't be what its user meant."""

    @classmethod
    def unknown(cls, word: str, known: Iterable[str], *, kind: str, where: str) -> Self:
        """An unknown name, with the up to three nearest known ones, nearest first; letter case makes no distance.

        Args:
            word: what was typed.
            known: every name that would have been understood.
            kind: what the name should have named, as `guard`.
            where: the option or file it was typed in.
        """
        names = sorted(known)
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.casefold(), []).append(name)
        matches = difflib.get_close_matches(word.casefold(), folded, n=3, cutoff=0.5)
        near = [name for match in matches for name in folded[match]]
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
        else:
            hint = f"Known: {', '.join(names)}." if names else f"There is no {kind} to choose from."
        return cls(f"unknown {kind} {word!r}", where=where, meaning="Nothing was analysed.", remedy=hint)


class SelectionError(CritpathError):
    """Raised when what was asked for selects nothing; an empty selection must never read as healthy."""


def _rebuild(kind: type[CritpathError], what: str, where: str, meaning: str, remedy: str) -> CritpathError:
    return kind(what, where=where, meaning=meaning, remedy=remedy)
