"""Why compute was absent: cases worked out by hand, and what holds in every scenario.

Drawn times are nanoseconds. A call takes 1 and lets its op run from 10 after it began, unless a case says otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import simulate
from critpath.sim.absence import AbsentInterval, UnitAbsence, absences
from critpath.sim.absence_totals import WindowedAbsence
from critpath.sim.absence_walk import Bucket, op_class
from critpath.sim.execute import execute
from critpath.sim.executed import Execution
from critpath.sim.instructions import (
    BufferFlush,
    Collective,
    Communicator,
    Copy,
    CopyDirection,
    CpuWork,
    Graph,
    GraphLaunch,
    GraphNode,
    HostMemory,
    Instruction,
    KernelLaunch,
    Memset,
    hand_over,
)
from critpath.sim.program import Costs
from critpath.sim.scenarios import SCENARIOS
from critpath.sim.truth import truths
from sim.tiny import (
    COMPUTE,
    NCCL,
    A,
    B,
    C,
    collective,
    copy,
    job_of,
    kernel,
    memset,
    process,
    record,
    sync,
    thread,
    wait,
)

TO_DEVICE, TO_HOST, LOCAL = CopyDirection.HOST_TO_DEVICE, CopyDirection.DEVICE_TO_HOST, CopyDirection.DEVICE_TO_DEVICE
CHAIN = Graph(3, 5, (GraphNode(COMPUTE, 10), GraphNode(COMPUTE, 10, (0,))))

Told = tuple[int, int, str]


def intervals(*instructions: Instruction, costs: Costs | None = None, trace: str = "node") -> list[AbsentInterval]:
    """The intervals of one thread's device."""
    done = execute(job_of(process(thread(*instructions)), costs=costs, graph_trace=trace))
    (unit,) = absences(done)
    return list(unit.intervals)


def labels(interval: AbsentInterval) -> list[Told]:
    """Each part with its label; neighbours that differ in their host cause only are one."""
    found: list[Told] = []
    for part in interval.parts:
        label = part.label or part.bucket.value
        if found and found[-1][1:] == (part.start_ns, label):
            found[-1] = (found[-1][0], part.end_ns, label)
        else:
            found.append((part.start_ns, part.end_ns, label))
    return found


def causes(interval: AbsentInterval) -> list[Told]:
    """Each launch-starved part with what its thread did, and what held it there."""
    return [
        (p.start_ns, p.end_ns, str(p.cause) if p.waits_on is None else f"{p.cause}:{p.waits_on}")
        for p in interval.parts
        if p.bucket is Bucket.LAUNCH_STARVED
    ]


def only(*instructions: Instruction, costs: Costs | None = None, trace: str = "node") -> AbsentInterval:
    (interval,) = intervals(*instructions, costs=costs, trace=trace)
    return interval


# Launch-starved


def test_host_work_before_the_launch_is_recoverable() -> None:
    # host  L1 [cpu: 1 ───────────── 201]L2
    # A       [1: 10-20]░░░░░░░░░░░░░░░░░░░░[2: 211
    found = only(kernel(A, 10), CpuWork("python", 200), kernel(A, 10))
    assert labels(found) == [(20, 201, "recoverable"), (201, 211, "launch_latency")]
    assert causes(found) == [(20, 201, "cpu"), (201, 211, "cuda-api")]


def test_a_long_latency_counts_from_the_call() -> None:
    # host  L1 L2 at 1, L2's latency 90
    # A       [1: 10-20]░░░░░░[2: 91
    found = only(kernel(A, 10), kernel(A, 10, latency_ns=90))
    assert labels(found) == [(20, 91, "launch_latency")]


def test_time_in_which_the_producer_runs_is_joint() -> None:
    # host  L1 copy [cpu: 2 ───────────── 202]L2
    # A       [1: 10-20][copy: 20-120]           [2: 212
    found = only(kernel(A, 10), copy(A, TO_HOST, 100), CpuWork("python", 200), kernel(A, 10))
    assert labels(found) == [(20, 120, "joint_with_producer"), (120, 202, "recoverable"), (202, 212, "launch_latency")]
    assert found.parts[0].op is found.producer


