"""What a scenario is: a name, options with defaults, and a function from options to a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from critpath.sim.errors import OptionValueError, UnknownNameError
from critpath.sim.program import Job
from critpath.sim.recording import NcclPayload

__all__ = ["FIRST_ITERATION", "Options", "Scenario"]

FIRST_ITERATION = 10
"""Number of the first step range: captures begin in the middle of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What every scenario can be told; a scenario's own options extend these."""

    seed: int = 0
    """Varies durations, never the structure."""
    ranks: int = 1
    steps: int = 6
    graph_trace: str = "node"
    """How CUDA graphs are traced: "node" or "graph"."""
    nccl_payload: str = "none"
    """What the export holds of the payloads of NCCL's ranges: "none", "schemas" or "blobs"."""

    def __post_init__(self) -> None:
        if self.ranks < 1 or self.steps < 1:
            raise OptionValueError(f"ranks and steps must be at least 1, not {self.ranks} and {self.steps}")
        if self.graph_trace not in ("node", "graph"):
            raise OptionValueError(f"graph_trace must be node or graph, not {self.graph_trace!r}")
        if self.nccl_payload not in list(NcclPayload):
            raise OptionValueError(f"nccl_payload must be none, schemas or blobs, not {self.nccl_payload!r}")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A kind of training job that can be simulated."""

    name: str
    summary: str
    options: type[Options]
    job: Callable[[Any], Job]
    has_steps: bool = True
    """Whether NVTX ranges show every step."""
    faithful: bool = True
    """Whether, with default options, the export shows the execution as it was: no row is lost, damaged or shifted."""

    def program(self, options: Options) -> Job:
        """The job that `options` describe, with what every scenario can be told."""
        job = self.job(options)
        return replace(job, recording=replace(job.recording, nccl_payload=NcclPayload(options.nccl_payload)))

    def defaults(self) -> dict[str, object]:
        """Every option's name and default."""
        return {f.name: None if f.default is MISSING else f.default for f in fields(self.options)}

    def chosen(self, **values: object) -> Options:
        """Options with `values` in place of their defaults.

        Raises:
            UnknownNameError: for an option this scenario doesn't have.
            OptionValueError: for a value it can't take.
        """
        defaults = self.defaults()
        for name, value in values.items():
            if name not in defaults:
                raise UnknownNameError.among(name, defaults, kind=f"option of scenario {self.name}")
            default = defaults[name]
            wanted = (int, float) if isinstance(default, float) else type(default)
            if default is not None and (
                not isinstance(value, wanted) or isinstance(value, bool) != isinstance(default, bool)
            ):
                raise OptionValueError(f"{name} of scenario {self.name} is like {default!r}, not {value!r}")
        return self.options(**values)  # type: ignore[arg-type]
