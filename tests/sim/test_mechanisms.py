"""What a machine may do beyond the plain model, each mechanism on a case worked out by hand."""

from __future__ import annotations

import pytest

from critpath.sim.execute import execute
from critpath.sim.executed import EdgeKind, Op, OverheadKind
from critpath.sim.instructions import CopyDirection, KernelLaunch
from critpath.sim.mechanisms import Mechanisms, Sharing
from sim.tiny import (
    COMPUTE,
    A,
    B,
    C,
    binding,
    collective,
    copy,
    job_of,
    kernel,
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


def producer(op: Op) -> int:
    return op.edges[op.binding].producer.index


def test_copies_of_one_direction_take_turns_at_its_engine() -> None:
    # A  [1: 10 ..... 110]
    # B                  [2: 110-160]    could have run at 11
    done = run(copy(A, TO_DEVICE, 100), copy(B, TO_DEVICE, 50), copy_engines=True)
    assert spans(done) == [(10, 110), (110, 160)]
    assert (binding(ops(done)[1]), producer(ops(done)[1])) == ("copy_engine", 0)


def test_copies_of_different_directions_do_not() -> None:
    done = run(copy(A, TO_DEVICE, 100), copy(B, TO_HOST, 50), copy_engines=True)
    assert spans(done) == [(10, 110), (11, 61)]


def test_without_engines_copies_overlap() -> None:
    assert spans(run(copy(A, TO_DEVICE, 100), copy(B, TO_DEVICE, 50))) == [(10, 110), (11, 61)]


def test_an_engine_serves_who_could_run_first_and_not_who_was_issued_first() -> None:
    # A  [kernel: 10-60] copy 2 could run at 60
    # B                  copy 3 could run at 14, issued after it
    done = run(kernel(A, 50), copy(A, TO_DEVICE, 20), copy(B, TO_DEVICE, 100), copy_engines=True)
    assert spans(done) == [(10, 60), (112, 132), (12, 112)]
    assert binding(ops(done)[1]) == "copy_engine"


def test_what_follows_a_copy_follows_it_after_its_engine() -> None:
    done = run(copy(A, TO_DEVICE, 100), copy(B, TO_DEVICE, 50), kernel(B, 5), copy_engines=True)
    assert spans(done)[2] == (160, 165)


def test_one_connection_starts_ops_in_the_order_of_their_issue() -> None:
    # A [1: 10-110]   B waits for A: [2: 110-120]   C [3: issued behind 2, so not before 110]
    program = (kernel(A, 100), record(A, 1), wait(B, 1), kernel(B, 10), kernel(C, 5))
    done = run(*program, connections=1)
    assert spans(done) == [(10, 110), (110, 120), (110, 115)]
    assert (binding(ops(done)[2]), producer(ops(done)[2])) == ("queue_order", 1)
    assert spans(run(*program))[2] == (14, 19)


def test_copies_have_connections_of_their_own() -> None:
    done = run(kernel(A, 100), record(A, 1), wait(B, 1), kernel(B, 10), copy(C, TO_DEVICE, 5), connections=1)
    assert spans(done)[2] == (14, 19)


def test_streams_alias_when_there_are_fewer_queues_than_streams() -> None:
    # Queue 0: A, C; queue 1: B. C's op is behind A's second, which waits for B; B's third runs freely.
    program = (kernel(B, 100), record(B, 1), kernel(A, 5), wait(A, 1), kernel(A, 5), kernel(C, 5))
    done = run(*program, connections=2)
    # First uses: B takes queue 0, A queue 1, C queue 0: C is not behind A.
    assert spans(done)[3] == (15, 20)
    mixed = (kernel(A, 5), kernel(B, 100), record(B, 1), wait(A, 1), kernel(A, 5), kernel(C, 5))
    done = run(*mixed, connections=2)
    assert spans(done) == [(10, 15), (11, 111), (111, 116), (111, 116)]
    assert binding(ops(done)[3]) == "queue_order"


def test_a_thousand_ops_behind_a_blocked_head_all_run() -> None:
    program = [collective(A, 1, 50), record(A, 1), wait(B, 1), kernel(B, 5)]
    done = run(*program, *(kernel(C, 1) for _ in range(2_000)), connections=1)
    assert ops(done)[2].start_ns == 60


def test_contention_stretches_compute_while_communication_runs() -> None:
    # comm     [10 ........ 60]
    # compute   [11 ...................] 49 ns at half pace = 24.5 done, 75.5 left: ends at 135.5, so 136
    done = run(collective(A, 1, 50), kernel(B, 100), contention=2.0)
    assert spans(done) == [(10, 60), (11, 136)]


def test_contention_begins_when_communication_does() -> None:
    # compute  [10 .......]  30 ns alone, then 20 of work at half pace until 80
    # comm             [40 ............. 140]
    done = run(kernel(B, 50, call_ns=30), collective(A, 1, 100), contention=2.0)
    assert spans(done) == [(10, 80), (40, 140)]


def two_on_one_gpu(sharing: Sharing, slice_ns: int = 20) -> list[tuple[int, int]]:
    own = [process(thread(kernel(A, 50)), rank=rank, pid=100 + rank) for rank in range(2)]
    done = execute(job_of(*own, mechanisms=Mechanisms(sharing=sharing, slice_ns=slice_ns)))
    return [span for rank in range(2) for span in spans(done, rank)]


def test_processes_that_take_turns_stay_resident() -> None:
    # first   [10 ####-30----50 ####-70----90 ##100]      turns of 20: 20 + 20 + 10
    # second  [10 ----30 ####-50----70 ####-90-100 ## 110]
    assert two_on_one_gpu(Sharing.SLICED) == [(10, 100), (10, 110)]


def test_processes_that_share_a_gpu_halve_each_other_s_pace() -> None:
    assert two_on_one_gpu(Sharing.RESIDENT) == [(10, 110), (10, 110)]


def test_processes_on_one_gpu_ignore_each_other_unless_told() -> None:
    assert two_on_one_gpu(Sharing.FREE) == [(10, 60), (10, 60)]


def test_a_full_queue_holds_the_launch_call() -> None:
    # room for 2: the third launch, called at 2, goes on when the first op ends at 110
    done = run(kernel(A, 100), kernel(A, 100), kernel(A, 100), launch_queue=2)
    third = ops(done)[2]
    assert (third.call_start_ns, third.call_end_ns, third.ready_ns) == (2, 111, 120)
    assert spans(done)[2] == (210, 310)
    (full,) = done.runs[0].overheads
    assert (full.start_ns, full.end_ns, full.kind, full.correlation) == (2, 110, OverheadKind.QUEUE_FULL, 1_203)


def test_a_queue_with_room_holds_nothing() -> None:
    done = run(kernel(A, 100), kernel(A, 100), launch_queue=2)
    assert [op.call_start_ns for op in ops(done)] == [0, 1]
    assert done.runs[0].overheads == []


def test_a_batch_reaches_the_gpu_when_it_is_full() -> None:
    # calls at 0, 1, 2; handed over when the third returns, at 3; each op's latency counts from there
    done = run(kernel(A, 5), kernel(B, 5), kernel(C, 5), batch=3)
    assert [op.submitted_ns for op in ops(done)] == [3, 3, 3]
    assert spans(done) == [(13, 18), (13, 18), (13, 18)]


def test_a_batch_is_handed_over_when_the_host_waits_or_time_is_up() -> None:
    waited = run(kernel(A, 5), sync(A), batch=100)
    assert spans(waited) == [(11, 16)]
    left = run(kernel(A, 5), batch=100, batch_hold_ns=40)
    assert spans(left) == [(50, 55)]


def test_a_kernel_may_start_before_the_one_ahead_ends() -> None:
    # A  [1: 10 ........ 110]
    # A             [2: 80 ..... 130]
    early = KernelLaunch(A, COMPUTE, 50, 1, 10, early_ns=30)
    done = run(kernel(A, 100), early)
    assert spans(done) == [(10, 110), (80, 130)]
    assert ops(done)[1].edges[0].kind is EdgeKind.PROGRAMMATIC


@pytest.mark.parametrize("ahead", [20, 100])
def test_an_early_kernel_never_starts_before_the_one_ahead(ahead: int) -> None:
    early = KernelLaunch(A, COMPUTE, 50, 1, 10, early_ns=1_000)
    done = run(kernel(A, ahead), early)
    assert spans(done)[1][0] == max(11, 10)
