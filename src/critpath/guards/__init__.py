"""The 32 guards: one file each, whose docstring is its page."""

from critpath.guards.outcome import Outcome
from critpath.guards.registry import Guard, guard, guard_all, guards

__all__ = ["Guard", "Outcome", "guard", "guard_all", "guards"]
