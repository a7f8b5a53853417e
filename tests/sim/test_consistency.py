"""The export, the truth and the causal record of one simulation tell the same story."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import Simulation, simulate
from critpath.sim.scenarios import SCENARIOS

CASES = [(name, {}) for name, scenario in SCENARIOS.items() if scenario.faithful] + [
    ("launch_bound", {"graphs": True}),
    ("launch_bound", {"graphs": True, "graph_trace": "graph"}),
    ("data_parallel", {"slow_rank": 1}),
]
DEVICE_TABLES = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join([case[0], *case[1]]))
def simulation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    scenario, options = request.param
    return simulate(scenario, tmp_path_factory.mktemp("sim"), steps=3, **options)


def device_spans(path: Path, pid: int, device: int) -> list[tuple[int, int]]:
    """Start and end of every device row of a unit."""
    with closing(sqlite3.connect(path)) as database:
        there = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        return [
            row
            for table in DEVICE_TABLES
            if f"CUPTI_ACTIVITY_KIND_{table}" in there
            for row in database.execute(
                f"""SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_{table}
                    WHERE globalPid >> 24 & 16777215 = {pid} AND deviceId = {device}"""
            )
        ]


def covered_ns(spans: list[tuple[int, int]], window: tuple[int, int]) -> int:
    """Time of `window` in which at least one span runs."""
    total, reached = 0, window[0]
    for start_ns, end_ns in sorted(spans):
        begin, end = max(start_ns, reached), min(end_ns, window[1])
        if end > begin:
            total += end - begin
            reached = end
    return total


def test_the_rows_give_the_truth_s_busy_time(simulation: Simulation) -> None:
    for unit in simulation.truth["units"]:
        spans = device_spans(simulation.truth_path.parent / unit["file"], unit["pid"], unit["device"])
        for scope in ("period", "range"):
            for window in unit["windows"][scope]:
                busy_ns = covered_ns(spans, (window["start_ns"], window["end_ns"]))
                assert busy_ns == window["budget"]["device_busy_ns"]


def test_windows_open_where_a_compute_row_starts(simulation: Simulation) -> None:
    for unit in simulation.truth["units"]:
        starts = {
            start for start, _ in device_spans(simulation.truth_path.parent / unit["file"], unit["pid"], unit["device"])
        }
        assert {window["start_ns"] for scope in unit["windows"].values() for window in scope} <= starts


def test_every_start_is_explained_to_the_nanosecond(simulation: Simulation) -> None:
    causes: Any = json.loads(simulation.causes_path.read_text(encoding="utf-8"))
    ops, edges = causes["ops"], causes["edges"]
    explained = list(ops["ready_ns"])
    for op, kind, end_ns, delay_ns in zip(
        edges["op"], edges["kind"], edges["producer_end_ns"], edges["delay_ns"], strict=True
    ):
        if kind != "collective_peer":
            explained[op] = max(explained[op], end_ns + delay_ns)
    graphs = [place for place, kind in enumerate(ops["kind"]) if kind == "graph"]
    for place in graphs:
        assert ops["start_ns"][place] >= ops["ready_ns"][place]
    rest = set(range(len(explained))) - set(graphs)
    assert all(ops["start_ns"][place] == explained[place] for place in rest)
    for place, bound in enumerate(ops["bound_by"]):
        if bound >= 0:
            assert edges["op"][bound] == place
            assert edges["producer_end_ns"][bound] + edges["delay_ns"][bound] == ops["start_ns"][place]


def test_every_collective_ends_after_its_last_part_began(simulation: Simulation) -> None:
    causes: Any = json.loads(simulation.causes_path.read_text(encoding="utf-8"))
    zeros = [report["true_time_of_zero_ns"] for report in simulation.truth["reports"]]
    ops = causes["ops"]

    def true_ns(column: str, place: int) -> int:
        return int(ops[column][place]) + zeros[ops["report"][place]]

    for meeting in causes["collectives"]:
        began_ns = max(true_ns("start_ns", place) for place in meeting["ops"])
        assert began_ns == true_ns("start_ns", meeting["last"])
        for place in meeting["ops"]:
            assert 0 <= true_ns("end_ns", place) - began_ns - meeting["transfer_ns"] < 10_000
