"""A simulator of distributed GPU training that writes nsys-shaped exports with the truth beside them.

    simulation = simulate("data_parallel", Path("demo"), ranks=4, slow_rank=2)
    simulation.exports          # one SQLite file a report
    simulation.truth["units"]   # what an analysis should find, also in demo/truth.json
    simulation.step_times_ns(Removal(slowdown_of=frozenset({2})))   # the same job without its slow rank

It is the judge of the analysis and imports nothing of it.
"""

from __future__ import annotations

from critpath.sim.errors import OptionValueError, ProgramError, SimulationError, UnknownNameError
from critpath.sim.removal import Removal
from critpath.sim.scenarios import Scenario, scenario_named
from critpath.sim.schema import GENERATIONS
from critpath.sim.simulation import Simulation, scenario_names, simulate, write_job

__all__ = [
    "GENERATIONS",
    "OptionValueError",
    "ProgramError",
    "Removal",
    "Scenario",
    "Simulation",
    "SimulationError",
    "UnknownNameError",
    "scenario_named",
    "scenario_names",
    "simulate",
    "write_job",
]
