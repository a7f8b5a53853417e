"""Segments cut by a set, against a model of single instants."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from critpath.base.intervals import Intervals
from critpath.base.segments import inside, outside, owned_spans

SPANS = st.lists(st.tuples(st.integers(-20, 40), st.integers(0, 15)), max_size=8)


def _arrays(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([s for s, _ in spans], np.int64)
    return starts, starts + np.array([n for _, n in spans], np.int64)


def _instants(start: int, end: int) -> set[int]:
    return set(range(start, end))


@given(SPANS, SPANS)
def test_inside_and_outside_share_each_segment_out(
    segments: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    starts, ends = _arrays(segments)
    chosen = Intervals.of(*((s, s + n) for s, n in spans))
    member = {i for a, b in chosen.pairs() for i in range(a, b)}
    for cut, keeps in ((inside, True), (outside, False)):
        source, _, begin, end = cut(starts, ends, chosen)
        for row in range(starts.size):
            found: set[int] = set()
            for a, b in zip(begin[source == row].tolist(), end[source == row].tolist(), strict=True):
                assert b > a
                assert not found & _instants(a, b), "pieces of a segment overlap"
                found |= _instants(a, b)
            whole = _instants(int(starts[row]), int(ends[row]))
            assert found == {i for i in whole if (i in member) is keeps}


def test_inside_tells_the_span_even_where_spans_touch() -> None:
    # segment   [0 ───────── 9)
    # spans     [0 ─ 3)[3 ─ 6)  [8 ─ 12)
    spans = Intervals(np.array([0, 3, 8]), np.array([3, 6, 12]))
    source, place, begin, end = inside(np.array([0]), np.array([9]), spans)
    assert source.tolist() == [0, 0, 0]
    assert place.tolist() == [0, 1, 2]
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == [(0, 3), (3, 6), (8, 9)]


def test_without_segments_there_are_no_pieces() -> None:
    nothing = np.empty(0, np.int64)
    for cut in (inside, outside):
        assert all(column.size == 0 for column in cut(nothing, nothing, Intervals.of((0, 5))))


@given(SPANS)
def test_the_span_that_begins_first_owns_what_others_share(spans: list[tuple[int, int]]) -> None:
    starts, ends = _arrays(spans)
    owned, owner = owned_spans(starts, ends)
    taken: set[int] = set()
    for (a, b), row in zip(owned.pairs(), owner.tolist(), strict=True):
        assert starts[row] <= a < b <= ends[row]
        assert not taken & _instants(a, b)
        taken |= _instants(a, b)
        earlier = [i for i in range(starts.size) if starts[i] < starts[row]]
        assert not any(_instants(int(starts[i]), int(ends[i])) & _instants(a, b) for i in earlier)
    assert taken == {i for s, e in zip(starts.tolist(), ends.tolist(), strict=True) for i in range(s, e)}
