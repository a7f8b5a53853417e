"""What an analysis says of a simulation, laid beside its truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from critpath.ingest.source import find_inputs
from critpath.model.identity import pid_of
from critpath.pipeline.inputs import summarise_input
from critpath.pipeline.options import Options
from critpath.pipeline.summaries import UnitSummary
from critpath.rank.parts import BUCKETS
from critpath.sim import Simulation

__all__ = ["Compared", "compared", "same_windows"]


@dataclass(frozen=True)
class Compared:
    """One unit: totals found and true over the windows that the analysis kept [ns]."""

    unit: UnitSummary
    truth: dict[str, Any]
    windows: list[dict[str, Any]]

    @property
    def absent_ns(self) -> int:
        return sum(w["budget"]["compute_absent_ns"] for w in self.windows)

    def true_buckets(self) -> dict[str, int]:
        return {name: sum(w["absent"][f"{name}_ns"] for w in self.windows) for name in BUCKETS}

    def found_buckets(self) -> dict[str, int]:
        assert self.unit.absence is not None
        return dict(zip(BUCKETS, self.unit.absence.by_window.sum(axis=1).tolist(), strict=True))

    def true_inside(self, bucket: str, key: str) -> dict[str, int]:
        """Totals of what is inside a bucket, as `by_class` of `blocking`."""
        total: Counter[str] = Counter()
        for window in self.windows:
            total.update(window["absent"][bucket][key])
        return {k: v for k, v in total.items() if v}

    def worst(self, found: dict[str, int], true: dict[str, int]) -> float:
        """The largest difference of two sets of totals, as a share of the time without compute."""
        whole = self.absent_ns
        keys = found.keys() | true.keys()
        return max((abs(found.get(k, 0) - true.get(k, 0)) / whole for k in keys), default=0.0) if whole else 0.0


def compared(simulation: Simulation, *, scope: str = "period") -> Iterator[Compared]:
    """Every unit of a simulation whose windows the analysis found."""
    true = {(u["file"], u["pid"], u["device"]): u for u in simulation.truth["units"]}
    for i, file in enumerate(find_inputs([str(path) for path in simulation.exports])):
        source = summarise_input(file, i, Options(strict=True))
        for unit in source.units:
            truth = true[Path(source.path).name, pid_of(unit.key.process), unit.key.device]
            assert unit.summary is not None, unit.failure
            assert unit.summary.windows.kind == "nvtx", unit.summary.windows.text
            steps = {w["step"]: w for w in truth["windows"][scope]}
            yield Compared(unit, truth, [steps[i] for i in unit.summary.windows.index.tolist()])


def same_windows(case: Compared) -> bool:
    """Whether the analysis found the true edges; a capture cut at its start may have lost a step's first op."""
    assert case.unit.summary is not None
    found = case.unit.summary.windows
    edges = list(zip(found.starts_ns.tolist(), found.ends_ns.tolist(), strict=True))
    return edges == [(w["start_ns"], w["end_ns"]) for w in case.windows]
