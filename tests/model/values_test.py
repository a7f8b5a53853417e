from __future__ import annotations

import pytest

from critpath.model.values import figure, percent


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "unknown"),
        (0.0, "0"),
        (1.0, "1.00"),
        (36.864, "36.9"),
        (999.9, "1,000"),
        (1_004.2, "1,004"),
        (1_234_567.8, "1,234,568"),
        (0.00413, "0.00413"),
        (0.000_001, "0.000001"),
        (0.000_000_023, "< 0.000001"),
        (-3.5, "-3.50"),
    ],
)
def test_a_figure_has_three_digits_and_is_0_only_where_it_is(value: float | None, told: str) -> None:
    assert figure(value) == told


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (None, "unknown"),
        (0.0, "0.0 %"),
        (1e-9, "< 0.1 %"),
        (0.087, "8.7 %"),
        (0.9999, "> 99.9 %"),
        (1.0, "100.0 %"),
        (1.5, "150.0 %"),
    ],
)
def test_a_percentage_is_0_or_100_only_where_it_is(share: float | None, told: str) -> None:
    assert percent(share) == told
