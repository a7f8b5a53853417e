"""Paths as text, for messages and reports, and as identities, for telling files apart."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["identity", "label"]


def label(path: Path) -> str:
    r"""A path as text for people; bytes that are no text become `\xe9`, since a report is UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def identity(path: Path) -> Path:
    """The file that a path leads to, whatever links lie between.

    Unlike `Path.resolve`, this answers for a link that leads to itself; whoever opens it says what is wrong with it.
    """
    return Path(os.path.realpath(path))
