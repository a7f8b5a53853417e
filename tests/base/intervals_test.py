"""Interval maths, drawn: one character an instant, `-` in the set and `_` outside."""

from __future__ import annotations

import pickle
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from critpath.base.intervals import I64, Intervals, clip_spans, coverage, overlap, union

FAR = 2**62


def spans(*rows: str) -> tuple[I64, I64]:
    """The spans of some drawings, row after row, as (starts, ends)."""
    found = []
    for row in rows:
        at = 0
        for mark, run in groupby(row):
            length = len(list(run))
            if mark == "-":
                found.append((at, at + length))
            at += length
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def read(row: str) -> Intervals:
    """The set that a drawing shows."""
    return Intervals(*spans(row))


def drawn(intervals: Intervals, width: int) -> str:
    """The drawing of a set inside [0, width)."""
    return "".join("-" if any(a <= at < b for a, b in intervals.pairs()) else "_" for at in range(width))


@pytest.mark.parametrize(
    ("rows", "result"),
    [
        ((), ""),
        (("____",), "____"),
        (("_--_",), "_--_"),
        # overlapping
        (("_---___", "___---_"), "_-----_"),
        # apart
        (("_-_____", "____--_"), "_-__--_"),
        # nested: the inner end is no end
        (("_------", "__-____"), "_------"),
        # nested, and more behind the inner one
        (("-----____", "_-_______", "___-_____", "______--_"), "-----_--_"),
        # the same span twice
        (("_--_", "_--_"), "_--_"),
        # the same start
        (("_-____", "_---__"), "_---__"),
        # the same end
        (("___-__", "_---__"), "_---__"),
        # later rows first
        (("_____-_", "__--___", "-______"), "-_--_-_"),
    ],
)
def test_union_of_rows(rows: tuple[str, ...], result: str) -> None:
    assert union(*spans(*rows)) == read(result)


def test_touching_spans_merge() -> None:
    #    _ - - _ _
    #    _ _ _ - _
    assert union(*spans("_--__", "___-_")).pairs() == [(1, 4)]


def test_spans_one_instant_apart_stay_apart() -> None:
    #    _ - _ _ _
    #    _ _ _ - _
    assert union(*spans("_-___", "___-_")).pairs() == [(1, 2), (3, 4)]


def test_empty_and_inverted_spans_vanish() -> None:
    assert union(np.array([3, 9, 1]), np.array([3, 4, 2])).pairs() == [(1, 2)]
    assert Intervals.of((5, 5), (7, 2)) == Intervals.empty()


def test_an_open_end_is_an_empty_span() -> None:
    null = -(2**63)
    assert union(np.array([10, 20]), np.array([null, 21])).pairs() == [(20, 21)]


def test_union_leaves_its_input_alone() -> None:
    starts, ends = np.array([5, 1]), np.array([6, 2])
    union(starts, ends).starts_ns[:] = 0
    assert (starts.tolist(), ends.tolist()) == ([5, 1], [6, 2])


def test_union_of_unequal_columns_raises() -> None:
    with pytest.raises(ValueError, match="2 starts and 1 ends"):
        union(np.array([1, 5]), np.array([9]))


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0)])
def test_union_of_nothing_is_empty(shape: tuple[int, ...]) -> None:
    nothing = np.empty(shape, np.int64)
    assert union(nothing, nothing) == Intervals.empty()


BINARY = [
    # A,          B,          either,     both,       only A
    ("________", "________", "________", "________", "________"),
    ("_--_-___", "________", "_--_-___", "________", "_--_-___"),
    ("________", "_--_-___", "_--_-___", "________", "________"),
    # overlapping at either side
    ("_---____", "__---___", "_----___", "__--____", "_-______"),
    ("__---___", "_---____", "_----___", "__--____", "____-___"),
    # nested both ways
    ("-------_", "__--____", "-------_", "__--____", "--__---_"),
    ("__--____", "-------_", "-------_", "__--____", "________"),
    # touching: no instant in common
    ("_--_____", "___--___", "_----___", "________", "_--_____"),
    # one span across many
    ("_------_", "--_-_--_", "-------_", "_-_-_--_", "__-_-___"),
    # many across one gap
    ("-_-_-_-_", "_-----__", "-------_", "__-_-___", "-_____-_"),
    # equal
    ("_--_--__", "_--_--__", "_--_--__", "_--_--__", "________"),
    # subtracting what lies before, between and after
    ("__-__-__", "-__-___-", "-_--_-_-", "________", "__-__-__"),
]


