"""The scenarios by name. A new one is a module with a `SCENARIO`, and a line here."""

from __future__ import annotations

from critpath.sim.errors import UnknownNameError
from critpath.sim.scenarios import data_parallel
from critpath.sim.scenarios.scenario import Options, Scenario

__all__ = ["SCENARIOS", "Options", "Scenario", "scenario_named"]

SCENARIOS: dict[str, Scenario] = {module.SCENARIO.name: module.SCENARIO for module in (data_parallel,)}


def scenario_named(name: str) -> Scenario:
    """The scenario called `name`.

    Raises:
        UnknownNameError: when there is none.
    """
    try:
        return SCENARIOS[name]
    except KeyError:
        raise UnknownNameError.among(name, SCENARIOS, kind="scenario") from None
