"""Launch health against brute force, instant by instant, and the naive figures that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from critpath.base.intervals import I64
from critpath.rank.launch_health import FULL_QUEUE, LaunchHealth, launch_health
from critpath.rank.process_ops import ProcessOps
from rank.nvtx.made import ops_of
from rank.nvtx.pacing_test import windows_of

WINDOWS = [(5, 40), (40, 75), (90, 160)]


def _ops(called: list[int], start: list[int], length: list[int], linked: list[bool] | None = None) -> ProcessOps:
    one = np.ones(len(called), np.int64)
    return ops_of(
        np.array(called), one, np.array(start), np.array(length), linked=None if linked is None else np.array(linked)
    )


def _health(ops: ProcessOps, edges: list[tuple[int, int]], long_call_ns: int = 10**9) -> LaunchHealth:
    return launch_health(ops, 0, windows_of(edges), long_call_ns)


def _inside(at: int) -> bool:
    return any(a <= at < b for a, b in WINDOWS)


@pytest.mark.parametrize("seed", range(100))
def test_random_launches_equal_brute_force(seed: int):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 40))
    called = random.integers(0, 150, n).tolist()
    start = [c + int(random.integers(-3, 30)) for c in called]
    length = random.integers(1, 20, n).tolist()
    linked = (random.random(n) < 0.8).tolist()
    found = _health(_ops(called, start, length, linked), WINDOWS)
    launched = [(c, s) for c, s, k in zip(called, start, linked, strict=True) if k and s >= c]
    delays = [s - c for c, s in launched if _inside(s)]
    assert found.delays == len(delays)
    if delays:
        assert found.delay_ns == pytest.approx(np.quantile(delays, [0.1, 0.5, 0.9, 0.99]).tolist())
    assert found.without_call == sum(_inside(s) and not k for s, k in zip(start, linked, strict=True))
    assert found.before_call == sum(_inside(s) and k and s < c for c, s, k in zip(called, start, linked, strict=True))
    pending = {t: sum(c <= t < s for c, s in launched) for a, b in WINDOWS for t in range(a, b)}
    for k, (a, b) in enumerate(WINDOWS):
        depth = [pending[t] for t in range(a, b)]
        assert found.depth[k] == pytest.approx(sum(depth) / len(depth))
        assert found.empty_ns[k] == depth.count(0)
    assert found.most_pending == max(pending.values())
    begun = [c for c, _ in launched if _inside(c)]
    assert sum(row.count for row in found.calls) == len(begun)
    assert sum(row.total_ns for row in found.calls) == 5 * len(begun)
    assert found.short.count == sum(map(_inside, start))


def test_order_does_not_tell_which_call_launched_what():
    # Two streams: the second call's op starts first. Joined by order, the delays would be 10 and 190.
    called, start = [0, 100], [200, 110]
    found = _health(_ops(called, start, [5, 5]), [(0, 1_000)])
    assert found.delay_ns is not None
    assert found.delay_ns[1] == np.median([200, 10])
    naive = np.sort(start) - np.sort(called)
    assert np.sort(naive).tolist() == [100, 110]
    assert found.delay_ns[3] > naive.max()


def _burst(n: int, every_ns: int) -> tuple[list[int], list[int]]:
    """n calls at once on one stream whose ops take `every_ns` each."""
    return list(range(0, 6 * n, 6)), [6 * n + every_ns * k for k in range(n)]


def test_a_long_call_at_a_full_queue_is_told_apart_from_a_slow_host():
    n = FULL_QUEUE + 100
    found = _health(_ops(*_burst(n, 50), [40] * n), [(0, 10**6)], long_call_ns=4)
    assert found.calls[0].held_up == n
    assert found.calls[0].queue_full == n - FULL_QUEUE
    # All calls are of the same length: by length alone every one of them would pass for a slow host.
    assert found.calls[0].median_ns == found.calls[0].max_ns


def test_pending_launches_of_other_streams_do_not_fill_a_queue():
    n = FULL_QUEUE + 100
    called, start = _burst(n, 50)
    ops = _ops(called, start, [40] * n)
    queue = np.arange(n, dtype=np.int64) % 2
    object.__setattr__(ops, "queue", queue)
    found = _health(ops, [(0, 10**6)], long_call_ns=4)
    assert found.most_pending > FULL_QUEUE
    assert found.calls[0].queue_full == 0


def test_a_starved_device_has_the_shortest_delays():
    def median(called: I64, start: I64) -> float:
        told = _health(_ops(called.tolist(), start.tolist(), [10] * 50), [(0, 10**6)])
        assert told.delay_ns is not None
        return told.delay_ns[1]

    busy = median(np.arange(50) * 10, 100 + np.arange(50) * 100)
    starved = median(np.arange(50) * 1_000, np.arange(50) * 1_000 + 5)
    assert starved < busy / 100


def test_short_kernels_are_told_by_count_and_by_time():
    lengths = [1_000] * 9 + [991_000]
    starts = np.concatenate([np.arange(9) * 2_000, [20_000]])
    found = _health(_ops([0] * 10, starts.tolist(), lengths), [(0, 10**7)]).short
    assert (found.count, found.kernels) == (9, 10)
    assert (found.work_ns, found.kernels_work_ns) == (9_000, 1_000_000)
    assert [(k.name, k.count) for k in found.names] == [("kernel", 9)]


def test_no_op_at_all_is_no_launch():
    found = _health(_ops([], [], []), [(0, 100)])
    assert (found.delays, found.delay_ns, found.most_pending) == (0, None, 0)
    assert found.empty_ns.tolist() == [100]
