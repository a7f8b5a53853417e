"""The pace of ranges against brute force, instant by instant, and the naive figures that are wrong."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from critpath.base.intervals import Intervals
from critpath.base.stats import theil_sen_slope
from critpath.model.trace import Strings
from critpath.rank.nvtx.pacing import Pacing, pacing
from critpath.rank.nvtx.projection import Projection, for_unit, project
from critpath.rank.process_ops import ProcessOps
from critpath.rank.windows import Windows
from rank.nvtx import brute
from rank.nvtx.made import Row, ops_of, ranges_of
from rank.nvtx.projection_test import END, random_ranges

WINDOWS = [(5, 40), (40, 75), (90, 120), (120, 160), (160, 161)]


def windows_of(edges: list[tuple[int, int]]) -> Windows:
    starts, ends = (np.array(column, np.int64) for column in zip(*edges, strict=True))
    return Windows(
        kind="nvtx",
        text="step",
        scope="period",
        labels=("",) * starts.size,
        index=np.arange(starts.size),
        starts_ns=starts,
        ends_ns=ends,
        outside_ns=np.zeros(starts.size, np.int64),
    )


def _paced(ranges: Projection, ops: ProcessOps, edges: list[tuple[int, int]], gaps: Intervals | None = None) -> Pacing:
    unit = for_unit(ranges, ops, np.ones(len(ops), np.bool_))
    return pacing(ops, ranges, unit, windows_of(edges), [gaps or Intervals.empty()])


def _within(spans: list[tuple[int, int]], edge: tuple[int, int]) -> int:
    return brute.union([(max(a, edge[0]), min(b, edge[1])) for a, b in spans])


@pytest.mark.parametrize("seed", range(120))
def test_random_ranges_equal_brute_force(seed: int):
    rows, ops, projected, made = random_ranges(seed)
    random = np.random.default_rng(seed)
    pieces = np.sort(random.choice(180, 12, replace=False))
    found = _paced(projected, made, WINDOWS, Intervals(pieces, pieces + 1))
    ends = brute.closed(rows, END)
    told = {(row.domain, row.name): row for row in found.ranges}
    hosts = {row.path.rsplit(" > ", 1)[-1]: row for row in found.host_only}
    for domain, name in {(r[4], r[0]) for r in rows}:
        group = [i for i, row in enumerate(rows) if (row[4], row[0]) == (domain, name) and ends[i] > row[2]]
        outer = [i for i in group if not any(_holds(rows, ends, j, i) for j in group)]
        owned = {o for i in group for o in brute.owned(rows[i], ends[i], ops)}
        whole = [(o.start, o.end) for o in owned]
        host = [(rows[i][2], ends[i]) for i in group]
        if not sum(_within(whole, edge) for edge in WINDOWS):
            assert (domain, name) not in told
            if not owned and len([1 for d, n in {(r[4], r[0]) for r in rows} if n == name]) == 1:
                expected = [_within(host, edge) for edge in WINDOWS]
                assert sum(expected) == 0 or hosts[name].host_ns.tolist() == expected
            continue
        row = told[domain, name]
        any_thread = [(o.start, o.end) for o in ops if o.thread >= 0 and any(a <= o.called < b for a, b in host)]
        spans = []
        counts = Counter[int]()
        for i in outer:
            its = [(o.start, o.end) for o in brute.owned(rows[i], ends[i], ops)]
            at = min(a for a, _ in its) if its else rows[i][2]
            counts.update(k for k, (a, b) in enumerate(WINDOWS) if a <= at < b)
            spans += [(min(a for a, _ in its), max(b for _, b in its))] if its else []
        for k, edge in enumerate(WINDOWS):
            assert row.device_ns[k] == _within(whole, edge)
            assert row.compute_ns[k] == _within([(o.start, o.end) for o in owned if o.compute], edge)
            assert row.communication_ns[k] == _within([(o.start, o.end) for o in owned if not o.compute], edge)
            assert row.any_thread_ns[k] == _within(any_thread, edge)
            assert row.host_ns[k] == _within(host, edge)
            assert row.instances[k] == counts[k]
        inside = {p for p in pieces.tolist() if any(a <= p < b for a, b in spans)}
        assert row.gap_ns == (sum(any(a <= p < b for a, b in WINDOWS) for p in inside),)
        assert sum(row.histogram) <= sum(counts.values())
        assert row.trend == theil_sen_slope(np.arange(len(WINDOWS)), row.device_ns)
        ran = [o for o in owned if sum(_within([(o.start, o.end)], edge) for edge in WINDOWS)]
        work = sum(_within([(o.start, o.end)], edge) for o in ran for edge in WINDOWS)
        assert [(k.count, k.work_ns) for k in row.kernels] == ([(len(ran), work)] if ran else [])


def _holds(rows: list[Row], ends: list[int], j: int, i: int) -> bool:
    """Whether j is an earlier row of i's thread, in order of (start, longest), that holds it."""
    if j == i or rows[j][1] != rows[i][1]:
        return False
    earlier = (rows[j][2], -ends[j], j) < (rows[i][2], -ends[i], i)
    return earlier and ends[i] <= ends[j]


