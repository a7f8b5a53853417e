"""What can happen to rows between the profiler and the file. Each is told to a `Job`; none changes its truth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "DEVICE_TABLES",
    "Damage",
    "DamagedTimes",
    "Diagnostic",
    "LostProcess",
    "LostRows",
    "LostTable",
    "Slice",
    "Spoil",
]

DEVICE_TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)


class Damage(StrEnum):
    """What becomes of a row's start and end."""

    ZERO = "zero"
    """Both are 0: no timing could be collected."""
    REVERSED = "reversed"
    """They change places."""
    MINIMUM = "minimum"
    """Both are the smallest 64-bit number."""
    FAR = "far"
    """Both are 1e14 ns too late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRows:
    """Rows that vanish by chance, each with the same probability."""

    share: float
    tables: tuple[str, ...] = DEVICE_TABLES
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTable:
    """A table that the file lacks."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostProcess:
    """A process whose device rows are missing: nobody recorded its device."""

    report: str
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A file cut out of a longer one, a time after the beginning of a step.

    What ended before the cut is gone. Calls, ranges and synchronizations that began before it are gone too, so device
    work in flight at the cut has no launch.
    """

    step: int
    after_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedTimes:
    """Rows, evenly spread over a table, whose times are wrong; every 100th is `every=100`."""

    damage: Damage
    every: int
    table: str = DEVICE_TABLES[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A message of the profiler about the capture. Generations before 2024.2 have no table for it."""

    text: str
    severity: int = 2
    source: int = 1
    timestamp_type: int = 1
    scope: str = "process"
    """"process" for the first process of each report, "all" for each process, "none" for no process."""


Spoil = LostRows | LostTable | LostProcess | Slice | DamagedTimes | Diagnostic