@pytest.mark.parametrize(("a", "b", "either", "both", "only_a"), BINARY)
def test_two_sets(a: str, b: str, either: str, both: str, only_a: str) -> None:
    width = len(a)
    assert drawn(read(a).union(read(b)), width) == either
    assert drawn(read(a).intersect(read(b)), width) == both
    assert drawn(read(a).subtract(read(b)), width) == only_a


@pytest.mark.parametrize(
    ("row", "window", "result"),
    [
        # window: [2, 6)
        ("________", (2, 6), "__----__"),
        ("--------", (2, 6), "________"),
        ("___-____", (2, 6), "__-_--__"),
        # a span over an edge
        ("_--_____", (2, 6), "___---__"),
        ("_____--_", (2, 6), "__---___"),
        # spans that only touch the window, and spans outside
        ("--____--", (2, 6), "__----__"),
        ("-______-", (2, 6), "__----__"),
        # an empty window and an inverted one
        ("_--_____", (4, 4), "________"),
        ("_--_____", (6, 2), "________"),
    ],
)
def test_gaps_of_a_window(row: str, window: tuple[int, int], result: str) -> None:
    assert drawn(read(row).gaps(*window), len(row)) == result


@pytest.mark.parametrize(
    ("window", "result"),
    [
        # 0 1 2 3 4 5 6 7 8
        # _ - - - _ _ - - _
        ((0, 9), 5),
        ((1, 4), 3),
        ((2, 3), 1),
        ((2, 7), 3),
        # in a gap, and outside
        ((4, 6), 0),
        ((-9, 0), 0),
        ((8, 99), 0),
        # empty and inverted
        ((2, 2), 0),
        ((7, 1), 0),
        # longer than everything
        ((-FAR, FAR), 5),
    ],
)
def test_clip_to_a_window(window: tuple[int, int], result: int) -> None:
    clipped = read("_---__--_").clip(np.array([window[0]]), np.array([window[1]]))
    assert clipped.tolist() == [result]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 3), (1, 1, 2)])
@pytest.mark.parametrize("row", ["____", "_--_"])
def test_windows_and_instants_keep_their_shape(row: str, shape: tuple[int, ...]) -> None:
    instants = np.ones(shape, np.int64)
    busy = read(row)
    assert busy.clip(instants, instants + 1).shape == shape
    assert coverage(busy, instants).shape == shape
    assert busy.contains(instants).shape == shape


def test_contains_a_start_and_not_an_end() -> None:
    #    0 1 2 3 4
    #    _ - - _ -
    inside = read("_--_-").contains(np.array([-1, 0, 1, 2, 3, 4, 5]))
    assert inside.tolist() == [False, False, True, True, False, True, False]


def test_clip_spans_keeps_overlaps_and_order() -> None:
    #            [     )
    #    _ _ _ - - - - -
    #    _ - - - - _ _ _
    #    - - _ _ _ _ _ _    outside
    #    _ _ _ _ _ _ _ -    touches
    starts, ends = clip_spans(*spans("___-----", "_----___", "--______", "_______-"), 3, 7)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [(3, 7), (3, 5)]


def test_clip_spans_to_an_inverted_window_keeps_nothing() -> None:
    starts, ends = clip_spans(*spans("_-----__"), 5, 2)
    assert (starts.size, ends.size) == (0, 0)


def test_the_longest_set_has_its_full_length() -> None:
    everything = Intervals.of((-FAR, FAR))
    assert everything.total_ns == 2**63
    assert everything.subtract(Intervals.of((0, 1))).total_ns == 2**63 - 1


