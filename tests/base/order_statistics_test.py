from __future__ import annotations

import math

import numpy as np
import pytest

from critpath.base.order_statistics import FEWEST_FOR_INTERVAL, group_medians, interval_rank


def coverage(n: int, rank: int) -> float:
    """Chance that the median lies between the rank-th least and the rank-th largest of n values."""
    return 1 - 2 * sum(math.comb(n, k) for k in range(rank)) / 2**n


@pytest.mark.parametrize("n", [*range(1, 60), 500, 999, 1000, 1001, 1500, 4001])
def test_interval_holds_the_median_often_enough_and_no_narrower_one_does(n: int) -> None:
    rank = interval_rank(n)
    assert (rank > 0) == (n >= FEWEST_FOR_INTERVAL)
    if rank:
        assert coverage(n, rank) >= 0.975
        assert coverage(n, rank + (1 if n <= 1000 else 3)) < 0.975


def test_medians_of_groups_equal_numpys() -> None:
    rng = np.random.default_rng(7)
    group = rng.integers(0, 40, 600)
    group = group[group != 11]
    values = rng.integers(0, 50, group.size)
    found = group_medians(group, values, 40)
    for g in range(40):
        mine = np.sort(values[group == g])
        assert found.n[g] == mine.size
        rank = interval_rank(mine.size)
        if mine.size:
            assert found.median[g] == np.median(mine)
        else:
            assert math.isnan(found.median[g])
        if rank:
            assert (found.low[g], found.high[g]) == (mine[rank - 1], mine[mine.size - rank])
        else:
            assert math.isnan(found.low[g]) and math.isnan(found.high[g])


def test_interval_holds_the_median_of_skewed_and_of_tied_samples() -> None:
    rng = np.random.default_rng(8)
    for values in (rng.lognormal(10, 1.0, (400, 25)), np.round(rng.lognormal(1, 0.3, (400, 25)))):
        group = np.repeat(np.arange(400), 25)
        found = group_medians(group, (values * 1000).astype(np.int64).ravel(), 400)
        true = np.exp(10) * 1000 if values.mean() > 100 else 1000 * np.round(np.exp(1))
        assert np.mean((found.low <= true) & (true <= found.high)) >= 0.96