def test_the_whole_chain_of_the_producer_is_joint() -> None:
    # B            [copy: 11 ──── 111]
    # A  [1: 10-20]              wait [memset: 111-116]         [2: 315     call of 2 at 305
    found = only(
        *(kernel(A, 10), copy(B, TO_DEVICE, 100), record(B, 1), wait(A, 1), memset(A, 5)),
        *(CpuWork("python", 300), kernel(A, 10)),
    )
    assert labels(found) == [(20, 116, "joint_with_producer"), (116, 305, "recoverable"), (305, 315, "launch_latency")]
    assert [op_class(part.op) for part in found.parts if part.op is not None] == ["copy_h2d", "memset"]


def test_a_producer_not_yet_issued_is_recoverable_time() -> None:
    # host  L1 [cpu: 1-101] copy [cpu: 102-302]L2
    # A       [1: 10-20]░░░░░░[copy: 111-131]░░░░░[2: 312
    work = CpuWork("python", 100), copy(A, TO_DEVICE, 20), CpuWork("python", 200)
    found = only(kernel(A, 10), *work, kernel(A, 10))
    assert labels(found) == [
        (20, 111, "recoverable"),
        (111, 131, "joint_with_producer"),
        (131, 302, "recoverable"),
        (302, 312, "launch_latency"),
    ]
    assert causes(found)[:3] == [(20, 101, "cpu"), (101, 102, "cuda-api"), (102, 111, "cpu")]


def test_a_sync_of_a_collective_outside_the_chain_is_host_wait() -> None:
    # host  L1 L2 [sync of B: 2 ───── 511]L3
    # B         [nccl: 11 ─────────── 511]
    # A       [1: 10-20]░░░░░░░░░░░░░░░░░░░░░[3: 521
    found = only(kernel(A, 10), collective(B, 1, 500), sync(B), kernel(A, 10))
    assert labels(found) == [(20, 511, "host_wait"), (511, 521, "launch_latency")]
    assert causes(found)[0] == (20, 511, "host-sync:nccl")


@pytest.mark.parametrize(
    "readback",
    [
        (copy(B, TO_HOST, 100, blocking=True),),
        (copy(B, TO_HOST, 100, memory=HostMemory.PAGEABLE),),
        (copy(B, TO_HOST, 100), sync(B)),
    ],
    ids=["blocking", "pageable", "synchronized"],
)
def test_waiting_for_a_copy_to_the_host_is_host_wait(readback: tuple[Instruction, ...]) -> None:
    # host  L1 [copy, or copy and sync: 1 ── 111]L2
    # B            [copy: 11 ─────────────── 111]
    # A       [1: 10-20]░░░░░░░░░░░░░░░░░░░░░░░░░░░░[2: 121
    found = only(kernel(A, 10), *readback, kernel(A, 10))
    assert labels(found) == [(20, 111, "host_wait"), (111, 121, "launch_latency")]
    assert causes(found)[0] == (20, 111, "host-sync:copy_d2h")


def test_joint_goes_before_host_wait_and_waking_up_is_waiting() -> None:
    # host  L1 copy [sync of A: 2 ─────────── 126]L2      the thread wakes 6 after the copy
    # A       [1: 10-20][copy: 20 ──── 120]          [2: 136
    found = only(kernel(A, 10), copy(A, TO_HOST, 100), sync(A), kernel(A, 10), costs=Costs(0, 0, 0, 0, 6, 0))
    assert labels(found) == [(20, 120, "joint_with_producer"), (120, 126, "host_wait"), (126, 136, "launch_latency")]
    assert causes(found)[:2] == [(20, 120, "host-sync:copy_d2h"), (120, 126, "host-sync:copy_d2h")]


