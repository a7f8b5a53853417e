from __future__ import annotations

import numpy as np
import pytest

from critpath.base.intervals import I64
from critpath.base.nesting import crossings, enclosing_ends, inherited, innermost, insides, repeats


def _rows(seed: int) -> tuple[I64, I64, I64]:
    """(owner, starts, ends) of random spans that nest, touch, cross and coincide, in order."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 40))
    owner = random.integers(0, 3, n)
    starts = random.integers(0, 30, n)
    ends = starts + random.integers(0, int(random.choice([3, 10, 40])), n)
    order = np.lexsort((-ends, starts, owner))
    return owner[order], starts[order], ends[order]


def _latest_open(owner: I64, starts: I64, ends: I64, who: int, at: int, rows: range) -> int:
    open_rows = [i for i in rows if owner[i] == who and starts[i] <= at < ends[i]]
    return max(open_rows, key=lambda i: (starts[i], i), default=-1)


@pytest.mark.parametrize("seed", range(80))
def test_random_spans_equal_brute_force(seed: int):
    owner, starts, ends = _rows(seed)
    n = owner.size
    around, depth = insides(owner, starts, ends)
    expected = [_latest_open(owner, starts, ends, owner[i], starts[i], range(i)) for i in range(n)]
    assert around.tolist() == expected
    assert all(depth[i] == (0 if expected[i] < 0 else depth[expected[i]] + 1) for i in range(n))
    pairs = [(a, b) for a in range(n) for b in range(n) if owner[a] == owner[b]]
    partly = [(a, b) for a, b in pairs if starts[a] < starts[b] < ends[a] < ends[b]]
    assert np.flatnonzero(crossings(owner, starts, ends)).tolist() == sorted({i for pair in partly for i in pair})
    held = {b for a, b in pairs if a < b and ends[b] <= ends[a]}
    assert np.flatnonzero(repeats(owner, starts, ends)).tolist() == sorted(held)


@pytest.mark.parametrize("seed", range(80))
def test_innermost_spans_equal_brute_force_at_every_instant(seed: int):
    owner, starts, ends = _rows(seed)
    mine = owner == owner[0]
    starts, ends = starts[mine], ends[mine]
    spans = innermost(starts, ends)
    assert (spans.starts_ns < spans.ends_ns).all()
    assert (spans.ends_ns[:-1] <= spans.starts_ns[1:]).all()
    for at in range(-1, 75):
        found = [int(r) for a, b, r in zip(*spans, strict=True) if a <= at < b]
        expected = _latest_open(np.zeros(starts.size), starts, ends, 0, at, range(starts.size))
        assert found == ([expected] if expected >= 0 else [])


@pytest.mark.parametrize("seed", range(40))
def test_enclosing_ends_equal_brute_force(seed: int):
    owner, starts, ends = _rows(seed)
    order = np.lexsort((starts, owner))
    owner, starts, ends = owner[order], starts[order], ends[order]
    for i, end in enumerate(enclosing_ends(owner, starts, ends, 99).tolist()):
        found = _latest_open(owner, starts, ends, owner[i], starts[i], range(i))
        assert end == (99 if found < 0 else ends[found])


def test_values_come_from_the_nearest_row_around_that_has_one():
    around, value = np.array([-1, 0, 1, -1, 3], np.int32), np.array([-1, 7, -1, -1, 4], np.int32)
    assert inherited(around, value).tolist() == [-1, 7, 7, -1, 4]
