"""What work has to wait for, each case small enough to work out by hand."""

from __future__ import annotations

import numpy as np

from critpath.base.queues import AWAIT, BARRIER, FREE, MEMBER, SIGNAL, WORK, Queues, order_of


def edges(*items: tuple[int, int] | tuple[int, int, int], roles: tuple[int, ...] = (FREE,) * 3) -> set[tuple[int, int]]:
    """(work, producer) of items (kind, queue) and, of an await, the signal; work and signals count from 0."""
    seen = [0, 0, 0]
    number, awaited = [], []
    for item in items:
        number.append(seen[item[0]])
        seen[item[0]] += 1
        awaited += item[2:]
    queues = Queues(
        kind=np.array([item[0] for item in items], np.int8),
        queue=np.array([item[1] for item in items], np.int64),
        number=np.array(number, np.int64),
        awaited=np.array(awaited, np.int64),
        role=np.array(roles, np.int64),
        group=np.zeros(len(roles), np.int64),
    )
    order = order_of(queues, seen[WORK], seen[SIGNAL])
    return set(zip(order.work.tolist(), order.producer.tolist(), strict=True))


def test_a_relay_keeps_the_later_work_of_a_queue_though_it_awaited_that_first() -> None:
    # 1   [w0] s0 [w1] s1
    # 2                    await s1, await s0, s2
    # 0                                           await s2 [w2]
    found = edges(
        (WORK, 1), (SIGNAL, 1), (WORK, 1), (SIGNAL, 1),
        (AWAIT, 2, 1), (AWAIT, 2, 0), (SIGNAL, 2), (AWAIT, 0, 2), (WORK, 0),
    )  # fmt: skip
    assert found == {(1, 0), (2, 1)}


def test_an_await_of_own_older_work_keeps_the_latest() -> None:
    # 0   [w0] s0 [w1] await s0, s1
    # 1                              await s1 [w2]
    found = edges((WORK, 0), (SIGNAL, 0), (WORK, 0), (AWAIT, 0, 0), (SIGNAL, 0), (AWAIT, 1, 1), (WORK, 1))
    assert found == {(1, 0), (2, 1)}


def test_more_awaits_than_a_queue_carries_keep_the_latest_work() -> None:
    signals = [(WORK, 1), (SIGNAL, 1)] * 600
    awaits = [(AWAIT, 0, signal) for signal in reversed(range(600))]
    found = edges(*signals, *awaits, (WORK, 0))
    assert max(producer for work, producer in found if work == 600) == 599


def test_work_may_wait_for_hundreds_of_queues() -> None:
    n = 600
    signals = [item for queue in range(1, n) for item in ((WORK, queue), (SIGNAL, queue))]
    awaits = [(AWAIT, 0, signal) for signal in range(n - 1)]
    found = edges(*signals, *awaits, (WORK, 0), roles=(FREE,) * n)
    assert found == {(n - 1, producer) for producer in range(n - 1)}


def test_an_await_before_work_does_not_hide_the_barrier() -> None:
    # member   [w0]              await s0 [w3]
    # barrier       [w1]
    # free               [w2] s0
    found = edges(
        (WORK, 0), (WORK, 1), (WORK, 2), (SIGNAL, 2), (AWAIT, 0, 0), (WORK, 0), roles=(MEMBER, BARRIER, FREE)
    )  # fmt: skip
    assert found == {(1, 0), (3, 0), (3, 1), (3, 2)}


def test_an_await_on_the_barrier_does_not_hide_its_members() -> None:
    # member             [w1]
    # barrier                 await s0 [w2]
    # free      [w0] s0
    found = edges((WORK, 2), (SIGNAL, 2), (WORK, 0), (AWAIT, 1, 0), (WORK, 1), roles=(MEMBER, BARRIER, FREE))
    assert found == {(2, 0), (2, 1)}


def test_a_signal_on_a_member_stands_for_the_barrier_too() -> None:
    # member         s0
    # barrier   [w0]
    # free              await s0 [w1]
    found = edges((WORK, 1), (SIGNAL, 0), (AWAIT, 2, 0), (WORK, 2), roles=(MEMBER, BARRIER, FREE))
    assert found == {(1, 0)}