def test_a_sync_that_had_nothing_to_wait_for_is_an_api_call() -> None:
    # host  L1 [cpu: 1 ─────── 501][sync: 501-502]L2
    found = only(kernel(A, 10), CpuWork("python", 500), sync(A), kernel(A, 10))
    assert labels(found) == [(20, 502, "recoverable"), (502, 512, "launch_latency")]
    assert causes(found)[:2] == [(20, 501, "cpu"), (501, 502, "cuda-api")]


def test_the_profiler_s_own_time_is_told_apart() -> None:
    found = only(kernel(A, 10), BufferFlush(100), CpuWork("python", 50), kernel(A, 10))
    assert causes(found) == [(20, 101, "profiler"), (101, 151, "cpu"), (151, 161, "cuda-api")]


def test_waiting_for_another_thread_is_recoverable_with_that_cause() -> None:
    # main      L1 signal ········ wakes at 201 L2
    # autograd     wakes at 1 [cpu: 1 ── 201] signal
    # A           [1: 10-20]░░░░░░░░░░░░░░░░░░░░░░[2: 211
    (begin, end), awaited, finished = hand_over("backward")
    main = thread(kernel(A, 10), begin, end, kernel(A, 10))
    other = thread(awaited, CpuWork("python", 200), finished, tid=101)
    (unit,) = absences(execute(job_of(process(main, other))))
    assert labels(unit.intervals[0]) == [(20, 201, "recoverable"), (201, 211, "launch_latency")]
    assert causes(unit.intervals[0]) == [(20, 201, "other-thread"), (201, 211, "cuda-api")]


def test_the_launching_thread_s_waits_count_and_no_other_s() -> None:
    # main      L1 signal, then waits inside a sync of B until 511
    # autograd     wakes at 1 [cpu: 1 ── 201]L2
    # A           [1: 10-20]░░░░░░░░░░░░░░░░░░░░[2: 211
    (begin, _), awaited, _ = hand_over("backward")
    main = thread(kernel(A, 10), collective(B, 1, 500), begin, sync(B))
    other = thread(awaited, CpuWork("python", 200), kernel(A, 10), tid=101)
    (unit,) = absences(execute(job_of(process(main, other))))
    assert labels(unit.intervals[0]) == [(20, 202, "recoverable"), (202, 212, "launch_latency")]
    assert causes(unit.intervals[0])[0] == (20, 202, "cpu")


# Blocking


def test_a_collective_blocks_through_an_event() -> None:
    # B            [nccl: 11 ──── 111]
    # A  [1: 10-20]░░░░░░░░░░░░░░ wait [2: 111    issued at 4
    found = only(kernel(A, 10), collective(B, 1, 100), record(B, 1), wait(A, 1), kernel(A, 10))
    assert labels(found) == [(20, 111, "nccl")]
    assert found.ready_ns == 20
    assert [edge.kind.value for edge in found.producers] == ["stream_order", "event_wait"]


def test_only_what_lies_behind_the_issue_ready_time_is_blocking() -> None:
    # B            [nccl: 11 ────────── 311]
    # A  [1: 10-20]▒▒▒ joint ▒▒▒│▒ nccl ▒▒▒[2: 311     call of 2 at 104, ready at 114
    found = only(kernel(A, 10), collective(B, 1, 300), record(B, 1), wait(A, 1), CpuWork("python", 100), kernel(A, 10))
    assert labels(found) == [(20, 114, "joint_with_producer"), (114, 311, "nccl")]


def test_the_backend_is_the_collective_s() -> None:
    part = Collective(Communicator("ep", 1, backend="hybrid_ep"), "all_to_all", 8, 100)
    found = only(kernel(A, 10), KernelLaunch(B, NCCL, 0, 1, 10, part), record(B, 1), wait(A, 1), kernel(A, 10))
    assert labels(found) == [(20, 111, "hybrid_ep")]


