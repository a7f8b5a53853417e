"""Writes an execution as one SQLite export a report, in the shape of a chosen generation."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from critpath.sim.executed import Execution
from critpath.sim.ncclrows import memberships
from critpath.sim.recording import NcclPayload
from critpath.sim.rows import activity_sheets, end_ns
from critpath.sim.schema import Generation
from critpath.sim.sheets import Capture, Sheet, Strings, Value
from critpath.sim.spoiling import spoiled
from critpath.sim.spoils import Spoil
from critpath.sim.target import target_sheets

__all__ = ["write_exports"]

# The file is written once and from scratch: a crash leaves a file that nobody asked for, so durability buys nothing.
_PRAGMAS = ("journal_mode = off", "synchronous = off", "locking_mode = exclusive", "cache_size = -65536")


def write_exports(
    execution: Execution, out: Path, generation: Generation, *, event_sync_ids: bool = True
) -> list[Path]:
    """Write every report of the job into the folder `out`; the paths in the job's order.

    Args:
        execution: what happened.
        out: folder, which exists. Files of the same names are replaced.
        generation: whose tables, columns and codes to write.
        event_sync_ids: False for a driver that reports none.
    """
    job, paths = execution.job, []
    members = memberships(execution) if job.recording.nccl_payload is not NcclPayload.NONE else {}
    for report in job.reports:
        runs = [run for run in execution.runs if run.report is report]
        capture = Capture(
            runs,
            generation,
            Strings(),
            job.graph_trace,
            event_sync_ids,
            job.recording,
            members,
            batched=bool(job.mechanisms.batch),
        )
        path = out / f"{report.name}.sqlite"
        _write(path, capture, job.spoils)
        paths.append(path)
    return paths


def _write(path: Path, capture: Capture, spoils: Sequence[Spoil]) -> None:
    path.unlink(missing_ok=True)
    sheets = [*activity_sheets(capture), *target_sheets(capture, end_ns(capture), spoils)]
    if spoils:
        sheets = spoiled(sheets, spoils, capture)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for pragma in _PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
        database.execute("BEGIN")
        database.execute(capture.generation.statement("StringIds"))
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", capture.strings.rows())
        for table in dict.fromkeys(sheet.table for sheet in sheets):
            database.execute(capture.generation.statement(table))
        for sheet in sheets:
            database.executemany(_insertion(capture.generation, sheet), sheet.rows)
        database.execute("COMMIT")


def _insertion(generation: Generation, sheet: Sheet) -> str:
    """The statement that inserts the sheet's rows; columns unknown to the generation are left out.

    Constants stand in the statement itself, which is far cheaper than binding them for every row. A row's last column
    must exist in every generation, since parameters are numbered up to it.
    """
    places = {column: f"?{place}" for place, column in enumerate(sheet.columns, start=1)}
    values = [places.get(column) or _literal(sheet.constants.get(column)) for column in generation.columns(sheet.table)]
    return f'INSERT INTO "{sheet.table}" VALUES ({", ".join(values)})'  # noqa: S608 - our own names and constants


def _literal(value: Value) -> str:
    """A constant as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
