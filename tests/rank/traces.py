"""Traces built row by row, for what a simulated capture never shows: damaged, partial and contradictory ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from critpath.ingest.schema import EXPECTED_TABLES
from critpath.model.identity import NULL, process_of
from critpath.model.tables import (
    Copies,
    Diagnostics,
    EventRecords,
    GraphLaunches,
    Kernels,
    Memsets,
    NvtxRanges,
    Overheads,
    RuntimeCalls,
    SyncShape,
    SyncWaits,
)
from critpath.model.trace import Source, Strings, Trace

RANK = 1 << 24 | 100
OTHER_RANK = 1 << 24 | 200
LAUNCHER = 1 << 24 | 300

HOST_ANALYSIS, DAEMON = -144115188075855872, 281474976710656
ALL_TABLES = dict.fromkeys(EXPECTED_TABLES, 1)


def session_process(global_pid: int) -> int:
    """The process key of one of the profiler's own ids."""
    return int(process_of(np.array([global_pid], np.int64))[0])


@dataclass
class TraceBuilder:
    """Rows of a capture, added one by one; each call takes the next 10 ns and correlation id of its process."""

    rows: Mapping[str, int] = field(default_factory=lambda: dict(ALL_TABLES))
    source: Source = field(default_factory=lambda: Source(path="rank0.sqlite", kind="sqlite", bytes=1))
    options: Mapping[str, str] = field(default_factory=dict)
    mistyped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.strings = Strings({})
        self.now = 0
        self.tables: dict[type, list[dict[str, int]]] = {}

    def add(self, table: type, **columns: int) -> None:
        self.tables.setdefault(table, []).append(columns)

    def call(self, name: str, process: int = RANK, **columns: int) -> int:
        """One API call; its correlation id."""
        self.now += 10
        correlation = len(self.tables.get(RuntimeCalls, ())) + 1
        row = {"start_ns": self.now, "end_ns": self.now + 5, "thread": process << 24, "result": 0} | columns
        self.add(RuntimeCalls, process=process, correlation=correlation, name=self.strings.intern(name), **row)
        return correlation

    def kernel(self, correlation: int, process: int = RANK, **columns: int) -> None:
        row = {"start_ns": self.now + 5, "end_ns": self.now + 9, "device": 0, "context": 1, "stream": 7} | columns
        self.add(Kernels, process=process, correlation=correlation, **row)

    def launch(self, process: int = RANK, **columns: int) -> None:
        """A launch call with its kernel."""
        self.kernel(self.call("cudaLaunchKernel_v7000", process, **columns), process)

    def graph(self, correlation: int, process: int = RANK) -> None:
        """A graph traced as one row."""
        row = {"start_ns": self.now, "end_ns": self.now + 9, "device": 0, "context": 1, "stream": 7}
        self.add(GraphLaunches, process=process, correlation=correlation, graph=1, graph_exec=1, **row)

    def stream_wait(self, event: int, event_sync: int = 0, process: int = RANK) -> None:
        correlation = self.call("cudaStreamWaitEvent_v3020", process)
        row: dict[str, int] = {"start_ns": self.now, "end_ns": self.now + 5, "context": 1, "stream": 7}
        row |= {"shape": SyncShape.STREAM_WAIT, "event": event}
        if event_sync:
            row["event_sync"] = event_sync
        self.add(SyncWaits, process=process, correlation=correlation, **row)

    def record(self, event: int, event_sync: int = 0, process: int = RANK) -> None:
        row = {"event_sync": event_sync} if event_sync else {}
        self.add(EventRecords, process=process, context=1, stream=7, event=event, **row)

    def says(self, text: str, process: int = RANK, severity: int = 1, **columns: int) -> None:
        """A message of the profiler."""
        row = {"time_ns": 0, "clock": 1, "source": 3} | columns
        self.add(Diagnostics, process=process, severity=severity, text=self.strings.intern(text), **row)

    def build(self) -> Trace:
        return Trace(
            source=self.source,
            strings=self.strings,
            kernels=self._table(Kernels),
            copies=self._table(Copies),
            memsets=self._table(Memsets),
            graph_launches=self._table(GraphLaunches),
            runtime_calls=self._table(RuntimeCalls),
            sync_waits=self._table(SyncWaits),
            event_records=self._table(EventRecords),
            nvtx_ranges=self._table(NvtxRanges),
            overheads=self._table(Overheads),
            diagnostics=self._table(Diagnostics),
            rows=self.rows,
            mistyped=self.mistyped,
            capture_options=self.options,
        )

    def _table(self, kind: type) -> Any:
        """The rows added; a column that only some rows gave is NULL in the others."""
        rows = self.tables.get(kind, [])
        if not rows:
            return kind.empty()  # type: ignore[attr-defined]
        columns: Sequence[str] = sorted({column for row in rows for column in row})
        return kind.of(**{c: [row.get(c, NULL) for row in rows] for c in columns})  # type: ignore[attr-defined]
