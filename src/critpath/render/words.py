"""How numbers and foreign text are written for people, everywhere the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from critpath.model.report import Unit
from critpath.model.values import figure

__all__ = ["bar", "by_rank", "count", "printable", "shortened", "size"]

_LONGEST = 4000
_FULL, _EIGHTHS = "█", " ▏▎▍▌▋▊▉"


def count(value: int | None) -> str:
    """A count, thousands separated."""
    return "unknown" if value is None else f"{value:,}"


def size(value: int) -> str:
    """Bytes with three significant digits; decimal units, as rates have."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= scale:
            return f"{figure(value / scale)} {unit}"
    return f"{value} B"


def printable(text: str) -> str:
    """Foreign text without control characters, which could move the cursor or hide what follows.

    Kernel and NVTX names may hold anything; each control, format or unassigned character becomes �.
    """
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else c for c in text)


def shortened(text: str, width: int) -> str:
    """Printable text of at most `width` columns, its middle left out where it is longer.

    Emoji and CJK characters take two columns, combining ones none.
    """
    # A text of any length has its ends in so many characters, combining ones aside.
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}{text[-_LONGEST // 2 :]}"
    text = printable(text)
    if cell_len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    tail = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head).rstrip()}…{tail.lstrip()}"


def bar(share: float, width: int) -> str:
    """A bar of the given share of `width` characters, in eighths; a share that isn't 0 always shows."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_EIGHTHS[rest] if rest else "")


def by_rank(units: Sequence[Unit]) -> list[Unit]:
    """Units by rank, those without one last, in their own order."""
    return sorted(units, key=lambda unit: (unit.rank is None, unit.rank or 0))