def test_a_relay_stream_is_seen_through() -> None:
    # B  [nccl: 11 ──── 111]─┐
    # C                      └wait, record─┐
    # A  [1: 10-20]░░░░░░░░░░░░░░░░░░░░░░░░└wait [2: 111
    found = only(
        *(kernel(A, 10), collective(B, 1, 100), record(B, 1), wait(C, 1), record(C, 2), wait(A, 2), kernel(A, 10)),
    )
    assert labels(found) == [(20, 111, "nccl")]
    assert found.producer is not None and found.producer.stream is B
    assert len(found.producers[-1].via) == 2


def test_the_copy_behind_a_tiny_copy_owns_its_time() -> None:
    # B            [H2D: 11 ────────── 311]
    # A  [1: 10-20]░░░░░░░░░░░░░░░░░░ wait [D2D: 311-314][2: 314
    found = only(
        *(kernel(A, 10), copy(B, TO_DEVICE, 300), record(B, 1), wait(A, 1), copy(A, LOCAL, 3), kernel(A, 10)),
    )
    assert labels(found) == [(20, 311, "copy_h2d"), (311, 314, "copy_d2d")]


def test_a_producer_issued_late_owns_no_time_before_its_launch() -> None:
    # A  [1: 10-20]░░░░░░░░░░[copy: 201-211][2: 211     copy's call at 1 takes effect at 201, 2 is ready at 12
    late = Copy(A, TO_DEVICE, 8, 10, HostMemory.PINNED, False, 1, 200)
    found = only(kernel(A, 10), late, kernel(A, 10))
    assert labels(found) == [(20, 201, "late_launch"), (201, 211, "copy_h2d")]


def test_between_producers_nobody_runs() -> None:
    # B            [nccl: 11-111]·· 50 after an event ··┐
    # A  [1: 10-20]                                     [D2D: 161-164][2: 164
    found = only(
        *(kernel(A, 10), collective(B, 1, 100), record(B, 1), wait(A, 1), copy(A, LOCAL, 3), kernel(A, 10)),
        costs=Costs(0, 50, 0, 0, 0, 0),
    )
    assert labels(found) == [(20, 111, "nccl"), (111, 161, "stall"), (161, 164, "copy_d2d")]


def test_stall_and_late_launch_meet_at_the_ready_time() -> None:
    # B            [H2D: 11-41]      ready of D2D 61, event gap to 91
    # A  [1: 10-20]                 late 41-61, stall 61-91 [D2D: 91-94][2
    local = Copy(A, LOCAL, 8, 3, HostMemory.PINNED, False, 1, 57)
    found = only(
        *(kernel(A, 10), copy(B, TO_DEVICE, 30), record(B, 1), wait(A, 1), local, kernel(A, 10)),
        costs=Costs(0, 50, 0, 0, 0, 0),
    )
    assert labels(found) == [(20, 41, "copy_h2d"), (41, 61, "late_launch"), (61, 91, "stall"), (91, 94, "copy_d2d")]


def test_of_two_producers_the_one_that_ends_last_blocks() -> None:
    # B  [nccl: 11 ─── 111]      C  [H2D: 12 ───────── 212]      both awaited by 2
    found = only(
        *(kernel(A, 10), collective(B, 1, 100), copy(C, TO_DEVICE, 200), record(B, 1), record(C, 2)),
        *(wait(A, 1), wait(A, 2), kernel(A, 10)),
    )
    assert labels(found) == [(20, 212, "copy_h2d")]


# Dependency-stalled


def test_the_machine_s_gap_between_two_kernels_is_back_to_back() -> None:
    # A  [1: 10-20]·4·[2: 24
    assert labels(only(kernel(A, 10), kernel(A, 10), costs=Costs(4, 0, 0, 0, 0, 0))) == [(20, 24, "back_to_back")]