def test_an_instant_far_behind_a_set_counts_all_of_it() -> None:
    early = Intervals.of((-FAR, -FAR + 5))
    assert coverage(early, np.array([2**63 - 1, -(2**63)])).tolist() == [5, 0]


def test_equal_sets_are_equal_and_not_hashable() -> None:
    assert Intervals.of((1, 2), (2, 3)) == Intervals.of((1, 3))
    assert Intervals.of((1, 3)) != Intervals.of((1, 4))
    assert Intervals.empty() != "nothing"
    with pytest.raises(TypeError):
        hash(Intervals.empty())


def test_a_set_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(read("_--_-"))) == read("_--_-")  # noqa: S301


# Against sets of integers.

Pairs = list[tuple[int, int]]

near = st.integers(-12, 12)
pairs_of_near = st.lists(st.tuples(near, near), max_size=12)
shifts = st.integers(-FAR + 20, FAR - 20)


def columns(pairs: Pairs) -> tuple[I64, I64]:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def instants(pairs: Pairs) -> set[int]:
    return {at for a, b in pairs for at in range(a, b)}


def moved(pairs: Pairs, by: int) -> Pairs:
    return [(a + by, b + by) for a, b in pairs]


def assert_canonical(intervals: Intervals) -> None:
    assert intervals.starts_ns.dtype == intervals.ends_ns.dtype == np.int64
    assert (intervals.starts_ns < intervals.ends_ns).all()
    assert (intervals.ends_ns[:-1] < intervals.starts_ns[1:]).all()


@given(pairs_of_near, pairs_of_near)
def test_operations_agree_with_sets_of_integers(a: Pairs, b: Pairs) -> None:
    x, y = union(*columns(a)), union(*columns(b))
    for ours, theirs in [
        (x, instants(a)),
        (x.union(y), instants(a) | instants(b)),
        (x.intersect(y), instants(a) & instants(b)),
        (x.subtract(y), instants(a) - instants(b)),
    ]:
        assert_canonical(ours)
        assert instants(ours.pairs()) == theirs
        assert ours.total_ns == len(theirs)


@given(pairs_of_near, near, near)
def test_gaps_agree_with_sets_of_integers(a: Pairs, start: int, end: int) -> None:
    gaps = union(*columns(a)).gaps(start, end)
    assert_canonical(gaps)
    assert instants(gaps.pairs()) == set(range(start, end)) - instants(a)


@given(pairs_of_near, pairs_of_near, shifts)
def test_clip_coverage_and_contains_agree_with_sets_of_integers(a: Pairs, windows: Pairs, by: int) -> None:
    busy = union(*columns(moved(a, by)))
    starts, ends = columns(moved(windows, by))
    inside = instants(a)
    assert busy.clip(starts, ends).tolist() == [len(inside & set(range(p, q))) for p, q in windows]
    assert coverage(busy, starts).tolist() == [sum(at < p for at in inside) for p, _ in windows]
    assert busy.contains(starts).tolist() == [p in inside for p, _ in windows]


@given(pairs_of_near, near, near)
def test_clip_spans_agrees_with_sets_of_integers(a: Pairs, start: int, end: int) -> None:
    starts, ends = clip_spans(*columns(a), start, end)
    left = list(zip(starts.tolist(), ends.tolist(), strict=True))
    expected = [set(range(p, q)) & set(range(start, end)) for p, q in a]
    assert [instants([span]) for span in left] == [kept for kept in expected if kept]


@given(pairs_of_near, pairs_of_near)
def test_de_morgan_in_a_window(a: Pairs, b: Pairs) -> None:
    x, y = union(*columns(a)), union(*columns(b))
    assert x.union(y).gaps(-20, 20) == x.gaps(-20, 20).intersect(y.gaps(-20, 20))
    assert x.intersect(y).gaps(-20, 20) == x.gaps(-20, 20).union(y.gaps(-20, 20))


