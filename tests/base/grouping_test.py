"""Groups of rows against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from critpath.base.grouping import group_rows

VALUES = st.one_of(
    st.integers(-3, 3), st.sampled_from([-(2**63), 2**40, 2**62, 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=60))
def test_rows_with_equal_values_share_a_group(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
    first, group = group_rows(*columns)
    assert group.size == len(rows)
    seen: dict[tuple[int, int, int], int] = {}
    for place, row in enumerate(rows):
        if row not in seen:
            seen[row] = int(group[place])
            assert first[group[place]] == place, "not the first row of its group"
        assert group[place] == seen[row]
    assert len(set(seen.values())) == len(seen) == first.size


@pytest.mark.parametrize("spread", [1, 2**21, 2**50])
def test_many_rows_of_narrow_and_wide_columns_are_grouped_alike(spread: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 200, 5_000)
    first, group = group_rows(values * spread, np.full(5_000, 7, np.int64))
    assert first.size == np.unique(values).size
    assert (values[first][group] == values).all()