def test_the_gap_behind_a_blocking_producer_is_back_to_back() -> None:
    # B            [nccl: 11-111]·7·┐
    # A  [1: 10-20]                 [2: 118
    found = only(
        *(kernel(A, 10), collective(B, 1, 100), record(B, 1), wait(A, 1), kernel(A, 10)), costs=Costs(0, 7, 0, 0, 0, 0)
    )
    assert labels(found) == [(20, 111, "nccl"), (111, 118, "back_to_back")]


def test_after_the_last_kernel_there_is_none() -> None:
    # A  [1: 10-20][copy: 20-50]
    found = only(kernel(A, 10), copy(A, TO_HOST, 30))
    assert labels(found) == [(20, 50, "no_next_kernel")]
    assert found.kernel is None


# Graphs


def test_between_nodes_of_a_launch_the_reason_is_the_graph() -> None:
    # A  [node 0: 10-20]·4·[node 1: 24-34]
    found = only(GraphLaunch(A, CHAIN, 1, 10), costs=Costs(node_gap_ns=4))
    assert labels(found) == [(20, 24, "inside_graph")]


def test_the_first_node_of_a_launch_is_launched_like_any_kernel() -> None:
    # A  [1: 10-20]░░░░[node 0: 111-121][node 1: 121
    found = only(kernel(A, 10), CpuWork("python", 100), GraphLaunch(A, CHAIN, 1, 10))
    assert labels(found) == [(20, 101, "recoverable"), (101, 111, "launch_latency")]


def test_before_the_first_node_of_a_graph_its_launch_is_the_cause() -> None:
    # A  [1: 10-20]░░░░[memset node: 111-116][node: 116
    graph = Graph(3, 5, (GraphNode(Memset(A, 8, 0), 5), GraphNode(COMPUTE, 10, (0,))))
    found = only(kernel(A, 10), CpuWork("python", 100), GraphLaunch(A, graph, 1, 10))
    assert labels(found) == [(20, 101, "recoverable"), (101, 111, "launch_latency"), (111, 116, "inside_graph")]


def test_an_opaque_graph_takes_its_own_time_and_that_before_it() -> None:
    # A  [1: 10-20]░░░░░[graph: 111 ── 131]░░░░░[2: 312
    work = CpuWork("python", 100), GraphLaunch(A, CHAIN, 1, 10), CpuWork("python", 200)
    found = intervals(kernel(A, 10), *work, kernel(A, 10), trace="graph")
    assert [labels(interval) for interval in found] == [
        [(20, 111, "opaque_graph")],
        [(111, 131, "opaque_graph")],
        [(131, 302, "recoverable"), (302, 312, "launch_latency")],
    ]


def test_compute_beside_an_opaque_graph_is_no_absence() -> None:
    # A  [graph: 10 ──────────── 30]
    # B       [1: 15-20]
    found = intervals(GraphLaunch(A, CHAIN, 1, 10), kernel(B, 5, latency_ns=14), trace="graph")
    assert [(interval.start_ns, interval.end_ns) for interval in found] == [(10, 15), (20, 30)]


# Streams and windows


def test_the_kernel_that_ends_the_interval_counts_whatever_its_stream() -> None:
    # A  [1: 10-40]              waits for C      [4: 201-211]
    # B  [2: 11 ── 60]░░░░░░░░[5: 150 ──────────────── 250]
    # C  [nccl: 12 ───────────────────── 201]
    found = only(
        *(kernel(A, 30), kernel(B, 49), collective(C, 1, 189), record(C, 1), wait(A, 1), kernel(A, 10)),
        *(CpuWork("python", 134), kernel(B, 100)),
    )
    assert labels(found) == [(60, 140, "recoverable"), (140, 150, "launch_latency")]


def test_of_kernels_that_start_together_the_one_issued_first_ends_the_interval() -> None:
    # B  [nccl: 11-111]; A and C both wait for it, C's kernel was issued first
    waits = (record(B, 1), wait(C, 1), wait(A, 1))
    found = only(kernel(A, 10), collective(B, 1, 100), *waits, kernel(C, 10), kernel(A, 10))
    assert found.kernel is not None and found.kernel.stream is C