@given(pairs_of_near, pairs_of_near)
def test_both_and_only_one_add_up(a: Pairs, b: Pairs) -> None:
    x, y = union(*columns(a)), union(*columns(b))
    assert x.intersect(y).total_ns + x.subtract(y).total_ns == x.total_ns
    assert x.union(y).total_ns == x.total_ns + y.subtract(x).total_ns


@given(pairs_of_near)
def test_union_is_idempotent(a: Pairs) -> None:
    once = union(*columns(a))
    assert once.union(once) == once.intersect(once) == union(once.starts_ns, once.ends_ns) == once
    assert once.subtract(once) == Intervals.empty()


@given(st.lists(st.tuples(near, near), max_size=12).flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_order_of_spans_makes_no_difference(case: tuple[Pairs, Pairs]) -> None:
    assert union(*columns(case[0])) == union(*columns(case[1]))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["sorted", "runs", "shuffled"]), st.integers(1, 40))
def test_union_of_long_columns_in_any_order_is_that_of_the_sorted_ones(seed: int, order: str, longest: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 20_000, 1_000))
    ends = starts + rng.integers(0, longest, 1_000)
    rows = {
        "sorted": np.arange(1_000),
        "runs": np.argsort(rng.integers(0, 2, 1_000), kind="stable"),
        "shuffled": rng.permutation(1_000),
    }[order]
    busy = union(starts[rows], ends[rows])
    assert_canonical(busy)
    assert instants(busy.pairs()) == instants(list(zip(starts.tolist(), ends.tolist(), strict=True)))


@given(pairs_of_near, near)
def test_splitting_spans_at_a_point_changes_nothing(a: Pairs, point: int) -> None:
    split = [part for p, q in a for part in ((p, min(q, point)), (max(p, point), q))]
    assert union(*columns(split)) == union(*columns(a))


@given(pairs_of_near, near, near, near)
def test_splitting_a_window_at_a_point_changes_no_total(a: Pairs, p: int, q: int, r: int) -> None:
    start, point, end = sorted((p, q, r))
    busy = union(*columns(a))
    whole, first, second = busy.clip(np.array([start, start, point]), np.array([end, point, end])).tolist()
    assert first + second == whole
    assert busy.gaps(start, point).union(busy.gaps(point, end)) == busy.gaps(start, end)


@given(pairs_of_near, pairs_of_near, shifts)
def test_shifting_changes_no_length(a: Pairs, b: Pairs, by: int) -> None:
    x, y = union(*columns(a)), union(*columns(b))
    far_x, far_y = union(*columns(moved(a, by))), union(*columns(moved(b, by)))
    assert far_x.pairs() == moved(x.pairs(), by)
    assert far_x.intersect(far_y).pairs() == moved(x.intersect(y).pairs(), by)
    assert far_x.subtract(far_y).pairs() == moved(x.subtract(y).pairs(), by)
    assert far_x.gaps(by - 15, by + 15).pairs() == moved(x.gaps(-15, 15).pairs(), by)


edges = st.one_of(st.integers(-FAR, FAR), st.sampled_from([-FAR, -FAR + 1, -1, 0, 1, FAR - 1, FAR]))


@given(st.lists(st.tuples(edges, edges), max_size=6), edges, edges)
def test_far_instants_do_not_overflow(a: Pairs, start: int, end: int) -> None:
    busy = union(*columns(a))
    assert busy.total_ns == sum(q - p for p, q in busy.pairs())
    inside = sum(max(min(q, end) - max(p, start), 0) for p, q in busy.pairs())
    if inside < 2**63:
        assert busy.clip(np.array([start]), np.array([end])).tolist() == [inside]
    assert busy.gaps(start, end).total_ns == max(end - start, 0) - inside


def test_windows_that_overlap_each_count_what_they_share() -> None:
    # span          [10, 30)
    # windows    [0, 20)
    #               [15, 40)      5 more of it than their union holds
    starts, ends = np.array([0, 15]), np.array([20, 40])
    assert overlap(np.array([10, 50]), np.array([30, 60]), starts, ends).tolist() == [10 + 15, 0]
