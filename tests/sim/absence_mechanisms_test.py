"""Absent compute where the machine does more than the plain model: worked out by hand, in ns."""

from __future__ import annotations

from itertools import pairwise

import pytest

from critpath.sim.absence import AbsentInterval, absences
from critpath.sim.execute import execute
from critpath.sim.host_instructions import EventPoll, HostCallback, MappedSpin, OsCall, Prefetch
from critpath.sim.instructions import CopyDirection, CpuWork, Instruction, KernelLaunch
from critpath.sim.mechanisms import Mechanisms
from critpath.sim.program import Costs, Job, Report
from sim.tiny import COMPUTE, A, B, C, collective, copy, kernel, process, record, thread, wait

TO_DEVICE, LOCAL = CopyDirection.HOST_TO_DEVICE, CopyDirection.DEVICE_TO_DEVICE

Told = tuple[int, int, str]


def first(*instructions: Instruction, **mechanisms: bool | int) -> AbsentInterval:
    """The first interval of one thread's device; its parts tile it."""
    report = Report("rank0", "node0", (process(thread(*instructions)),))
    (unit,) = absences(execute(Job((report,), Costs.free(), mechanisms=Mechanisms(**mechanisms))))  # type: ignore[arg-type]
    for interval in unit.intervals:
        assert (interval.parts[0].start_ns, interval.parts[-1].end_ns) == (interval.start_ns, interval.end_ns)
        assert all(a.end_ns == b.start_ns for a, b in pairwise(interval.parts))
    return unit.intervals[0]


def labels(interval: AbsentInterval) -> list[Told]:
    return [(part.start_ns, part.end_ns, part.label) for part in interval.parts]


def causes(interval: AbsentInterval) -> list[Told]:
    return [(p.start_ns, p.end_ns, f"{p.cause}:{p.waits_on}") for p in interval.parts if p.cause is not None]


def test_earlier_copies_on_the_engine_own_their_time() -> None:
    # B            [H2D: 11 ── 111]
    # C                       engine [H2D: 111-131]      could have started at 12
    # A  [1: 10-20]░░░░░░░░░░░░░░░░░░░░ waits for C [2: 131
    found = first(
        *(kernel(A, 10), copy(B, TO_DEVICE, 100), copy(C, TO_DEVICE, 20), record(C, 1), wait(A, 1), kernel(A, 10)),
        copy_engines=True,
    )
    assert labels(found) == [(20, 111, "copy_h2d"), (111, 131, "copy_h2d")]
    assert [part.op and part.op.stream for part in found.parts] == [B, C]


def test_a_shared_hardware_queue_is_a_reason_of_its_own() -> None:
    # B            waits for C's copy until 212 [nccl: 212-262]
    # C  [H2D: 12 ──────── 212]
    # A  [1: 10-20]░░░░░░░░░░░░ behind B in the queue [2: 212      ready at 16
    found = first(
        *(kernel(A, 10), copy(C, TO_DEVICE, 200), record(C, 1), wait(B, 1), collective(B, 1, 50), kernel(A, 100)),
        connections=1,
    )
    assert labels(found) == [(20, 211, "other:queue_order")]


def test_a_host_function_is_a_reason_of_its_own() -> None:
    # A  [1: 10-20] function: 30-130 [2: 130
    found = first(kernel(A, 10), HostCallback(A, 100, 1, 10), kernel(A, 10))
    assert labels(found) == [(20, 130, "other:host_callback")]
    assert found.producer is not None and found.producer.start_ns == 10


def test_a_host_function_in_the_chain_is_named_too() -> None:
    # A  [1: 10-20] function: 30-130 [D2D: 130-133][2: 133
    found = first(kernel(A, 10), HostCallback(A, 100, 1, 10), copy(A, LOCAL, 3), kernel(A, 10))
    assert labels(found) == [(20, 130, "other:host_callback"), (130, 133, "copy_d2d")]


def test_a_migration_in_stream_order_is_no_producer() -> None:
    # A  [1: 10-20][migration: 20-120][2: 120
    found = first(kernel(A, 10), Prefetch(A, 8, 100, 1, 10), kernel(A, 10))
    assert labels(found) == [(20, 120, "uvm")]
    assert found.producer is not None and found.producer.start_ns == 10


def test_a_full_queue_holds_the_call_itself() -> None:
    # One launch fits: the collective's call waits for 1 until 20, the call of 2 for the collective from 21 to 530.
    # B             [nccl: 30 ────────────── 530]
    # A  [1: 10-20]░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░[2: 540
    found = first(kernel(A, 10), collective(B, 1, 500), kernel(A, 10), launch_queue=1)
    assert [label for _, _, label in labels(found)] == ["recoverable", "recoverable", "launch_latency"]
    assert causes(found) == [(20, 21, "cuda-api:None"), (21, 530, "cuda-api:nccl"), (530, 540, "cuda-api:None")]


def test_an_early_start_is_a_matter_of_stream_order() -> None:
    # A  [1: 10-110]        [2: 90-140]      2 starts 20 before 1 ends: no absence, and 1 is 2's producer
    early = KernelLaunch(A, COMPUTE, 50, 1, 10, early_ns=20)
    found = first(kernel(A, 100), early, copy(A, TO_DEVICE, 5))
    assert labels(found) == [(140, 145, "no_next_kernel")]


def test_a_run_of_queries_is_a_host_wait_for_what_the_event_stands_for() -> None:
    # host  L1 L2 [query query … ── about 400]L3
    # B          [nccl: 11 ── 411]
    # A       [1: 10-20]░░░░░░░░░░░░░░░░░░░░[3
    found = first(kernel(A, 10), collective(B, 1, 400), record(B, 1), EventPoll(1, B, 1, 9), kernel(A, 10))
    assert labels(found)[0][2] == "host_wait"
    assert causes(found)[0][2] == "poll:nccl"


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ((MappedSpin(B, 0),), "host-poll:nccl"),
        ((OsCall("read", 400),), "osrt:None"),
        ((CpuWork("python", 400),), "cpu:None"),
    ],
    ids=["host-poll", "osrt", "cpu"],
)
def test_what_is_no_call_that_waits_is_recoverable_with_its_cause(work: tuple[Instruction, ...], told: str) -> None:
    # host  L1 L2 [work ─────── about 400]L3
    # B          [nccl: 11 ── 411]
    # A       [1: 10-20]░░░░░░░░░░░░░░░░░░░░[3
    found = first(kernel(A, 10), collective(B, 1, 400), *work, kernel(A, 10))
    assert [label for _, _, label in labels(found)] == ["recoverable", "launch_latency"]
    assert causes(found)[0][2] == told
