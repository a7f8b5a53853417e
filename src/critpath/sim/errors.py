"""What can stop a simulation.

SimulationError (a ValueError)
├── UnknownNameError   a scenario, option or generation nobody defined; the message lists the known ones
├── OptionValueError   an option has a value the scenario can't take
└── ProgramError       the program can't be executed: it deadlocks, or its ranks disagree on a collective
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

__all__ = ["OptionValueError", "ProgramError", "SimulationError", "UnknownNameError"]


class SimulationError(ValueError):
    """Raised when nothing can be simulated as asked; the message says what to do instead."""


class UnknownNameError(SimulationError):
    """Raised when a scenario, option or generation has no such name."""

    @classmethod
    def among(cls, word: str, known: Iterable[str], *, kind: str) -> Self:
        """The error for `word`, which is none of `known`, with the nearest of them first.

        Args:
            word: what was asked for.
            known: every name that would have done.
            kind: what the name should have named, for the message.
        """
        names = sorted(known)
        near = difflib.get_close_matches(word, names, n=2, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        return cls(f"unknown {kind} {word!r}.{hint} Known: {', '.join(names)}.")


class OptionValueError(SimulationError):
    """Raised when an option's value makes no program."""


class ProgramError(SimulationError):
    """Raised when a program can't run to its end."""
