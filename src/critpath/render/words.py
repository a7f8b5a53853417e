"""How numbers and foreign text are written for people, everywhere the same."""

from __future__ import annotations

import math
import unicodedata

__all__ = ["bar", "count", "figure", "percent", "printable", "shortened", "size"]

_FULL, _EIGHTHS = "█", " ▏▎▍▌▋▊▉"


def figure(value: float | None) -> str:
    """A quantity with three significant digits, thousands separated; never rounded to 0 unless it is 0."""
    if value is None:
        return "unknown"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def percent(share: float | None) -> str:
    """A ratio in percent; what is not 0 or 100 % never reads so."""
    if share is None:
        return "unknown"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


def count(value: int | None) -> str:
    """A count, thousands separated."""
    return "unknown" if value is None else f"{value:,}"


def size(value: int) -> str:
    """Bytes in the unit that leaves at most three digits before the point; decimal units, as rates have."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= scale:
            return f"{value / scale:,.3g} {unit}" if value < 1000 * scale else f"{value / scale:,.0f} {unit}"
    return f"{value} B"


def printable(text: str) -> str:
    """Foreign text without control characters, which could move the cursor or hide what follows.

    Kernel and NVTX names may hold anything; each control, format or unassigned character becomes �.
    """
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else c for c in text)


def shortened(text: str, width: int) -> str:
    """Printable text of at most `width` characters, its middle left out where it is longer."""
    text = printable(text)
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def bar(share: float, width: int) -> str:
    """A bar of the given share of `width` characters, in eighths; a share that isn't 0 always shows."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if share > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_EIGHTHS[rest] if rest else "")
