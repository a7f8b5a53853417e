"""Running again with a cause removed."""

from __future__ import annotations

from critpath.sim.execute import execute
from critpath.sim.instructions import CopyDirection, CpuWork, Graph, GraphLaunch, GraphNode
from critpath.sim.program import Process
from critpath.sim.removal import Removal, without
from sim.tiny import COMPUTE, A, collective, copy, job_of, kernel, process, run, spans, sync, thread


def test_without_transfer_ranks_still_wait_for_each_other() -> None:
    job = job_of(
        process(thread(collective(A, 2, 50))),
        process(thread(kernel(A, 500), collective(A, 2, 50)), rank=1),
    )
    for names in ({"dp"}, {"nccl"}):
        assert spans(execute(without(job, Removal(transfer_of=frozenset(names))))) == [(10, 510)]
    assert spans(execute(without(job, Removal(transfer_of=frozenset({"tp"}))))) == [(10, 560)]


def test_without_a_label_s_cpu_work() -> None:
    job = job_of(process(thread(CpuWork("load batch", 300), CpuWork("python", 20), kernel(A, 10))))
    assert spans(execute(without(job, Removal(cpu_work="load.*")))) == [(30, 40)]
    assert spans(execute(without(job, Removal(cpu_work="load")))) == [(330, 340)], "a pattern matches whole labels"


def test_without_a_rank_s_slowdown() -> None:
    slow = Process(100, "python", 1, (A,), (thread(kernel(A, 100)),), device_slowdown=2.0)
    assert spans(execute(job_of(slow))) == [(10, 210)]
    assert spans(execute(without(job_of(slow), Removal(slowdown_of=frozenset({1}))))) == [(10, 110)]
    assert spans(execute(without(job_of(slow), Removal(slowdown_of=frozenset({0}))))) == [(10, 210)]


def test_without_copies_of_a_direction() -> None:
    job = job_of(process(thread(copy(A, CopyDirection.HOST_TO_DEVICE, 100), kernel(A, 10))))
    removal = Removal(copies=frozenset({CopyDirection.HOST_TO_DEVICE}))
    assert spans(execute(without(job, removal))) == [(10, 10), (11, 21)]


def test_removing_nothing_changes_nothing() -> None:
    graph = Graph(3, 5, (GraphNode(COMPUTE, 50),))
    instructions = (GraphLaunch(A, graph, 1, 10), GraphLaunch(A, graph, 1, 10), sync(A), kernel(A, 5))
    again = execute(without(job_of(process(thread(*instructions))), Removal()))
    assert spans(again) == spans(run(*instructions))
