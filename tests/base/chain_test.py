"""Chains followed back through producers, launches and waiting threads, drawn."""

from __future__ import annotations

import numpy as np
import pytest

from critpath.base.chain import GAP, HOST, LAUNCH, RAN, UNKNOWN, WAIT, Chain, Issued, Waits, follow_back
from critpath.base.walk import NEVER

LATENCY = 2
Link = tuple[int, int, int, int]


def follow(
    spans: list[tuple[int, int]],
    called: list[int],
    edges: dict[int, list[int]],
    floor: int,
    ceiling: int,
    *,
    waits: tuple[tuple[int, int, int], ...] = (),
    begin: int | None = None,
    in_the_way: dict[int, tuple[int, int]] | None = None,
) -> list[Link]:
    """(start, end, kind, work), earliest first; all work is issued by thread 0, waits are (start, end, awaited).

    `in_the_way` holds (what is inferred to have been in the way, until when).
    """
    ahead = in_the_way or {}
    calls = np.array(called, np.int64)
    work = Issued(
        np.array([s for s, _ in spans], np.int64),
        np.array([e for _, e in spans], np.int64),
        calls,
        np.where(calls == NEVER, NEVER, calls + LATENCY),
        np.zeros(len(spans), np.int64),
    )
    producers = [edges.get(i, []) for i in range(len(spans))]
    chain = Chain(
        np.cumsum([0, *map(len, producers)]).astype(np.int64),
        np.array([p for ps in producers for p in ps], np.int64),
        np.array([ahead.get(i, (-1, 0))[0] for i in range(len(spans))], np.int64),
        np.array([ahead.get(i, (-1, 0))[1] for i in range(len(spans))], np.int64),
    )
    columns = np.array(waits, np.int64).reshape(-1, 3)
    held = Waits(np.array([0, len(waits)], np.int64), columns[:, 0], columns[:, 1], columns[:, 2])
    first = np.array([len(spans) - 1 if begin is None else begin], np.int64)
    found = follow_back(work, chain, held, first, (np.array([floor], np.int64), np.array([ceiling], np.int64)))
    rows = zip(found.start_ns.tolist(), found.end_ns.tolist(), found.kind.tolist(), found.work.tolist(), strict=True)
    links = sorted(rows)
    assert [a for a, *_ in links] == [floor, *(b for _, b, *_ in links[:-1])]
    assert links[-1][1] == ceiling
    return links


def test_the_last_producer_holds_what_was_issued_early() -> None:
    # 0   [0 ──── 10)
    # 1   [0 ── 6)
    # 2                [12 ─ 14)    issued at 1, waits for 0 and 1: 0 ended last
    found = follow([(0, 10), (0, 6), (12, 14)], [-5, -5, 1], {2: [1, 0]}, 0, 14)
    assert found == [(0, 10, RAN, 0), (10, 12, GAP, 2), (12, 14, RAN, 2)]


def test_a_late_launch_holds_what_its_producer_no_longer_does() -> None:
    # 0   [0 ─ 4)
    # 1         call 7    [9 ─ 12)    issued when 0 had ended: back along the thread
    found = follow([(0, 4), (9, 12)], [-5, 7], {1: [0]}, 0, 12)
    assert found == [(0, 7, HOST, 1), (7, 9, LAUNCH, 1), (9, 12, RAN, 1)]


def test_a_thread_that_waited_leads_to_what_it_waited_for() -> None:
    # 0   [0 ──── 5)
    # thread      wait [2 ── 6)   work [6 ─ 8)  call 8
    # 1                                             [10 ─ 12)
    found = follow([(0, 5), (10, 12)], [-5, 8], {}, 1, 12, waits=((2, 6, 0),))
    assert found == [(1, 5, RAN, 0), (5, 6, WAIT, 0), (6, 8, HOST, 1), (8, 10, LAUNCH, 1), (10, 12, RAN, 1)]


def test_a_wait_for_what_had_long_ended_held_nobody() -> None:
    # The naive chain goes on at 0, which ended before the wait began.
    found = follow([(0, 3), (10, 12)], [-5, 8], {}, 1, 12, waits=((5, 6, 0),))
    assert found == [(1, 8, HOST, 1), (8, 10, LAUNCH, 1), (10, 12, RAN, 1)]


def test_a_wait_whose_work_is_unknown_is_told_and_the_thread_followed() -> None:
    found = follow([(10, 12)], [8], {}, 0, 12, waits=((3, 6, -1),))
    assert found == [(0, 3, HOST, 0), (3, 6, WAIT, -1), (6, 8, HOST, 0), (8, 10, LAUNCH, 0), (10, 12, RAN, 0)]


def test_what_was_in_the_way_holds_where_it_was_later_than_producer_and_launch() -> None:
    # 0   [0 ─ 4)
    # 1   [1 ────── 8)              in the way of 2 until it ended
    # 2                [9 ─ 12)
    spans, called, edges = [(0, 4), (1, 8), (9, 12)], [-5, -5, -3], {2: [0]}
    found = follow(spans, called, edges, 1, 12, in_the_way={2: (1, 8)})
    assert found == [(1, 8, RAN, 1), (8, 9, GAP, 2), (9, 12, RAN, 2)]
    early = follow(spans, called, edges, 1, 12, in_the_way={2: (1, 3)})
    assert early == [(1, 4, RAN, 0), (4, 9, GAP, 2), (9, 12, RAN, 2)]


def test_work_without_a_call_is_held_by_its_producer_and_without_one_unknown() -> None:
    found = follow([(2, 4), (9, 12)], [NEVER, NEVER], {1: [0]}, 0, 12)
    assert found == [(0, 2, UNKNOWN, 0), (2, 4, RAN, 0), (4, 9, GAP, 1), (9, 12, RAN, 1)]


def test_work_outside_the_span_is_cut_and_time_after_the_last_work_unknown() -> None:
    assert follow([(0, 10)], [-5], {}, 2, 6) == [(2, 6, RAN, 0)]
    assert follow([(0, 4)], [-5], {}, 2, 6) == [(2, 4, RAN, 0), (4, 6, UNKNOWN, -1)]
    assert follow([(0, 4)], [-5], {}, 2, 6, begin=-1) == [(2, 6, UNKNOWN, -1)]


def test_records_that_contradict_each_other_end_in_unknown() -> None:
    # Two pieces of work without length wait for each other at one instant.
    found = follow([(5, 5), (5, 5)], [-5, -5], {0: [1], 1: [0]}, 0, 5)
    assert found == [(0, 5, UNKNOWN, -1)]


@pytest.mark.parametrize("seed", range(20))
def test_links_tile_any_span(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 40
    start = random.integers(0, 500, n)
    spans = [(int(s), int(s + d)) for s, d in zip(start, random.integers(0, 60, n), strict=True)]
    called = [
        int(s - d) if random.random() < 0.9 else NEVER for s, d in zip(start, random.integers(-5, 80, n), strict=True)
    ]
    edges = {i: random.integers(0, n, random.integers(0, 4)).tolist() for i in range(n)}
    began = np.sort(random.integers(0, 500, 15))
    waits = tuple(
        (int(b), int(b + d), int(w))
        for b, d, w in zip(began, random.integers(0, 50, 15), random.integers(-1, n, 15), strict=True)
    )
    ahead = {i: (int(random.integers(n)), int(random.integers(0, 500))) for i in range(0, n, 3)}
    follow(spans, called, edges, 100, 450, waits=waits, begin=int(random.integers(n)), in_the_way=ahead)
