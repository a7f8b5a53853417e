"""What every trap test needs: a simulated capture, its raw rows, its report."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from critpath.model.report import GuardRow, Report, Unit
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.sim import Simulation, simulate

__all__ = ["Trap", "materially"]

MATERIAL = 0.05
"""A naive figure that is wrong by less would not mislead anyone, so its trap would be none."""


class Trap:
    """A simulated capture whose truth is known, read as a naive tool would and as critpath does."""

    def __init__(self, scenario: str, folder: Path, *, scope: str = "period", **options: Any) -> None:
        self.simulation: Simulation = simulate(scenario, folder, **options)
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


def materially(naive: float, true: float) -> bool:
    """Whether a naive figure is wrong by a material amount."""
    return abs(naive - true) > MATERIAL * abs(true)
