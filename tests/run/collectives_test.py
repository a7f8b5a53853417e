from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from critpath.model.identity import NULL
from critpath.model.manifest import JobSection, Manifest, ParallelSection
from critpath.model.report import Report
from critpath.pipeline.analyze import analysis, analyze
from critpath.pipeline.options import Options
from critpath.rank.collective_ops import Membership
from critpath.run.collectives import match
from critpath.sim.simulation import Simulation, simulate
from run.made import windows, world


def matched(made: Simulation, **options: object) -> Report:
    return analyze(made.exports, Options(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("payload", ["none", "blobs"])
@pytest.mark.parametrize("scenario", ["data_parallel", "tensor_parallel", "straggler"])
def test_every_collective_of_all_is_matched(scenario: str, payload: str, tmp_path: Path) -> None:
    made = simulate(scenario, tmp_path, ranks=4, causes=False, nccl_payload=payload)
    frame = analysis(made.exports, Options(frames=True)).frames["collectives"].collect()
    true = {}
    for number, meeting in enumerate(made.execution.collectives):
        for op in meeting.ops:
            true[op.run.process.rank, op.run.report.clock.on_device(op.stream.device, op.start_ns)] = number
    groups: dict[int, set[int]] = {}
    for unit, start, instance in frame.select("unit", "start_ns", "instance").iter_rows():
        groups.setdefault(instance, set()).add(true[int(unit[1:]), start])
    assert None not in groups
    assert len(groups) == len(made.execution.collectives)
    assert all(len(meetings) == 1 for meetings in groups.values())
    (community,) = {c.inferred for c in analyze(made.exports).ranks.collectives.communicators}  # type: ignore[union-attr]
    assert community is (payload == "none")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scenario", ["straggler", "data_parallel", "tensor_parallel", "moe_hybrid_ep"])
def test_jitter_wait_is_the_true_wait(scenario: str, seed: int, tmp_path: Path) -> None:
    made = simulate(scenario, tmp_path, ranks=4, seed=seed, causes=False)
    report = analyze(made.exports)
    for place, unit in enumerate(report.units):
        assert unit.window is not None and unit.communication is not None
        true_ns = 0
        for meeting in made.execution.collectives:
            last = max(op.start_ns for op in meeting.ops)
            for op in meeting.ops:
                start = op.run.report.clock.on_device(op.stream.device, op.start_ns)
                if op.run.process.rank == place and any(a <= start < b for a, b in unit.window.edges_ns):
                    true_ns += last - op.start_ns
        wait_ms = unit.communication.jitter_wait_ms
        assert wait_ms is not None
        assert wait_ms == pytest.approx(true_ns / 1e6 / unit.window.n, rel=0.05, abs=0.002)
        assert unit.communication.aligned_wait_ms == pytest.approx(wait_ms, rel=0.05, abs=0.03)


def test_blocking_divides_into_transfer_and_peer_wait(tmp_path: Path) -> None:
    report = analyze(simulate("straggler", tmp_path, ranks=4, lag=0.5, causes=False).exports)
    late, waiting = report.units[1].communication, report.units[0].communication
    assert late is not None and waiting is not None
    assert late.blocking_ms is not None and waiting.blocking_ms is not None
    for comm in (late, waiting):
        assert comm.blocking_transfer_ms is not None and comm.blocking_peer_wait_ms is not None
        assert comm.blocking_transfer_ms + comm.blocking_peer_wait_ms == pytest.approx(comm.blocking_ms)
        assert comm.blocking_transfer_ms == pytest.approx(0.35, rel=0.03)
    assert late.blocking_peer_wait_ms == pytest.approx(0, abs=0.01)
    assert waiting.blocking_peer_wait_ms is not None and waiting.blocking_peer_wait_ms > 1


def test_messages_are_paired_by_who_sends_to_whom(tmp_path: Path) -> None:
    made = simulate("pipeline_1f1b", tmp_path, ranks=4, causes=False, nccl_payload="blobs")
    frame = analysis(made.exports, Options(frames=True)).frames["collectives"].collect()
    assert true_pairs(made, frame) == len(made.execution.collectives)


def true_pairs(made: Simulation, frame: pl.DataFrame) -> int:
    """How many messages were matched, all of them rightly."""
    starts = {
        (op.run.process.rank, op.run.report.clock.on_device(op.stream.device, op.start_ns)): number
        for number, meeting in enumerate(made.execution.collectives)
        for op in meeting.ops
    }
    pairs = frame.drop_nulls("instance").group_by("instance").agg("unit", "start_ns")
    for units, times in pairs.select("unit", "start_ns").iter_rows():
        assert len({starts[int(u[1:]), t] for u, t in zip(units, times, strict=True)}) == 1
    return len(pairs)


def test_messages_without_payloads_are_matched_rightly_or_not_at_all(tmp_path: Path) -> None:
    made = simulate("pipeline_1f1b", tmp_path, ranks=4, causes=False)
    frame = analysis(made.exports, Options(frames=True)).frames["collectives"].collect()
    assert true_pairs(made, frame) >= 0


def test_bandwidth_needs_sizes_and_all_participants(tmp_path: Path) -> None:
    made = simulate("straggler", tmp_path, ranks=4, causes=False, nccl_payload="blobs")
    (whole,) = matched(made).ranks.collectives.communicators  # type: ignore[union-attr]
    # 48 MiB over four ranks in 350 us: 2 · 3/4 · 50,331,648 bytes.
    assert whole.busbw_GBps == pytest.approx(1.5 * 50_331_648 / 350e3, rel=0.02)
    assert (whole.size, whole.inferred, len(whole.units)) == (4, False, 4)
    (part,) = analyze(made.exports[:3]).ranks.collectives.communicators  # type: ignore[union-attr]
    assert part.busbw_GBps is None
    sizeless = simulate("straggler", tmp_path / "none", ranks=4, causes=False)
    (inferred,) = matched(sizeless).ranks.collectives.communicators  # type: ignore[union-attr]
    assert inferred.busbw_GBps is None
    assert inferred.bytes is None


def test_ranks_come_from_ncclsown_payload(tmp_path: Path) -> None:
    made = simulate("eight_processes", tmp_path, causes=False, nccl_payload="blobs")
    units = analyze(made.exports).units
    assert len(units) == 8
    assert {u.rank_source for u in units} == {"nccl-nvtx"}
    assert sorted(u.rank for u in units if u.rank is not None) == list(range(8))
    truth = {u["pid"]: u["rank"] for u in made.truth["units"]}
    assert {u.pid: u.rank for u in units} == truth


def test_a_communicator_of_a_part_tells_no_rank_of_the_job(tmp_path: Path) -> None:
    made = simulate("eight_processes", tmp_path, causes=False, nccl_payload="blobs")
    manifest = Manifest(Path("job.toml"), job=JobSection(ranks=16))
    assert {u.rank_source for u in analyze(made.exports, Options(manifest=manifest)).units} == {"unknown"}


def test_declared_sizes_name_the_dimension(tmp_path: Path) -> None:
    made = simulate("tensor_parallel", tmp_path, ranks=4, causes=False)
    manifest = Manifest(Path("job.toml"), job=JobSection(ranks=4), parallel=ParallelSection(tp=4))
    report = matched(made, manifest=manifest)
    for unit in report.units:
        comm = unit.communication
        assert comm is not None and comm.by_dimension is not None
        assert set(comm.by_dimension) == {"tp"}
        assert comm.by_dimension["tp"].union_ms == pytest.approx(comm.union_ms)
        assert comm.by_dimension["tp"].blocking_ms == pytest.approx(comm.blocking_ms)


def test_streams_of_one_program_at_times_of_their_own_are_two_communicators() -> None:
    """Two groups of two on one host run one program: every stream looks alike, and only time tells who meets."""
    made = world(3, hosts=1, gpus=4, a_step=6)
    units = []
    for place, each in enumerate(made.units):
        ops = each.collectives
        group = place // 2
        # The second group's collectives end when it has arrived, which is another time.
        late = 0 if not group else np.random.default_rng(5).integers(100_000, 3_000_000, len(ops))
        moved = replace(ops, start_ns=ops.start_ns + late, end_ns=ops.end_ns + late)
        mine = np.sort(np.arange(len(ops)))
        units.append(
            replace(each, collectives=replace(moved, communicator=np.full(len(ops), -(2**63)), lane=moved.lane * 0))
        )
        assert mine.size == len(ops)
    found = match(units)
    assert [c.units for c in found.communicators] == [(0, 1), (2, 3)]
    assert all(c.inferred for c in found.communicators)


def test_a_capture_that_began_two_steps_later_is_laid_where_it_belongs() -> None:
    made = world(4, hosts=2, gpus=1, a_step=5)
    ops, steps = made.units[1].collectives, made.units[1].windows
    kept = ops.start_ns >= steps.starts_ns[2]
    columns = {
        name: getattr(ops, name)[kept]
        for name in (
            "start_ns",
            "end_ns",
            "kind",
            "name",
            "lane",
            "communicator",
            "bytes",
            "calls",
            "peer",
            "sends",
            "blocking_ns",
            "nccl",
        )
    }
    later = windows(np.append(steps.starts_ns[2:], steps.ends_ns[-1]), steps.labels[2:])
    window = later.of(columns["start_ns"]).astype(np.int32)
    cut = replace(ops, **columns, window=window, step=window)
    found = match([made.units[0], replace(made.units[1], collectives=cut, windows=later)])
    whole = match(made.units)
    assert len(found) == int(kept.sum())
    assert {c.shifts for c in found.communicators} == {("base", "step")}
    for community in range(2):
        waits = [m.wait_ns[m.community[m.instance] == community].tolist() for m in (found, whole)]
        assert waits[0] == waits[1][-len(waits[0]) :]


@pytest.mark.parametrize(("calls", "ranks", "pairs"), [(2, 4, 0), (6, 4, 1), (2, 2, 1)])
def test_groups_of_messages_meet_where_they_go_to_all(calls: int, ranks: int, pairs: int) -> None:
    """A stage that sends on and receives in one group meets its neighbours, not all of the communicator."""
    made = world(5, hosts=1, gpus=2, a_step=4)
    units = []
    for place, each in enumerate(made.units):
        ops = each.collectives
        grouped = replace(
            ops, kinds=("send_recv",), communicator=np.full(len(ops), 77), calls=np.full(len(ops), calls, np.int32)
        )
        units.append(replace(each, collectives=grouped, memberships=(Membership(77, ranks, place),)))
    found = match(units)
    assert len([c for c in found.communicators if not c.inferred]) == pairs


def test_ranks_may_send_different_amounts(tmp_path: Path) -> None:
    made = world(6, hosts=1, gpus=2, a_step=4)
    units = []
    for place, each in enumerate(made.units):
        ops = each.collectives
        uneven = replace(ops, kinds=("all_to_all",), bytes=np.arange(len(ops)) * (place + 1))
        units.append(replace(each, collectives=uneven))
    assert len(match(units)) == len(made.units[0].collectives)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("hosts", "gpus"), [(1, 8), (2, 4), (4, 4), (8, 2)])
def test_tensor_and_data_parallel_groups_are_inferred_as_they_are(hosts: int, gpus: int, seed: int) -> None:
    made = world(seed, hosts=hosts, gpus=gpus)
    nameless = [
        replace(u, collectives=replace(u.collectives, communicator=np.full(len(u.collectives), NULL)))
        for u in made.units
    ]
    found, true = match(nameless), match(made.units)
    assert sorted(c.units for c in found.communicators) == sorted(c.units for c in true.communicators)
    assert len(found) == len(true)
