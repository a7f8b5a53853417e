"""What is drawn for a terminal, as plain text of the same width."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, RenderableType

__all__ = ["WIDTH", "plain"]

WIDTH = 80
"""Columns of every text, in any terminal."""


def plain(drawing: RenderableType) -> str:
    """The text of a drawing, without colours or control characters, lines without trailing blanks."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, no_color=True, force_terminal=False, highlight=False)
    console.print(drawing)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
