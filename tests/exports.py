"""Minimal nsys-shaped SQLite files of any schema generation, from plain rows.

    export = Export("2022.1")
    export.call(1_000, 2_000, corr=7)
    export.kernel(3_000, 9_000, corr=7)
    export.add("MPI_RANKS", globalTid=tid(4242), rank=3)
    path = export.write(tmp_path / "a.sqlite")

Rows name the newest generation's columns; what a generation lacks is left out, what a row doesn't say is NULL, or 0 or
"" where the column may not be NULL. Tables without rows are absent, as the profiler leaves them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

Value = int | float | str | bytes | None
Row = dict[str, Value]

GENERATIONS = (
    "2020", "2021", "2022.1", "2022.4", "2023.1", "2023.3", "2024.2", "2024.5", "2024.6", "2025.1", "2025.3", "2025.5",
    "2025.6", "2026.1", "2026.2", "2026.4",
)  # fmt: skip
"""2020 and 2021 carry no version of themselves."""

NO_ID = 4_294_967_295
PID = 4242

_TYPES = {"I": "INTEGER", "T": "TEXT", "F": "REAL"}
_COLUMN = re.compile(r"(\w+) ([ITF])(!?)(\*?)(?: >=([\d.]+))?(?: <([\d.]+))?")

_OP = "start I! end I! deviceId I! contextId I! greenContextId I >=2024.2 streamId I! correlationId I globalPid I"
_TARGET = "hwId I! vmId I! processId I!"

TABLES: Mapping[str, str] = {
    "StringIds": "id I!* value T!",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"""{_OP} demangledName I! shortName I! mangledName I >=2022.1 launchType I
        gridX I! gridY I! gridZ I! blockX I! blockY I! blockZ I! gridId I! graphNodeId I graphId I >=2025.5""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"""{_OP} bytes I! copyKind I! deprecatedSrcId I srcKind I dstKind I srcDeviceId I
        srcContextId I dstDeviceId I dstContextId I migrationCause I >=2021 graphNodeId I copyCount I >=2025.1""",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_OP} value I! bytes I! graphNodeId I memKind I",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_OP} graphId I! graphExecId I!",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """start I! end I! eventClass I! globalTid I correlationId I nameId I! returnValue I!
        callchainId I >=2021""",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"""{_OP} deprecatedSyncType I >=2025.1 syncType I! eventId I!
        eventSyncId I >=2025.1""",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": """timestamp I >=2025.5 deviceId I! contextId I! greenContextId I >=2025.1
        streamId I! correlationId I globalPid I eventId I! eventSyncId I >=2025.1""",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": """start I! end I! eventClass I! globalTid I correlationId I nameId I
        overheadType I!""",
    "PROFILER_OVERHEAD": """start I! end I! globalTid I nameId I! overheadType I! >=2025.5 correlationId I <2022.1
        returnValue I! <2025.5""",
    "NVTX_EVENTS": """start I! end I eventType I! rangeId I category I color I text T globalTid I endGlobalTid I
        textId I domainId I uint64Value I jsonText T binaryData T >=2025.1""",
    "NVTX_PAYLOAD_SCHEMAS": "domainId I schemaId I name T type I flags I numEntries I payloadSize I alignTo I",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": """domainId I! schemaId I! idx I! flags I type I name T description T
        arrayOrUnionDetail I offset I""",
    "DIAGNOSTIC_EVENT": "timestamp I! timestampType I! source I! severity I! text T! globalPid I",
    "PROCESSES": "globalPid I pid I name T",
    "MPI_RANKS": "globalTid I! rank I!",
    "TARGET_INFO_GPU": """vmId I! id I! name T busLocation T isDiscrete I smCount I uuid T chipName T
        cuDevice I""",
    "TARGET_INFO_CUDA_DEVICE": "gpuId I cudaId I! pid I! uuid T >=2025.6 numMultiprocessors I >=2025.6",
    "TARGET_INFO_CUDA_CONTEXT_INFO": f"nullStreamId I! {_TARGET} deviceId I! contextId I! parentContextId I",
    "TARGET_INFO_CUDA_NULL_STREAM": f"streamId I! {_TARGET} deviceId I! contextId I!",
    "TARGET_INFO_CUDA_STREAM": f"streamId I! {_TARGET} contextId I! priority I! flag I!",
    "TARGET_INFO_NVTX_CUDA_DEVICE": "name T! hwId I! vmId I! deviceId I!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs I utcTime T localTime T systemClockNs I >=2025.6",
    "TARGET_INFO_SYSTEM_ENV": "globalVid I devStateName T! name T! nameEnum I! value T!",
    "ANALYSIS_DETAILS": "globalVid I! duration I! startTime I! stopTime I!",
    "META_DATA_EXPORT": "name T! value T",
    "EXPORT_META_DATA": "name T! value T",
    "META_DATA_CAPTURE": "name T! value T",
}
"""Columns in the order real exports declare them: name, type, ! for NOT NULL, * for the key, versions that have it."""


def gpid(pid: int, *, vm: int = 1, hardware: int = 0) -> int:
    """A serialized process id, signed as SQLite stores it."""
    whole = (hardware << 56) | (vm << 48) | (pid << 24)
    return whole - 2**64 if whole >= 2**63 else whole


def tid(pid: int, thread: int | None = None, *, vm: int = 1, hardware: int = 0) -> int:
    """A serialized thread id; the main thread has the number of its process."""
    return gpid(pid, vm=vm, hardware=hardware) | (pid if thread is None else thread)


class Export:
    """One export in the making.

    Args:
        generation: one of `GENERATIONS`.
        loose: write columns without types and constraints, as third-party slicers do.
    """

    def __init__(self, generation: str = "2026.2", *, loose: bool = False) -> None:
        self.version = _version(generation)
        self.loose = loose
        self.rows: dict[str, list[Row]] = {}
        self.strings: dict[str, int] = {}
        self.declared: dict[str, str] = {}
        self.statements: list[str] = []
        if self.version >= (2022, 1):
            name = "META_DATA_EXPORT" if self.version >= (2023, 3) else "EXPORT_META_DATA"
            self.add(name, name="EXPORT_PRODUCT_VERSION", value=f"{generation}.1.1")

    def string(self, text: str) -> int:
        """The id of a text in StringIds."""
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table: str, **cells: Value) -> None:
        """A row of any table."""
        self.rows.setdefault(table, []).append(cells)

    def _op(self, table: str, start: Value, end: Value, pid: int, cells: Row) -> None:
        place: Row = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": gpid(pid)}
        self.add(f"CUPTI_ACTIVITY_KIND_{table}", **(place | {"start": start, "end": end} | cells))

    def kernel(
        self, start: Value, end: Value, *, corr: Value = 0, pid: int = PID, name: str = "gemm", **cells: Value
    ) -> None:
        """A kernel of one block."""
        of_one = dict.fromkeys(("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"), 1)
        names = {"demangledName": self.string(name), "shortName": self.string(name)}
        self._op("KERNEL", start, end, pid, {"correlationId": corr} | of_one | names | cells)

    def copy(self, start: Value, end: Value, *, corr: Value = 0, pid: int = PID, **cells: Value) -> None:
        """A copy from pinned to device memory."""
        kinds: Row = {"bytes": 1_000, "copyKind": 1, "srcKind": 1, "dstKind": 2}
        self._op("MEMCPY", start, end, pid, {"correlationId": corr} | kinds | cells)

    def sync(
        self, start: Value, end: Value, *, stream: Value = NO_ID, event: Value = NO_ID, pid: int = PID, **cells: Value
    ) -> None:
        """A synchronization row; its shape is that of its ids."""
        self._op("SYNCHRONIZATION", start, end, pid, {"streamId": stream, "eventId": event} | cells)

    def call(
        self, start: Value, end: Value, *, corr: Value = 0, pid: int = PID, name: str = "cudaLaunchKernel_v7000",
        **cells: Value,
    ) -> None:  # fmt: skip
        """An API call of the process' main thread."""
        row: Row = {"start": start, "end": end, "globalTid": tid(pid), "correlationId": corr}
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", **(row | {"nameId": self.string(name)} | cells))

    def launched(self, start: int, end: int, *, corr: int, pid: int = PID, lag: int = 10_000, **cells: Value) -> None:
        """A kernel and the call that launched it."""
        self.call(start - lag, start - lag // 2, corr=corr, pid=pid)
        self.kernel(start, end, corr=corr, pid=pid, **cells)  # type: ignore[arg-type]

    def nvtx(self, start: Value, end: Value, text: Value, *, pid: int = PID, kind: int = 59, **cells: Value) -> None:
        """A range of the main thread with its text inline."""
        row: Row = {"start": start, "end": end, "text": text, "eventType": kind, "globalTid": tid(pid), "domainId": 0}
        self.add("NVTX_EVENTS", **(row | cells))

    def capture(self, name: str, value: Value) -> None:
        """A row of what the export says of its capture."""
        self.add("META_DATA_CAPTURE", name=name, value=value)

    def environment(self, **variables: str) -> None:
        """Variables of the launched process."""
        for name, value in variables.items():
            self.capture("PROCESS_0:ENVIRONMENT_VARIABLE", f"{name}={value}")

    def write(self, path: Path) -> Path:
        """Write the file and give its path."""
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("BEGIN")
            own: list[Row] = [{"id": number, "value": text} for text, number in self.strings.items()]
            texts = {"StringIds": [*own, *self.rows.get("StringIds", [])]} if own or "StringIds" in self.rows else {}
            for table, rows in (self.rows | texts).items():
                self._write(database, table, rows)
            for statement in self.statements:
                database.execute(statement)
            database.execute("COMMIT")
        return path

    def _write(self, database: sqlite3.Connection, table: str, rows: list[Row]) -> None:
        columns = self._columns(table)
        declared = ", ".join(f'"{c}"' if self.loose else f'"{c}" {kind}' for c, (kind, _) in columns.items())
        database.execute(f'CREATE TABLE "{table}" ({declared})')
        places = ", ".join("?" for _ in columns)
        database.executemany(
            f'INSERT INTO "{table}" VALUES ({places})',
            [[_cell(row, c, absent, loose=self.loose) for c, (_, absent) in columns.items()] for row in rows],
        )

    def _columns(self, table: str) -> dict[str, tuple[str, Value]]:
        """Column → (its type, what it holds where a row doesn't say)."""
        found: dict[str, tuple[str, Value]] = {}
        for name, kind, required, key, since, until in _COLUMN.findall(self.declared.get(table, TABLES.get(table, ""))):
            if (since and self.version < _version(since)) or (until and self.version >= _version(until)):
                continue
            suffix = " NOT NULL" * bool(required) + " PRIMARY KEY" * bool(key)
            found[name] = (_TYPES[kind] + suffix, ("" if kind == "T" else 0) if required else None)
        return found


def _cell(row: Row, column: str, absent: Value, *, loose: bool) -> Value:
    return row.get(column, None if loose else absent)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