def test_windows_clip_what_they_cut() -> None:
    # interval 20-211: recoverable to 201, launch latency to 211
    done = execute(job_of(process(thread(kernel(A, 10), CpuWork("python", 200), kernel(A, 10)))))
    whole = WindowedAbsence(absences(done)[0])
    assert whole.totals((100, 205)).as_dict() == {
        "launch_starved_ns": 105,
        "blocking_ns": 0,
        "dependency_stalled_ns": 0,
        "opaque_graph_ns": 0,
        "launch_starved": {
            "joint_with_producer_ns": 0,
            "host_wait_ns": 0,
            "launch_latency_ns": 4,
            "recoverable_ns": 101,
            "by_host_cause": {"cpu": 101, "cuda-api": 4},
        },
        "blocking": {"by_class": {}},
        "dependency_stalled": {"by_reason": {}},
    }


CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in SCENARIOS] + [
    ("launch_bound", {"graphs": True}),
    ("launch_bound", {"graphs": True, "graph_trace": "graph"}),
]


def executed(name: str, seed: int, options: dict[str, Any]) -> Execution:
    scenario = SCENARIOS[name]
    return execute(scenario.job(scenario.chosen(seed=seed, steps=3, **options)))


def expect_tiles(unit: UnitAbsence) -> None:
    for interval in unit.intervals:
        assert interval.parts[0].start_ns == interval.start_ns
        assert interval.parts[-1].end_ns == interval.end_ns
        assert all(part.start_ns < part.end_ns for part in interval.parts)
        assert all(a.end_ns == b.start_ns for a, b in pairwise(interval.parts))
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(unit.intervals))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("name", "options"), CASES, ids=["-".join([name, *options]) for name, options in CASES])
def test_parts_tile_their_intervals_and_windows_add_up(name: str, options: dict[str, Any], seed: int) -> None:
    done = executed(name, seed, options)
    for unit, known in zip(absences(done), truths(done), strict=True):
        expect_tiles(unit)
        absent = WindowedAbsence(unit)
        for window in (*known.period, *known.range):
            totals = absent.totals((window.start_ns, window.end_ns))
            assert sum(totals.bucket_ns(bucket) for bucket in Bucket) == window.budget.compute_absent_ns
            assert sum(totals.host_causes.values()) == totals.bucket_ns(Bucket.LAUNCH_STARVED)


def test_the_files_tell_the_same_story(tmp_path: Path) -> None:
    done = simulate("data_parallel", tmp_path, ranks=2, steps=3, layers=3)
    gaps: Any = json.loads(done.gaps_path.read_text(encoding="utf-8"))
    ops: Any = json.loads(done.causes_path.read_text(encoding="utf-8"))["ops"]
    assert gaps["schema"] == "critpath.sim.truth_gaps/1"
    for unit, told in zip(done.truth["units"], gaps["units"], strict=True):
        assert [told[key] for key in ("file", "pid", "device", "rank")] == [
            unit[key] for key in ("file", "pid", "device", "rank")
        ]
        for end_ns, kernel_place in zip(told["gaps"]["end_ns"], told["gaps"]["kernel"], strict=True):
            assert kernel_place < 0 or ops["start_ns"][kernel_place] == end_ns
        parts = told["parts"]
        for window in unit["windows"]["period"]:
            by_class: Counter[str] = Counter()
            for start_ns, end_ns, name in zip(parts["start_ns"], parts["end_ns"], parts["class"], strict=True):
                inside = min(end_ns, window["end_ns"]) - max(start_ns, window["start_ns"])
                if name is not None and inside > 0:
                    by_class[name] += inside
            assert dict(by_class) == window["absent"]["blocking"]["by_class"]
