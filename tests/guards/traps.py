"""What every trap test needs: a simulated capture, its raw rows, its report."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from critpath.model.report import GuardRow, Report, Unit
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.sim import Simulation, simulate

__all__ = ["Edit", "Trap", "materially", "named", "string_id", "union_ms"]

Edit = Callable[[sqlite3.Connection], None]

MATERIAL = 0.05
"""A naive figure that is wrong by less would not mislead anyone, so its trap would be none."""


class Trap:
    """A simulated capture whose truth is known, read as a naive tool would and as critpath does.

    Args:
        scenario: name of the scenario.
        folder: where its exports go.
        scope: scope of the windows.
        edit: what is done to each export before anything reads it, for what the simulator has no mechanism for.
        options: of the scenario.
    """

    def __init__(
        self, scenario: str, folder: Path, *, scope: str = "period", edit: Edit | None = None, **options: Any
    ) -> None:
        self.simulation: Simulation = simulate(scenario, folder, **options)
        for export in self.simulation.exports if edit else ():
            with closing(sqlite3.connect(export)) as db, db:
                edit(db)  # type: ignore[misc]
        self.report: Report = analyze(self.simulation.exports, Options(step=step_options(scope=scope)))
        self.scope = scope

    def rows(self, sql: str, *values: object, export: int = 0) -> list[tuple[Any, ...]]:
        """Rows of an export, as a tool that reads SQL would see them."""
        with sqlite3.connect(f"file:{self.simulation.exports[export]}?mode=ro", uri=True) as db:
            found = db.execute(sql, values).fetchall()
        db.close()
        return found

    def windows(self, unit: int = 0) -> list[dict[str, Any]]:
        """The true windows of a unit that the report kept, in order."""
        kept = self.unit(unit).window
        assert kept is not None
        true = self.simulation.truth["units"][unit]["windows"][self.scope]
        edges = set(kept.edges_ns)
        chosen = [w for w in true if (w["start_ns"], w["end_ns"]) in edges]
        assert len(chosen) == kept.n, "the report's windows are not the true ones"
        return chosen

    def unit(self, unit: int = 0) -> Unit:
        """A unit of the report."""
        return self.report.units[unit]

    def guard(self, guard: str) -> GuardRow:
        """The report's row of a guard."""
        return next(row for row in self.report.guards if row.id == guard)

    def mean_ms(self, quantity: str, unit: int = 0) -> float:
        """The true mean of a budget quantity over the windows kept."""
        values = [w["budget"][quantity] for w in self.windows(unit)]
        return sum(values) / len(values) / 1e6


def union_ms(spans: Iterable[tuple[int, int]], windows: list[dict[str, Any]]) -> float:
    """Time an iteration in which at least one span lasted [ms], one instant after another."""
    covered = 0
    for window in windows:
        last = window["start_ns"]
        for start, end in sorted(spans):
            begin, until = max(start, last), min(end, window["end_ns"])
            if until > begin:
                covered += until - begin
                last = until
    return covered / len(windows) / 1e6


def string_id(db: sqlite3.Connection, text: str) -> int:
    """The id of a text in StringIds, made where there is none."""
    known = db.execute("SELECT id FROM StringIds WHERE value = ?", (text,)).fetchone()
    if known:
        return int(known[0])
    new = int(db.execute("SELECT max(id) + 1 FROM StringIds").fetchone()[0])
    db.execute("INSERT INTO StringIds VALUES (?, ?)", (new, text))
    return new


def named(db: sqlite3.Connection, name: str, where: str, *values: object) -> int:
    """Kernels that a condition selects get a name in all its forms; how many they are."""
    new = string_id(db, name)
    sql = f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = ?, shortName = ?, mangledName = ? WHERE {where}"
    return db.execute(sql, (new, new, new, *values)).rowcount


def materially(naive: float, true: float) -> bool:
    """Whether a naive figure is wrong by a material amount."""
    return abs(naive - true) > MATERIAL * abs(true)
