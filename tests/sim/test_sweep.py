"""The budget of windows, by hand and against counting every nanosecond."""

from __future__ import annotations

import random

from critpath.sim.executed import Op, OpKind
from critpath.sim.instructions import CopyDirection
from critpath.sim.sweep import Budget, Span, budgets
from sim.tiny import A, B, C, collective, copy, kernel, memset, ops, run


def test_a_window_worked_out_by_hand() -> None:
    # A        [k: 10-40]      [k: 60-100]
    # B              [c: 30 ......... 80]
    # C                  [copy: 50-70]
    # host     sync: 90 ............... 130      window 20-120
    done = run(kernel(A, 30, call_ns=20), collective(B, 1, 50), *(copy(C, CopyDirection.DEVICE_TO_HOST, 20),))
    k, c, m = ops(done)
    late = run(kernel(A, 40, call_ns=0, latency_ns=60)).runs[0].ops[0]
    m.start_ns, m.end_ns = 50, 70
    (found,) = budgets([(20, 120)], [k, c, m, late], [(90, 130)])
    assert found == Budget(
        iteration_ns=100,
        device_busy_ns=80,  # 20-100
        device_idle_ns=20,
        noncomm_busy_ns=60,  # 20-40, 60-100
        comm_busy_ns=50,
        compute_busy_ns=60,
        compute_absent_ns=40,
        exposed_comm_ns=10,  # 40-50, before the copy
        host_sync_while_idle_ns=20,  # 100-120
    )


def test_memsets_are_busy_but_not_compute() -> None:
    done = run(memset(A, 30))
    (found,) = budgets([(0, 50)], ops(done), [])
    assert (found.noncomm_busy_ns, found.compute_busy_ns, found.device_busy_ns) == (30, 0, 30)


def test_an_empty_window_is_idle() -> None:
    (found,) = budgets([(5, 9)], [], [])
    assert (found.iteration_ns, found.device_idle_ns) == (4, 4)


def _counted(window: Span, found: list[Op], syncs: list[Span]) -> Budget:
    """The same by looking at every nanosecond."""
    sums = dict.fromkeys(("busy", "noncomm", "comm", "compute", "exposed", "sync"), 0)
    for t in range(*window):
        kinds = {op.kind for op in found if op.start_ns <= t < op.end_ns}
        compute, comm = OpKind.COMPUTE in kinds, OpKind.COMMUNICATION in kinds
        sums["busy"] += bool(kinds)
        sums["noncomm"] += bool(kinds & {OpKind.COMPUTE, OpKind.MEMSET, OpKind.GRAPH})
        sums["comm"] += comm
        sums["compute"] += compute
        sums["exposed"] += kinds == {OpKind.COMMUNICATION}
        sums["sync"] += not kinds and any(a <= t < b for a, b in syncs)
    length = window[1] - window[0]
    return Budget(
        length,
        sums["busy"],
        length - sums["busy"],
        sums["noncomm"],
        sums["comm"],
        sums["compute"],
        length - sums["compute"],
        sums["exposed"],
        sums["sync"],
    )


def test_random_activity_equals_counting_every_nanosecond() -> None:
    chance = random.Random(3)  # noqa: S311 - cases, no secret
    pattern = run(*(kernel(A, 1) for _ in range(12))).runs[0].ops
    for _ in range(60):
        for op in pattern:
            op.kind = chance.choice(list(OpKind))
            op.start_ns = chance.randrange(100)
            op.end_ns = op.start_ns + chance.randrange(30)
        syncs = [(t, t + chance.randrange(20)) for t in chance.choices(range(120), k=3)]
        windows = [(t, t + chance.randrange(60)) for t in chance.choices(range(100), k=3)]
        assert budgets(windows, pattern, syncs) == [_counted(window, pattern, syncs) for window in windows]
