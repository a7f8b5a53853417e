"""Host threads: what waits for the device, what doesn't, and hand-over between threads."""

from __future__ import annotations

import pytest

from critpath.sim.errors import ProgramError
from critpath.sim.execute import execute
from critpath.sim.executed import SyncShape
from critpath.sim.instructions import (
    CopyDirection,
    CpuWork,
    DeviceSync,
    EventQuery,
    EventSync,
    HostMemory,
    RangePop,
    hand_over,
)
from critpath.sim.program import Costs, Process
from sim.tiny import (
    BLOCKING,
    LEGACY,
    A,
    B,
    collective,
    copy,
    job_of,
    kernel,
    memset,
    ops,
    process,
    record,
    run,
    spans,
    sync,
    thread,
    wait,
)

TO_HOST, TO_DEVICE = CopyDirection.DEVICE_TO_HOST, CopyDirection.HOST_TO_DEVICE


def test_a_stream_sync_returns_when_the_stream_is_done() -> None:
    # host   L1 [sync: 1 ───────── 115]L2 at 115
    # A        [1: 10-110]                [2: 125-130]
    done = run(kernel(A, 100), sync(A), kernel(A, 5), costs=Costs(0, 0, 0, 0, 5, 0))
    (row,) = done.runs[0].syncs
    assert (row.start_ns, row.end_ns, row.shape) == (1, 115, SyncShape.STREAM)
    assert spans(done)[1] == (125, 130)


def test_a_sync_of_a_finished_stream_takes_only_its_call() -> None:
    done = run(kernel(A, 100), CpuWork("think", 500), sync(A), costs=Costs(0, 0, 0, 0, 5, 0))
    (row,) = done.runs[0].syncs
    assert (row.start_ns, row.end_ns) == (501, 502)


def test_a_sync_waits_for_a_wait_that_no_op_has_taken_up() -> None:
    done = run(kernel(A, 100), record(A, 1), wait(B, 1), sync(B))
    assert done.runs[0].syncs[-1].end_ns == 110


def test_an_event_sync_waits_for_the_record_only() -> None:
    done = run(kernel(A, 100), record(A, 1), kernel(A, 100), EventSync(1, A, 1))
    assert done.runs[0].syncs[0].end_ns == 110


def test_a_device_sync_waits_for_every_stream_of_the_context() -> None:
    done = run(kernel(A, 100), kernel(B, 300), DeviceSync(A, 1))
    assert done.runs[0].syncs[0].end_ns == 311


def test_a_sync_of_the_legacy_stream_covers_blocking_streams() -> None:
    done = run(kernel(BLOCKING, 100), sync(LEGACY))
    assert done.runs[0].syncs[0].end_ns == 110


def test_a_query_never_waits_and_says_whether_the_event_completed() -> None:
    # A [1: 10-110]; queries at 2 and at 203
    done = run(kernel(A, 100), record(A, 1), EventQuery(1, A, 1), CpuWork("think", 200), EventQuery(1, A, 1))
    results = [call.result for call in done.runs[0].calls[100] if call.name.startswith("cudaEventQuery")]
    assert results == [600, 0]
    assert [row.end_ns - row.start_ns for row in done.runs[0].syncs] == [1, 1]


@pytest.mark.parametrize(
    ("direction", "memory", "blocking", "size", "waits"),
    [
        (TO_HOST, HostMemory.PINNED, False, 1_024, False),
        (TO_HOST, HostMemory.PAGEABLE, False, 1_024, True),
        (TO_DEVICE, HostMemory.PAGEABLE, False, 1_024, False),
        (TO_DEVICE, HostMemory.PAGEABLE, False, 1_000_000, True),
        (TO_DEVICE, HostMemory.PINNED, False, 1_000_000, False),
        (TO_DEVICE, HostMemory.PINNED, True, 1_024, True),
        (CopyDirection.DEVICE_TO_DEVICE, HostMemory.PINNED, True, 1_024, False),
    ],
)
def test_copies_hold_the_host_as_their_memory_says(
    direction: CopyDirection, memory: HostMemory, blocking: bool, size: int, waits: bool
) -> None:
    # A [k: 10-110][copy: 110-150]; the copy's call begins at 1
    done = run(kernel(A, 100), copy(A, direction, 40, size=size, memory=memory, blocking=blocking))
    call = done.runs[0].calls[100][1]
    assert (call.start_ns, call.end_ns) == (1, 150 if waits else 2)
    assert ops(done)[1].call_end_ns == call.end_ns
    assert done.runs[0].syncs == [], "copies never make synchronization rows"


def test_a_memset_is_stream_ordered() -> None:
    assert spans(run(memset(A, 30), kernel(A, 5))) == [(10, 40), (40, 45)]


def test_backward_runs_on_another_thread_while_main_waits() -> None:
    # main      L1 signal ............................ wakes at 206 + 3 = 209   L3
    # autograd     wakes at 1 + 3 = 4: cpu 200, L2 at 204, signal at 205
    (begin, end), awaited, finished = hand_over("backward")
    main = thread(kernel(A, 50), begin, end, kernel(A, 7))
    autograd = thread(awaited, CpuWork("python", 200), kernel(A, 60), finished, tid=101, name="pt_autograd_0")
    done = execute(job_of(process(main, autograd), costs=Costs(0, 0, 0, 0, 0, 3)))
    by_call = sorted(ops(done), key=lambda op: op.call_start_ns)
    assert [(op.thread.tid, op.call_start_ns) for op in by_call] == [(100, 0), (101, 204), (100, 208)]
    assert [(op.start_ns, op.end_ns) for op in by_call] == [(10, 60), (214, 274), (274, 281)]


def test_issue_order_between_threads_is_the_order_of_their_calls() -> None:
    # Two threads on one stream: the one that calls first comes first, whatever its place in the process.
    early = thread(kernel(A, 10), tid=101)
    late = thread(CpuWork("think", 5), kernel(A, 10))
    done = execute(job_of(process(late, early)))
    assert [(op.thread.tid, op.start_ns) for op in ops(done)] == [(101, 10), (100, 20)]


def test_slowdowns_stretch_compute_and_host_work_only() -> None:
    slow = Process(
        100,
        "python",
        0,
        (A,),
        (thread(CpuWork("python", 100), kernel(A, 100), collective(A, 1, 40)),),
        device_slowdown=1.5,
        host_slowdown=2.0,
    )
    assert spans(execute(job_of(slow))) == [(210, 360), (360, 400)]


def test_a_program_that_waits_for_ever_is_an_error_that_names_the_thread() -> None:
    (_, end), _, _ = hand_over("backward")
    with pytest.raises(ProgramError, match="python of pid 100 at a wait for flag 'backward:end'"):
        execute(job_of(process(thread(end))))


def test_closing_a_range_that_was_never_opened_is_an_error() -> None:
    with pytest.raises(ProgramError, match="never opened"):
        run(RangePop())


def test_a_stream_of_another_process_is_an_error() -> None:
    with pytest.raises(ProgramError, match="doesn't list"):
        execute(job_of(process(thread(kernel(A, 10)), streams=(B,))))