def _steps(device: list[int], *, lag: int = 0) -> Pacing:
    """One range a step of 1,000 ns; its op takes as long as told and runs `lag` ns after its call."""
    rows: list[Row] = [("block", 1, 1_000 * k, 1_000 * k + 50, 0) for k in range(len(device))]
    called = np.arange(len(device)) * 1_000 + 10
    one = np.ones(len(device), np.int64)
    made, strings = ops_of(called, one, called + lag, np.array(device)), Strings({})
    projected = project(made, ranges_of(rows, strings), strings, 10**6)
    return _paced(projected, made, [(1_000 * k, 1_000 * k + 1_000) for k in range(len(device))])


def test_a_trend_is_told_of_a_range_that_slows_down_and_not_of_one_outlier():
    slowing = _steps([100 + 3 * k for k in range(20)]).ranges[0]
    assert slowing.trend == 3
    outlier = _steps([100] * 19 + [900]).ranges[0]
    assert outlier.trend == 0
    naive = np.polyfit(np.arange(20), outlier.device_ns, 1)[0]
    assert naive > 5


def test_no_trend_of_three_windows():
    assert _steps([100, 200, 300]).ranges[0].trend is None


def test_work_counts_in_the_window_in_which_it_ran_not_in_the_one_that_launched_it():
    paced = _steps([100, 200, 300, 400], lag=1_500).ranges[0]
    assert paced.device_ns.tolist() == [0, 100, 200, 300]
    assert paced.host_ns.tolist() == [50, 50, 50, 50]
    assert paced.instances.tolist() == [0, 1, 1, 1]


def test_a_range_within_itself_counts_once():
    rows: list[Row] = [("call", 1, 0, 100, 0), ("call", 1, 10, 90, 0), ("call", 1, 200, 300, 0)]
    called = np.array([20, 210])
    made, strings = ops_of(called, np.ones(2, np.int64), called + 5, np.array([40, 40])), Strings({})
    projected = project(made, ranges_of(rows, strings), strings, 1_000)
    row = _paced(projected, made, [(0, 1_000)]).ranges[0]
    assert row.instances.tolist() == [2]
    assert row.device_ns.tolist() == [80]
    summed = for_unit(projected, made, np.ones(2, np.bool_)).device_ns.sum()
    assert summed == 120


def test_the_largest_ranges_are_told_and_the_others_counted():
    rows: list[Row] = [(f"layer {'abcdefghijklmnopqrstuvwxyz'[k]}", 1, 100 * k, 100 * k + 50, 0) for k in range(26)]
    called = np.arange(26) * 100 + 10
    made, strings = ops_of(called, np.ones(26, np.int64), called + 5, 1 + np.arange(26)), Strings({})
    projected = project(made, ranges_of(rows, strings), strings, 10_000)
    found = _paced(projected, made, [(0, 10_000)])
    assert [int(row.device_ns.sum()) for row in found.ranges] == list(range(26, 6, -1))
    assert found.ranges_left == 6


def test_a_backward_pass_belongs_to_its_range_by_time_of_any_thread_only():
    # The main thread waits in backward() while autograd's thread launches.
    rows: list[Row] = [("forward", 1, 0, 100, 0), ("backward", 1, 100, 300, 0)]
    thread, called = np.array([1, 2]), np.array([50, 200])
    made, strings = ops_of(called, thread, called + 10, np.array([40, 80])), Strings({})
    projected = project(made, ranges_of(rows, strings), strings, 1_000)
    found = _paced(projected, made, [(0, 1_000)])
    assert [row.name for row in found.ranges] == ["forward"]
    assert [(row.path, row.any_thread_ns.tolist()) for row in found.host_only] == [("backward", [80])]
