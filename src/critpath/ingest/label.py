"""Paths as text, for messages and reports."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["label"]


def label(path: Path) -> str:
    r"""A path as text for people; bytes that are no text become `\xe9`, since a report is UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
