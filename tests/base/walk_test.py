"""Walks back from the work that ended an interval, drawn."""

from __future__ import annotations

import numpy as np

from critpath.base.walk import LATE, NEVER, RAN, STALLED, Works, latest_producers, walk_back


def _walk(
    spans: list[tuple[int, int]], ready: list[int], latest: list[int], begin: int, floor: int, ceiling: int
) -> list[tuple[int, int, int, int]]:
    works = Works(np.array([s for s, _ in spans]), np.array([e for _, e in spans]), np.array(ready), np.array(latest))
    pieces = walk_back(works, np.array([begin]), np.array([floor]), np.array([ceiling]))
    assert (pieces.interval == 0).all()
    rows = zip(*(c.tolist() for c in (pieces.start_ns, pieces.end_ns, pieces.kind, pieces.work)), strict=True)
    return sorted(rows)


def test_each_producer_owns_the_time_in_which_it_ran() -> None:
    # 0   [0 ──── 10)
    # 1              [10 ─ 14)      issued early: what held it is 0
    # floor 2 ............... ceiling 14
    assert _walk([(0, 10), (10, 14)], [-5, 0], [-1, 0], 1, 2, 14) == [(2, 10, RAN, 0), (10, 14, RAN, 1)]


def test_time_before_a_late_launch_is_late_and_before_a_start_a_stall() -> None:
    # 0   [0 ─ 4)
    # 1            ready 7   [9 ─ 12)
    found = _walk([(0, 4), (9, 12)], [-5, 7], [-1, 0], 1, 0, 12)
    assert found == [(0, 4, RAN, 0), (4, 7, LATE, 1), (7, 9, STALLED, 1), (9, 12, RAN, 1)]


def test_without_a_producer_time_before_the_launch_is_late() -> None:
    assert _walk([(9, 12)], [7], [-1], 0, 0, 12) == [(0, 7, LATE, 0), (7, 9, STALLED, 0), (9, 12, RAN, 0)]


def test_work_without_a_launch_stalls_from_its_producers_end() -> None:
    found = _walk([(0, 4), (9, 12)], [NEVER, NEVER], [-1, 0], 1, 0, 12)
    assert found == [(0, 4, RAN, 0), (4, 9, STALLED, 1), (9, 12, RAN, 1)]


def test_a_walk_without_launch_and_producer_ends_there() -> None:
    assert _walk([(9, 12)], [NEVER], [-1], 0, 0, 12) == [(9, 12, RAN, 0)]


def test_a_producer_that_overlaps_is_cut_where_the_walk_stands() -> None:
    # 0   [0 ──────── 11)           ends after 1 began: the clock's error, or an early start
    # 1            [9 ─── 14)
    assert _walk([(0, 11), (9, 14)], [-5, 0], [-1, 0], 1, 2, 14) == [(2, 9, RAN, 0), (9, 14, RAN, 1)]


def test_nothing_is_told_above_the_ceiling_or_of_no_work() -> None:
    assert _walk([(0, 10)], [-5], [-1], 0, 2, 6) == [(2, 6, RAN, 0)]
    assert _walk([(0, 10)], [-5], [-1], -1, 2, 6) == []


def test_the_latest_producer_is_the_one_that_ends_last_and_the_first_of_equals() -> None:
    first, producer = np.array([0, 0, 2, 5]), np.array([0, 0, 0, 1, 1])
    assert latest_producers(first, producer, np.array([5, 9, 20])).tolist() == [-1, 0, 1]
    assert latest_producers(np.array([0, 2]), np.array([0, 0]), np.array([3])).tolist() == [0]
