"""Comparisons of figures that were rounded by division, to the nanosecond."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["TOLERANCE_MS", "at_most", "equal"]

TOLERANCE_MS = 1e-6
"""Figures that differ by less are equal: 1 ns [ms]."""


def equal(name: str, value: float, other_name: str, other: float) -> Iterator[str]:
    """A sentence where two figures differ."""
    if abs(value - other) > TOLERANCE_MS:
        yield f"{name} {value:.6f} must equal {other_name} {other:.6f}"


def at_most(name: str, value: float | None, other_name: str, other: float | None) -> Iterator[str]:
    """A sentence where the first figure exceeds the second; none where either is not known."""
    if value is not None and other is not None and value > other + TOLERANCE_MS:
        yield f"{name} {value:.6f} must be at most {other_name} {other:.6f}"
