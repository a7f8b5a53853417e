"""What goes into an export before it has a file: sheets of rows, the string table, and whose capture it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from critpath.sim.executed import ProcessRun
from critpath.sim.program import Clock
from critpath.sim.recording import Recording
from critpath.sim.schema import Generation

__all__ = ["Capture", "Row", "Sheet", "Strings", "Value"]

Value = int | float | str | bytes | None
Row = tuple[Value, ...]


class Strings:
    """The report's string table; ids in the order of first use."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"GpuMetrics": 0}

    def id(self, text: str) -> int:
        """The id of `text`."""
        return self._ids.setdefault(text, len(self._ids))

    def rows(self) -> list[Row]:
        """The table, in id order."""
        return [(number, text) for text, number in self._ids.items()]


class Sheet(NamedTuple):
    """Rows for one table: `columns` name what each row holds; other columns take a constant or stay NULL."""

    table: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    constants: dict[str, Value]


@dataclass(slots=True)
class Capture:
    """What is written into one export: the runs of its processes and how it names things."""

    runs: Sequence[ProcessRun]
    generation: Generation
    strings: Strings
    graph_trace: str
    event_sync_ids: bool = True
    recording: Recording = field(default_factory=Recording)
    members: Mapping[tuple[int, int, str], int] = field(default_factory=dict)
    """Rank within a communicator, by the run's `id`, device and the communicator's name."""
    batched: bool = False
    """Whether the driver hands launches over in batches, as that of WSL."""
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = self.runs[0].report.clock
