"""`critpath simulate`: nsys-shaped exports with their truth."""

from __future__ import annotations

from pathlib import Path

from critpath.adapters.output import print_note, print_result
from critpath.base.errors import OptionError
from critpath.sim import Simulation, SimulationError, scenario_names
from critpath.sim import simulate as run_simulation

__all__ = ["simulate", "simulated"]


def simulate(
    scenario: str,
    /,
    *,
    out: Path,
    ranks: int | None = None,
    seed: int = 0,
    generation: str = "2026.2",
) -> int:
    """Write the exports of a simulated job, with the truth of its execution beside them.

    Args:
        scenario: one of the scenarios; an unknown name lists them.
        out: folder for the exports and truth.json; created if absent.
        ranks: ranks of the job; by default the scenario's own number.
        seed: another job of the same kind.
        generation: nsys version whose schema is written: 2022.1, 2024.6, 2025.3, 2025.6 or 2026.2.
    """
    simulation = simulated(scenario, out, seed=seed, ranks=ranks, generation=generation)
    for path in simulation.exports:
        print_result(str(path))
    print_note(f"truth: {out / 'truth.json'}")
    return 0


def simulated(
    scenario: str, out: Path, *, seed: int, ranks: int | None = None, generation: str = "2026.2"
) -> Simulation:
    """A simulation written to a folder.

    Raises:
        OptionError: no such scenario or generation, or a value that makes no job.
    """
    try:
        return run_simulation(scenario, out, seed=seed, ranks=ranks, generation=generation)
    except SimulationError as fault:
        raise OptionError(
            str(fault),
            where="simulate",
            meaning="Nothing was simulated.",
            remedy=f"Scenarios: {', '.join(scenario_names())}.",
        ) from fault
