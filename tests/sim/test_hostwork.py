"""Locks, operating system calls, polls, callbacks and managed memory, each worked out by hand."""

from __future__ import annotations

import pytest

from critpath.sim.errors import ProgramError
from critpath.sim.execute import execute
from critpath.sim.executed import EdgeKind
from critpath.sim.host_instructions import (
    CondWait,
    EventPoll,
    HostCallback,
    LockAcquire,
    LockRelease,
    MappedSpin,
    OsCall,
    Prefetch,
)
from critpath.sim.instructions import CopyDirection, CpuWork, Fault, KernelLaunch, Signal
from critpath.sim.program import Costs
from sim.tiny import COMPUTE, A, B, binding, job_of, kernel, ops, process, record, run, spans, sync, thread, wait


def test_a_lock_is_handed_over_in_the_order_of_asking() -> None:
    # first   lock 0 ── work 100 ── release 100
    # second       lock 10 ··············· gets it at 100, works until 150
    # third            lock 20 ···························· gets it at 150
    def holder(asks_ns: int, holds_ns: int, tid: int) -> object:
        return thread(
            CpuWork("before", asks_ns), LockAcquire("gil"), CpuWork("in", holds_ns), LockRelease("gil"), tid=tid
        )

    done = execute(job_of(process(holder(0, 100, 100), holder(10, 50, 101), holder(20, 30, 102))))  # type: ignore[arg-type]
    rows = [(call.thread.tid, call.start_ns, call.end_ns, call.name) for call in done.runs[0].os_calls]
    assert rows == [(101, 10, 100, "pthread_mutex_lock"), (102, 20, 150, "pthread_mutex_lock")]


def test_waking_takes_what_the_machine_takes() -> None:
    costs = Costs(0, 0, 0, 0, 0, signal_wake_ns=7)
    first = thread(LockAcquire("l"), CpuWork("in", 50), LockRelease("l"))
    second = thread(CpuWork("later", 10), LockAcquire("l"), kernel(A, 5), tid=101)
    done = execute(job_of(process(first, second), costs=costs))
    assert ops(done)[0].call_start_ns == 57


def test_releasing_a_lock_that_another_holds_is_an_error() -> None:
    with pytest.raises(ProgramError, match="which it doesn't hold"):
        run(LockRelease("l"))


def test_a_condition_is_waited_for_in_a_call() -> None:
    waiter = thread(CondWait("batch"), kernel(A, 5))
    raiser = thread(CpuWork("load", 80), Signal("batch"), tid=101)
    done = execute(job_of(process(waiter, raiser)))
    (row,) = done.runs[0].os_calls
    assert (row.start_ns, row.end_ns, row.name) == (0, 80, "pthread_cond_wait")
    assert ops(done)[0].call_start_ns == 80


def test_an_operating_system_call_takes_its_time() -> None:
    done = run(OsCall("mmap64", 4_000), kernel(A, 5))
    assert ops(done)[0].call_start_ns == 4_000
    assert [(row.name, row.end_ns) for row in done.runs[0].os_calls] == [("mmap64", 4_000)]


def test_a_poll_asks_until_the_answer_is_yes() -> None:
    # kernel 10-60; queries begin at 2, 22, 42, 62: only the last finds it done
    done = run(kernel(A, 50), record(A, 1), EventPoll(1, A, call_ns=5, pause_ns=15), kernel(A, 5))
    queries = [call for call in done.runs[0].calls[100] if call.name.startswith("cudaEventQuery")]
    assert [(call.start_ns, call.result) for call in queries] == [(2, 600), (22, 600), (42, 600), (62, 0)]
    assert len(done.runs[0].syncs) == 4
    assert ops(done)[1].call_start_ns == 67


def test_a_spin_on_mapped_memory_leaves_nothing() -> None:
    done = run(kernel(A, 50), MappedSpin(A, poll_ns=3), kernel(A, 5))
    assert ops(done)[1].call_start_ns == 63
    assert len(done.runs[0].calls[100]) == 2
    assert done.runs[0].syncs == []


def test_a_host_function_holds_later_work_of_its_stream() -> None:
    # A  [1: 10-60]  function 65-165 (5 after the kernel)  [2: 165-170]
    # B  [3: 18-23]  another stream goes on
    callback = HostCallback(A, 100, call_ns=1, latency_ns=5)
    done = run(kernel(A, 50), callback, kernel(A, 5), kernel(B, 5))
    assert spans(done) == [(10, 60), (165, 170), (13, 18)]
    second = ops(done)[1]
    assert second.edges[second.binding].kind is EdgeKind.HOST_CALLBACK
    assert second.edges[second.binding].producer is ops(done)[0]
    assert [call.name for call in done.runs[0].calls[100]][1] == "cudaLaunchHostFunc_v10000"


def test_a_sync_and_an_event_wait_for_the_host_function_too() -> None:
    callback = HostCallback(A, 100, call_ns=1, latency_ns=5)
    done = run(kernel(A, 50), callback, record(A, 1), wait(B, 1), kernel(B, 5), sync(A), kernel(B, 5))
    assert spans(done)[1] == (165, 170)
    assert ops(done)[2].call_start_ns == 165


def test_a_host_function_without_work_ahead_is_an_error() -> None:
    with pytest.raises(ProgramError, match="no device work ahead"):
        run(HostCallback(A, 100), kernel(A, 5))


def test_a_prefetch_holds_its_stream_without_naming_it() -> None:
    done = run(Prefetch(A, 4_096, 100, call_ns=1, latency_ns=10), kernel(A, 5))
    migration, after = ops(done)
    assert (migration.correlation, migration.stream.stream, migration.stream.context) == (0, 0, 0)
    assert spans(done) == [(10, 110), (110, 115)]
    assert binding(after) == "uvm"


def test_page_faults_migrate_while_the_kernel_runs() -> None:
    faults = (Fault(20, 65_536, 30), Fault(60, 65_536, 10, CopyDirection.MIGRATION_OUT))
    done = run(KernelLaunch(A, COMPUTE, 100, 1, 10, faults=faults))
    assert spans(done) == [(10, 110), (30, 60), (70, 80)]
    assert [op.correlation for op in ops(done)] == [1_201, 0, 0]
