"""Steps, windows and units."""

from __future__ import annotations

from critpath.sim.execute import execute
from critpath.sim.instructions import (
    CopyDirection,
    CpuWork,
    Graph,
    GraphLaunch,
    GraphNode,
    KernelLaunch,
    Stream,
    StreamKind,
    hand_over,
)
from critpath.sim.program import Clock, Job, Process, Report
from critpath.sim.truth import step_times_ns, truths
from sim.tiny import COMPUTE, STREAMS, A, B, collective, copy, job_of, kernel, process, step, sync, thread


def test_windows_run_from_first_compute_to_first_compute_and_to_the_last_own_end() -> None:
    # range 0: 0-2        range 1: 102-103     host, one call a nanosecond
    # A   [copy: 10-20][k0: 20-30]      [k1: 112-142]
    # B   [c0: 12 ........ 62]                           copies and collectives don't open a window
    done = execute(
        job_of(
            process(
                thread(
                    *step(0, copy(A, CopyDirection.HOST_TO_DEVICE, 10), kernel(A, 10), collective(B, 1, 50)),
                    CpuWork("load", 99),
                    *step(1, kernel(A, 30)),
                )
            )
        )
    )
    (unit,) = truths(done)
    assert [(s.index, s.name, s.start_ns, s.end_ns) for s in unit.steps] == [
        (0, "iteration 0", 0, 3),
        (1, "iteration 1", 102, 103),
    ]
    assert [(w.step, w.start_ns, w.end_ns) for w in unit.period] == [(0, 20, 112)]
    assert [(w.step, w.start_ns, w.end_ns) for w in unit.range] == [(0, 20, 62), (1, 112, 142)]
    assert step_times_ns([unit]) == [92]
    budget = unit.period[0].budget
    assert (budget.device_busy_ns, budget.compute_busy_ns, budget.exposed_comm_ns) == (42, 10, 32)


def test_a_step_owns_what_any_thread_launches_during_its_range() -> None:
    (begin, end), awaited, finished = hand_over("backward")
    main = thread(*step(0, kernel(A, 10), begin, end), CpuWork("load", 50), *step(1, kernel(A, 10)))
    other = thread(awaited, CpuWork("python", 100), kernel(A, 70), finished, tid=101)
    (unit,) = truths(execute(job_of(process(main, other))))
    assert (unit.range[0].start_ns, unit.range[0].end_ns) == (10, 181)


def test_each_device_of_a_process_is_a_unit_with_its_own_threads_steps() -> None:
    near = Stream(0, 1, 7, StreamKind.LEGACY)
    far = Stream(1, 2, 15, StreamKind.LEGACY)
    first = thread(*step(0, kernel(near, 10)), *step(1, kernel(near, 10)))
    second = thread(CpuWork("later", 500), *step(0, kernel(far, 20)), *step(1, kernel(far, 20)), tid=101)
    units = truths(execute(job_of(process(first, second, streams=(near, far)))))
    assert [(unit.device, unit.steps[0].start_ns) for unit in units] == [(0, 0), (1, 500)]
    assert [unit.period[0].end_ns - unit.period[0].start_ns for unit in units] == [10, 20]


def test_times_are_on_the_report_s_own_axis() -> None:
    report = Report("r", "node0", (process(thread(*step(0, kernel(A, 10)), *step(1, kernel(A, 10)))),), Clock(-1_000))
    (unit,) = truths(execute(Job((report,))))
    told = unit.as_dict()
    assert told["steps"][0] == {"step": 0, "name": "iteration 0", "start_ns": 1_000, "end_ns": 1_001}  # type: ignore[index]
    assert told["windows"]["period"][0]["start_ns"] == 1_010  # type: ignore[index]


def test_opaque_graphs_are_busy_but_open_no_window() -> None:
    # Step 0 has an eager kernel before its graph, step 1 only the graph: only step 0 has a window.
    graph = Graph(3, 5, (GraphNode(COMPUTE, 50),))
    steps = (*step(0, kernel(A, 10), GraphLaunch(A, graph, 1, 10)), *step(1, GraphLaunch(A, graph, 1, 10)))
    by_graph, by_node = (
        truths(execute(job_of(process(thread(*steps)), graph_trace=trace)))[0] for trace in ("graph", "node")
    )
    assert [w.step for w in by_graph.range] == [0]
    assert by_graph.period == ()
    assert by_graph.range[0].budget.compute_busy_ns == 10
    assert by_graph.range[0].budget.noncomm_busy_ns == 60
    assert [w.step for w in by_node.range] == [0, 1]
    assert by_node.range[0].budget.compute_busy_ns == 60


def test_only_waiting_calls_count_as_host_synchronization() -> None:
    # A [k: 10-110] idle 110-210: a sync until 110 counts nothing, the host's wake-up until 115 would
    done = execute(job_of(process(thread(*step(0, kernel(A, 100), sync(A), CpuWork("think", 90), kernel(A, 10))))))
    assert truths(done)[0].range[0].budget.host_sync_while_idle_ns == 0


def test_the_job_s_step_is_that_of_its_slowest_unit() -> None:
    def rank(number: int, duration_ns: int) -> Process:
        launches = (*step(0, KernelLaunch(A, COMPUTE, duration_ns, 1, 10)), *step(1, kernel(A, 5)))
        return Process(100 + number, "python", number, STREAMS, (thread(*launches),))

    assert step_times_ns(truths(execute(job_of(rank(0, 40), rank(1, 90))))) == [90]
