"""The public face: scenarios by name, files, truth, reruns."""

from __future__ import annotations

import gc
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import GENERATIONS, OptionValueError, Removal, UnknownNameError, scenario_names, simulate
from critpath.sim.instructions import CopyDirection
from critpath.sim.scenarios import SCENARIOS

SMALL: dict[str, Any] = {"steps": 3}


def budget(truth: dict[str, Any], unit: int, scope: str, step: int) -> dict[str, int]:
    """The budget of one window."""
    (found,) = [w["budget"] for w in truth["units"][unit]["windows"][scope] if w["step"] == step]
    return dict(found)


def test_scenarios_are_listed() -> None:
    folder = Path(str(SCENARIOS["data_parallel"].job.__code__.co_filename)).parent
    modules = {path.stem for path in folder.glob("*.py") if "SCENARIO = " in path.read_text(encoding="utf-8")}
    assert set(scenario_names()) == modules
    assert len(modules) >= 10


def test_truth_has_its_keys(tmp_path: Path) -> None:
    truth = simulate("data_parallel", tmp_path, ranks=2, layers=2, **SMALL).truth
    assert list(truth) == [
        *("schema", "scenario", "options", "generation", "graph_trace", "spoiled", "reports", "units", "job"),
    ]
    assert truth["schema"] == "critpath.sim.truth/1"
    assert (truth["scenario"], truth["options"]["ranks"], truth["options"]["layers"]) == ("data_parallel", 2, 2)
    assert [unit["rank"] for unit in truth["units"]] == [0, 1]
    assert set(truth["units"][0]) == {"file", "pid", "device", "rank", "steps", "windows"}
    assert truth["units"][0]["steps"][2]["name"] == "iteration 12"
    assert len(truth["job"]["step_times_ns"]) == 2


