"""Critical paths of simulated captures against the execution's own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.identity import pid_of
from critpath.model.taxonomy import Taxonomy
from critpath.rank.critical_path import LINK_KINDS, CriticalPath, critical_path
from critpath.rank.edges import GRADES
from critpath.rank.latencies import latencies
from critpath.rank.process_facts import process_facts
from critpath.rank.process_ops import ProcessOps
from critpath.rank.set_aside import without_damage
from critpath.rank.summary import StepOptions, summarise
from critpath.rank.units import unit_keys, unit_trace
from critpath.sim import Simulation, scenario_names, simulate
from critpath.sim.absence_walk import op_class
from critpath.sim.critical import TrueLink, true_path
from critpath.sim.scenarios import scenario_named
from critpath.sim.traced import traced_ops
from critpath.sim.truth import UnitTruth, truths

FAITHFUL = [name for name in scenario_names() if scenario_named(name).faithful]

BATCHED = ("wsl_batched",)
"""Scenarios in which the capture doesn't hold when an op was handed over."""

_ON_HOST = ("launch", "host", "wait")

Piece = tuple[int, int, tuple[object, ...]]


@dataclass(frozen=True)
class Case:
    """One unit: its path as found, and as it was in each of the windows found."""

    ops: ProcessOps
    path: CriticalPath
    unit: UnitTruth
    true: list[list[TrueLink]]

    def found(self, window: int) -> list[Piece]:
        return [self._piece(i) for i in self._rows(window)]

    def well_known(self, window: int) -> list[bool]:
        """Whether each link of a window is graded better than assumed."""
        return [GRADES[self.path.grade[i]] in ("recorded", "documented", "inferred") for i in self._rows(window)]

    def _rows(self, window: int) -> list[int]:
        return [i for i, w in enumerate(self.path.window.tolist()) if w == window]

    def _piece(self, row: int) -> Piece:
        kind, op = LINK_KINDS[self.path.kind[row]], int(self.path.op[row])
        span = int(self.path.start_ns[row]), int(self.path.end_ns[row])
        if self.path.classes[self.path.class_index[row]] == "uvm":
            return *span, ("uvm",)
        if kind != "op":
            return *span, ("host" if kind in _ON_HOST else kind,)
        return *span, (int(self.ops.device[op]), int(self.ops.start_ns[op]), int(self.ops.end_ns[op]))

    def truth(self, window: int) -> list[Piece]:
        clock = self.unit.run.report.clock

        def piece(link: TrueLink) -> Piece:
            span = clock.on_device(self.unit.device, link.start_ns), clock.on_device(self.unit.device, link.end_ns)
            if link.kind == "op" and link.op is not None and op_class(link.op) == "uvm":
                return *span, ("uvm",)
            if link.kind != "op" or link.op is None:
                return *span, ("host" if link.kind in _ON_HOST else link.kind,)
            device = link.op.stream.device
            return *span, (device, clock.on_device(device, link.op.start_ns), clock.on_device(device, link.op.end_ns))

        return [piece(link) for link in self.true[window]]


def cases(simulation: Simulation) -> Iterator[Case]:
    """Every unit whose windows are the true ones."""
    true = {(f"{u.run.report.name}.sqlite", u.run.process.pid, u.device): u for u in truths(simulation.execution)}
    trace_of_graphs = simulation.job.graph_trace
    for path in simulation.exports:
        trace, _ = without_damage(read_trace(path))
        for key in unit_keys(trace, 0):
            found = summarise(unit_trace(trace, key), Taxonomy.bundled(), StepOptions())
            assert found is not None
            facts = process_facts(trace, key.process, Taxonomy.bundled())
            measured = latencies(facts.ops, facts.ops.device == key.device, facts.known.latest)
            unit = true[path.name, pid_of(key.process), key.device]
            ops = [op for op in traced_ops(unit.run, trace_of_graphs) if op.stream.device == key.device]
            windows = {w.step: (w.start_ns, w.end_ns) for w in unit.period}
            links = [true_path(unit.run, ops, windows[i]) for i in found.windows.index.tolist()]
            yield Case(facts.ops, critical_path(facts, key.device, found.windows, measured), unit, links)


def shared_ns(found: list[Piece], true: list[Piece]) -> int:
    """Time in which both paths say the same."""
    starts = [start for start, _, _ in true]
    total = 0
    for start, end, what in found:
        for begin, stop, said in true[max(bisect_right(starts, start) - 1, 0) :]:
            if begin >= end:
                break
            if said == what:
                total += max(0, min(end, stop) - max(start, begin))
    return total


def share_on_true_path(simulation: Simulation, *, well_known: bool = False) -> float:
    """Share of the paths' time, over all units and windows, that is on the true path.

    Args:
        simulation: what was simulated.
        well_known: count only links that are graded better than assumed.
    """
    same = whole = 0
    for case in cases(simulation):
        for window in range(len(case.true)):
            found, true = case.found(window), case.truth(window)
            assert [a for a, _, _ in found[1:]] == [b for _, b, _ in found[:-1]]
            assert (found[0][0], found[-1][1]) == (true[0][0], true[-1][1])
            if well_known:
                found = [piece for piece, sure in zip(found, case.well_known(window), strict=True) if sure]
            same += shared_ns(found, true)
            whole += sum(end - start for start, end, _ in found)
    return same / whole if whole else 1.0


@pytest.mark.parametrize("scenario", [name for name in FAITHFUL if name not in BATCHED])
def test_path_is_the_true_one(scenario: str, tmp_path: Path) -> None:
    assert share_on_true_path(simulate(scenario, tmp_path)) >= 0.98


@pytest.mark.parametrize("seed", (1, 2))
@pytest.mark.parametrize("scenario", [name for name in FAITHFUL if name not in BATCHED])
def test_path_is_the_true_one_with_other_seeds(scenario: str, seed: int, tmp_path: Path) -> None:
    assert share_on_true_path(simulate(scenario, tmp_path, seed=seed)) >= 0.98


@pytest.mark.parametrize("scenario", BATCHED)
def test_of_batched_launches_only_what_is_well_known_is_true(scenario: str, tmp_path: Path) -> None:
    simulation = simulate(scenario, tmp_path)
    assert share_on_true_path(simulation) < 0.98
    assert share_on_true_path(simulation, well_known=True) >= 0.98


def busiest(case: Case, window: int) -> list[Piece]:
    """The naive path: all ops of the stream that is busy longest, in their order, and gaps between them."""
    ops, windows = case.ops, [(p[0][0], p[-1][1]) for p in (case.truth(w) for w in range(len(case.true)))]
    start, end = windows[window]
    inside = [i for i in range(len(ops)) if ops.device[i] == case.unit.device and start <= ops.start_ns[i] < end]
    work: dict[int, int] = {}
    for i in inside:
        work[int(ops.queue[i])] = work.get(int(ops.queue[i]), 0) + int(ops.end_ns[i] - ops.start_ns[i])
    longest = max(work, key=lambda queue: work[queue])
    return [
        (
            int(ops.start_ns[i]),
            min(int(ops.end_ns[i]), end),
            (int(ops.device[i]), int(ops.start_ns[i]), int(ops.end_ns[i])),
        )
        for i in inside
        if ops.queue[i] == longest
    ]


def test_the_busiest_stream_is_not_the_path(tmp_path: Path) -> None:
    case = next(cases(simulate("copy_engine_queue", tmp_path)))
    true = case.truth(0)
    whole = true[-1][1] - true[0][0]
    assert shared_ns(case.found(0), true) / whole >= 0.98
    assert shared_ns(busiest(case, 0), true) / whole < 0.9
