"""Writes an execution as one SQLite export a report, in the shape of a chosen generation."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from critpath.sim.executed import Execution, ProcessRun
from critpath.sim.program import Report
from critpath.sim.rows import Capture, Sheet, Strings, Value, activity_sheets, end_ns
from critpath.sim.schema import Generation
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
    paths = []
    for report in execution.job.reports:
        runs = [run for run in execution.runs if run.report is report]
        path = out / f"{report.name}.sqlite"
        _write(path, report, runs, execution.job.graph_trace, generation, event_sync_ids)
        paths.append(path)
    return paths


def _write(  # noqa: PLR0913, PLR0917 - one export is all of these
    path: Path, report: Report, runs: list[ProcessRun], graph_trace: str, generation: Generation, event_sync_ids: bool
) -> None:
    path.unlink(missing_ok=True)
    capture = Capture(runs, generation, Strings(), graph_trace, event_sync_ids)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for pragma in _PRAGMAS:
            database.execute(f"PRAGMA {pragma}")
        database.execute("BEGIN")
        # Exports declare the string table first though it is known last, so it is filled at the end.
        database.execute(generation.statement("StringIds"))
        for sheet in (*activity_sheets(capture), *target_sheets(capture, end_ns(capture))):
            database.execute(generation.statement(sheet.table))
            database.executemany(_insertion(generation, sheet), sheet.rows)
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", capture.strings.rows())
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