def test_causes_join_the_rows_of_the_export(tmp_path: Path) -> None:
    simulation = simulate("fsdp_offload", tmp_path, layers=2, **SMALL)
    ops = json.loads(simulation.causes_path.read_text(encoding="utf-8"))["ops"]
    told = {
        key
        for report, *key_parts in zip(
            ops["report"], ops["correlation_id"], ops["stream"], ops["start_ns"], ops["end_ns"], strict=True
        )
        if report == 0
        for key in [tuple(key_parts)]
    }
    with closing(sqlite3.connect(simulation.exports[0])) as database:
        rows = {
            row
            for table in ("KERNEL", "MEMCPY")
            for row in database.execute(
                f'SELECT correlationId, streamId, start, "end" FROM CUPTI_ACTIVITY_KIND_{table}'
            )
        }
    assert told == rows


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    first = simulate("data_parallel", tmp_path / "a", seed=5, ranks=2, layers=2, **SMALL)
    again = simulate("data_parallel", tmp_path / "b", seed=5, ranks=2, layers=2, **SMALL)
    other = simulate("data_parallel", tmp_path / "c", seed=6, ranks=2, layers=2, **SMALL)
    for name in ("rank0.sqlite", "rank1.sqlite", "truth.json", "truth_ops.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert first.truth == again.truth
    assert first.truth["job"] != other.truth["job"]


def test_the_truth_does_not_depend_on_the_generation(tmp_path: Path) -> None:
    truths = [simulate("host_sync", tmp_path, generation=g, **SMALL).truth["units"] for g in GENERATIONS]
    assert all(truth == truths[0] for truth in truths)


def test_ids_collide_between_ranks(tmp_path: Path) -> None:
    simulation = simulate("two_processes_one_gpu_ids", tmp_path, **SMALL)
    with closing(sqlite3.connect(simulation.exports[0])) as database:
        kernels, correlations, pairs = database.execute(
            """SELECT count(*), count(DISTINCT correlationId), count(DISTINCT correlationId || ' ' || globalPid)
               FROM CUPTI_ACTIVITY_KIND_KERNEL"""
        ).fetchone()
        handles, records = database.execute(
            "SELECT count(DISTINCT eventId), count(*) FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT"
        ).fetchone()
    assert correlations * 2 == pairs == kernels
    assert (handles, records) == (2, 48)
    assert {(unit["pid"], unit["device"]) for unit in simulation.truth["units"]} == {(91_186, 0), (91_323, 0)}
    assert len({p["gpus"][0]["uuid"] for p in simulation.truth["reports"][0]["processes"]}) == 2


def test_a_sync_over_a_busy_device_is_hardly_a_stall(tmp_path: Path) -> None:
    b = budget(simulate("host_sync", tmp_path).truth, 0, "period", 2)
    assert b["device_busy_ns"] == pytest.approx(28e6, rel=1e-3)
    assert b["host_sync_while_idle_ns"] == pytest.approx(2e6, rel=2e-2)


def test_overlapping_streams_add_up_to_twice_the_wall_time(tmp_path: Path) -> None:
    simulation = simulate("overlapping_streams", tmp_path)
    b = budget(simulation.truth, 0, "period", 2)
    with closing(sqlite3.connect(simulation.exports[0])) as database:
        total = database.execute('SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()[0]
    assert total / 6 == pytest.approx(2 * b["device_busy_ns"], rel=0.02)
    unit = simulation.truth["units"][0]
    assert unit["windows"]["range"][2]["end_ns"] > unit["windows"]["range"][3]["start_ns"], (
        "a kernel straddles the edge"
    )


def test_no_stream_of_a_busy_stream_spans_the_step(tmp_path: Path) -> None:
    simulation = simulate("busy_stream", tmp_path)
    period = simulation.truth["units"][0]["windows"]["period"][3]
    with closing(sqlite3.connect(simulation.exports[0])) as database:
        busiest, sparse = (
            database.execute(
                f"""SELECT max(k."end") - min(k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
                    JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
                    WHERE streamId = {stream} AND r.start >= {step["start_ns"]} AND r.start < {step["end_ns"]}"""
            ).fetchone()[0]
            for step in [simulation.truth["units"][0]["steps"][3]]
            for stream in (7, 14)
        )
    step_ns = period["budget"]["iteration_ns"]
    assert busiest == pytest.approx(0.6 * step_ns, rel=0.02)
    assert sparse > 1.05 * step_ns


def test_a_flush_lengthens_the_last_step_and_the_start_the_first(tmp_path: Path) -> None:
    truth = simulate("boundary_flush", tmp_path).truth
    lengths = [w["end_ns"] - w["start_ns"] for w in truth["units"][0]["windows"]["range"]]
    steady = sorted(lengths)[3]
    assert lengths[0] > 2 * steady
    assert lengths[-1] > 3 * steady
    assert max(lengths[1:-1]) < 1.05 * steady


def test_loading_between_ranges_is_outside_the_step(tmp_path: Path) -> None:
    between = simulate("dataloader", tmp_path / "between").truth
    inside = simulate("dataloader", tmp_path / "inside", inside=True).truth
    for truth, in_range in ((between, False), (inside, True)):
        period, own = (budget(truth, 0, scope, 2)["iteration_ns"] for scope in ("period", "range"))
        assert period > 20e6
        assert (own > 20e6) is in_range


def test_removing_a_slow_rank_gives_the_job_the_others_pace(tmp_path: Path) -> None:
    simulation = simulate("data_parallel", tmp_path, slow_rank=2)
    fair = simulate("data_parallel", tmp_path / "fair")
    assert simulation.step_times_ns(Removal(slowdown_of=frozenset({2}))) == fair.step_times_ns()
    assert min(simulation.step_times_ns()) > 1.15 * max(fair.step_times_ns()[1:])


def test_removing_host_copies_frees_an_offloaded_job(tmp_path: Path) -> None:
    simulation = simulate("fsdp_offload", tmp_path, **SMALL)
    to_device = simulation.step_times_ns(Removal(copies=frozenset({CopyDirection.HOST_TO_DEVICE})))
    to_host = simulation.step_times_ns(Removal(copies=frozenset({CopyDirection.DEVICE_TO_HOST})))
    moved = simulation.step_times_ns(Removal(copies=frozenset({CopyDirection.DEVICE_TO_DEVICE})))
    whole = simulation.step_times_ns()
    assert to_device[1] < 0.7 * whole[1]
    assert to_host[1] > 0.9 * whole[1]
    assert moved[1] > 0.99 * whole[1], "the copy just before compute is not what compute waits for"


def test_graphs_cure_a_launch_bound_job(tmp_path: Path) -> None:
    eager = simulate("launch_bound", tmp_path / "eager")
    graphs = simulate("launch_bound", tmp_path / "graphs", graphs=True)
    cured = eager.step_times_ns(Removal(cpu_work="python"))
    assert max(graphs.step_times_ns()) < 0.5 * min(eager.step_times_ns())
    assert max(cured) < 0.5 * min(eager.step_times_ns())


def test_the_graph_mode_changes_rows_but_not_time(tmp_path: Path) -> None:
    node = simulate("launch_bound", tmp_path / "node", graphs=True)
    graph = simulate("launch_bound", tmp_path / "graph", graphs=True, graph_trace="graph")
    assert node.step_times_ns() == graph.step_times_ns()
    assert (
        budget(graph.truth, 0, "period", 2)["compute_busy_ns"] < budget(node.truth, 0, "period", 2)["compute_busy_ns"]
    )


@pytest.mark.parametrize(
    ("scenario", "options", "message"),
    [
        ("data_paralel", {}, "Did you mean data_parallel"),
        ("data_parallel", {"layer": 3}, "Did you mean layers"),
        ("data_parallel", {"generation": "2025.4"}, "2022.1, 2024.6, 2025.3"),
    ],
)
def test_unknown_names_list_the_known_ones(
    tmp_path: Path, scenario: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnknownNameError, match=message):
        simulate(scenario, tmp_path / "never", **options)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    "options", [{"ranks": 0}, {"steps": "3"}, {"slow_rank": 4}, {"graph_trace": "both"}, {"item": 1}, {"layers": True}]
)
def test_values_that_make_no_program_are_errors(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(OptionValueError):
        simulate("data_parallel", tmp_path / "never", **options)
    assert not (tmp_path / "never").exists()


def test_ranks_fill_hosts_of_eight(tmp_path: Path) -> None:
    truth = simulate("data_parallel", tmp_path, ranks=9, steps=2, layers=1, bucket_layers=1).truth
    assert [report["hostname"] for report in truth["reports"]] == ["node0"] * 8 + ["node1"]
    assert truth["units"][0]["pid"] == truth["units"][8]["pid"], "process ids repeat from host to host"
    shifts = {r["utc_epoch_ns"] - r["system_clock_ns"] for r in truth["reports"][:8]}
    assert len(shifts) == 1, "one host has one clock"


def test_collection_of_garbage_goes_on_after_a_simulation(tmp_path: Path) -> None:
    simulate("data_parallel", tmp_path, ranks=1, steps=2, layers=1, bucket_layers=1)
    assert gc.isenabled()


def test_causes_are_written_on_request_and_for_small_jobs(tmp_path: Path) -> None:
    with_causes = simulate("host_sync", tmp_path / "with", steps=3)
    assert with_causes.causes_path.exists()
    assert "absent" in with_causes.truth["units"][0]["windows"]["period"][0]
    again = simulate("host_sync", tmp_path / "with", steps=3, causes=False)
    assert not again.causes_path.exists()
    assert not again.gaps_path.exists()
    assert "absent" not in again.truth["units"][0]["windows"]["period"][0]
    assert again.truth["job"] == with_causes.truth["job"]
