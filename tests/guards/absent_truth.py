"""Why compute was truly absent, over the windows that a trap's report kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from guards.traps import Trap

__all__ = ["Span", "covered_ms", "gaps", "true_blocking_ms", "true_bucket_ms", "true_host_cause_ms"]

Span = tuple[int, int]


def true_bucket_ms(trap: Trap, bucket: str, unit: int = 0) -> float:
    """Mean time an iteration of a bucket, as `blocking` [ms]."""
    windows = trap.windows(unit)
    return sum(w["absent"][f"{bucket}_ns"] for w in windows) / len(windows) / 1e6


def true_blocking_ms(trap: Trap, unit: int = 0) -> dict[str, float]:
    """Mean blocking time an iteration by class [ms]."""
    return _mean_ms(trap, unit, "blocking", "by_class")


def true_host_cause_ms(trap: Trap, unit: int = 0) -> dict[str, float]:
    """Mean launch-starved time an iteration by host cause, with the class awaited behind a colon [ms]."""
    return _mean_ms(trap, unit, "launch_starved", "by_host_cause")


def _mean_ms(trap: Trap, unit: int, bucket: str, key: str) -> dict[str, float]:
    windows, total = trap.windows(unit), Counter[str]()
    for window in windows:
        total.update(window["absent"][bucket][key])
    return {label: ns / len(windows) / 1e6 for label, ns in total.items() if ns}


def gaps(spans: Iterable[Span], start_ns: int, end_ns: int) -> list[Span]:
    """The maximal parts of [start, end) that no span covers, in order."""
    found, reached = [], start_ns
    for start, end in sorted(spans):
        if reached < min(start, end_ns):
            found.append((reached, min(start, end_ns)))
        reached = max(reached, end)
    return [*found, (reached, end_ns)] if reached < end_ns else found


def covered_ms(spans: Iterable[Span], among: Iterable[Span]) -> float:
    """How much of some disjoint spans disjoint others cover [ms]."""
    rows = list(among)
    return sum(max(0, min(end, b) - max(start, a)) for start, end in spans for a, b in rows) / 1e6
