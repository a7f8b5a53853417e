"""Order on the device, each case small enough to work out by hand."""

from __future__ import annotations

from critpath.sim.executed import EdgeKind
from critpath.sim.program import Costs
from sim.tiny import (
    BLOCKING,
    LEGACY,
    OTHER_BLOCKING,
    A,
    B,
    C,
    binding,
    kernel,
    ops,
    record,
    run,
    spans,
    wait,
)


def test_a_stream_runs_its_ops_in_issue_order() -> None:
    # host   L1L2
    # A        ··[ 1: 10-110 ][ 2: 110-160 ]
    done = run(kernel(A, 100), kernel(A, 50))
    assert spans(done) == [(10, 110), (110, 160)]
    first, second = ops(done)
    assert binding(first) == "launch"
    assert binding(second) == "stream_order"
    assert second.edges[0].producer is first


def test_a_late_launch_binds_when_the_stream_is_free() -> None:
    # host   L1................L2 at 200
    # A        [1: 10-30]         [2: 210-220]
    done = run(kernel(A, 20, call_ns=200), kernel(A, 10))
    assert spans(done) == [(10, 30), (210, 220)]
    assert binding(ops(done)[1]) == "launch"


def test_different_streams_overlap() -> None:
    done = run(kernel(A, 100), kernel(B, 100))
    assert spans(done) == [(10, 110), (11, 111)]


def test_gaps_of_the_machine_lie_between_ops() -> None:
    done = run(kernel(A, 100), kernel(A, 50), costs=Costs(stream_gap_ns=7))
    assert spans(done) == [(10, 110), (117, 167)]


def test_an_event_wait_holds_the_next_op_of_the_waiting_stream() -> None:
    # A   [1: 10-110]
    # B              [2: 110-130]   wait(e), e recorded behind 1
    done = run(kernel(A, 100), record(A, 1), wait(B, 1), kernel(B, 20))
    first, second = ops(done)
    assert spans(done) == [(10, 110), (110, 130)]
    (edge,) = second.edges
    assert (edge.kind, edge.producer) == (EdgeKind.EVENT_WAIT, first)
    # Correlation ids count calls from 1201: launch, record, wait, launch.
    assert edge.via == ((1_203, 1_202),)


def test_an_event_captures_only_what_was_issued_before_its_record() -> None:
    # A   [1: 10-110][2: 110-210]
    # B              [3: 110-130]
    done = run(kernel(A, 100), record(A, 1), kernel(A, 100), wait(B, 1), kernel(B, 20))
    assert spans(done)[2] == (110, 130)


def test_a_handle_recorded_again_stands_for_the_latest_record_at_the_wait() -> None:
    # e recorded behind 1, waited for by B; then recorded behind 2: B's wait keeps its record.
    done = run(
        kernel(A, 100), record(A, 1), wait(B, 1), kernel(A, 100), record(A, 1), kernel(B, 20), wait(C, 1), kernel(C, 5)
    )
    assert spans(done) == [(10, 110), (110, 210), (110, 130), (210, 215)]


def test_a_wait_for_an_event_never_recorded_holds_nothing() -> None:
    done = run(kernel(A, 100), wait(B, 9), kernel(B, 20))
    assert ops(done)[1].edges == []


def test_several_waits_before_one_op_all_stay() -> None:
    # A [1: 10-110]   B [2: 11-61]   C waits for both: [3: 110-115]
    done = run(kernel(A, 100), kernel(B, 50), record(A, 1), record(B, 2), wait(C, 1), wait(C, 2), kernel(C, 5))
    third = ops(done)[2]
    assert [edge.producer.index for edge in third.edges] == [0, 1]
    assert (third.start_ns, third.binding) == (110, 0)


def test_a_relay_stream_passes_its_wait_on() -> None:
    # A   [1: 10-110]──record 1
    # B                 wait 1, record 2         no op of its own
    # C                              wait 2 [2: 110-115]
    done = run(kernel(A, 100), record(A, 1), wait(B, 1), record(B, 2), wait(C, 2), kernel(C, 5))
    first, second = ops(done)
    (edge,) = second.edges
    assert edge.producer is first
    # From the op back to the producer: C's wait and B's record, then B's wait and A's record.
    assert edge.via == ((1_205, 1_204), (1_203, 1_202))
    assert second.start_ns == 110


def test_each_relay_costs_its_own_latency() -> None:
    done = run(
        kernel(A, 100), record(A, 1), wait(B, 1), record(B, 2), wait(C, 2), kernel(C, 5), costs=Costs(event_gap_ns=3)
    )
    assert ops(done)[1].start_ns == 116


def test_a_relay_with_an_op_of_its_own_keeps_both_producers() -> None:
    # A [1: 10-110]     B [2: 11-31], then wait for A, record     C waits for B's record
    done = run(kernel(A, 100), kernel(B, 20), record(A, 1), wait(B, 1), record(B, 2), wait(C, 2), kernel(C, 5))
    assert {edge.producer.index for edge in ops(done)[2].edges} == {0, 1}
    assert ops(done)[2].start_ns == 110


def test_the_legacy_stream_waits_for_blocking_streams_and_holds_them() -> None:
    # 13      [1: 10-110]                [3: 160-170]
    # 7                   [2: 110-160]
    # 15      [4: 13-23]                              non-blocking: takes no part
    done = run(kernel(BLOCKING, 100), kernel(LEGACY, 50), kernel(BLOCKING, 10), kernel(A, 10))
    assert spans(done) == [(10, 110), (110, 160), (160, 170), (13, 23)]
    assert [binding(op) for op in ops(done)] == ["launch", "legacy_stream", "legacy_stream", "launch"]


def test_blocking_streams_do_not_wait_for_each_other() -> None:
    done = run(kernel(BLOCKING, 100), kernel(OTHER_BLOCKING, 100))
    assert spans(done) == [(10, 110), (11, 111)]


def test_a_legacy_op_is_waited_for_once() -> None:
    # The second op on 13 is behind the first, which already waited for the legacy op.
    done = run(kernel(LEGACY, 50), kernel(BLOCKING, 10), kernel(BLOCKING, 10))
    assert [edge.kind for edge in ops(done)[2].edges] == [EdgeKind.STREAM_ORDER]


def test_an_event_on_the_legacy_stream_captures_the_blocking_streams() -> None:
    # 13 [1: 10-110], record on 7, B waits: B's op starts at 110.
    done = run(kernel(BLOCKING, 100), record(LEGACY, 1), wait(B, 1), kernel(B, 5))
    assert ops(done)[1].start_ns == 110


def test_a_wait_on_the_legacy_stream_holds_a_blocking_stream() -> None:
    done = run(kernel(A, 100), record(A, 1), wait(LEGACY, 1), kernel(BLOCKING, 5))
    assert ops(done)[1].start_ns == 110
