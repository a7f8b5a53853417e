from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from builders import stat, unit
from critpath.model.report import LIST_LIMIT, REST, Category, StallReasons, cut


def rest(rows: Sequence[Category]) -> Category:
    return Category(name=REST, count=sum(row.count for row in rows), work_ms=sum(row.work_ms for row in rows))


def categories(n: int) -> list[Category]:
    return [Category(name=f"c{i}", count=1, work_ms=1.0, union_ms=1.0) for i in range(n)]


def test_a_list_within_the_limit_is_kept_whole():
    assert cut(categories(LIST_LIMIT), rest) == categories(LIST_LIMIT)


def test_a_longer_list_ends_with_one_row_for_the_rest():
    rows = cut(categories(LIST_LIMIT + 3), rest)
    assert [row.name for row in rows[-2:]] == [f"c{LIST_LIMIT - 1}", REST]
    assert (rows[-1].count, rows[-1].union_ms) == (3, None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(value: float):
    with pytest.raises(ValidationError):
        StallReasons(unknown=value)
    base = unit().budget
    assert base is not None
    with pytest.raises(ValidationError, match="finite"):
        type(base)(**(dict(base) | {"iteration": stat(value)}))


def test_a_part_is_frozen_and_closed():
    row = categories(1)[0]
    with pytest.raises(ValidationError):
        row.count = 2  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Category(name="x", count=1, work_ms=1.0, extra=1)  # type: ignore[call-arg]
