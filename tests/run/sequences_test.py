import numpy as np
import pytest

from critpath.run.sequences import Sequence, Shift, shift

MS = 1_000_000


def seen(first: int, last: int, *, labels: bool = True, every: int = 5 * MS, off: int = 0) -> Sequence:
    """Places first … last of an endless program whose steps are A A B."""
    place = np.arange(first, last)
    token = np.where(place % 3 == 2, 2, 1)
    return Sequence(token, place // 3 if labels else np.full(place.size, -1), place * every + off)


@pytest.mark.parametrize(("first", "last"), [(0, 30), (6, 30), (0, 24), (9, 21)])
def test_texts_of_steps_decide(first: int, last: int) -> None:
    assert shift(seen(0, 30), seen(first, last, off=90 * MS), 150 * MS) == Shift(first, "step")


def test_texts_that_contradict_the_sequence_match_nothing() -> None:
    other = seen(0, 30)
    assert shift(seen(0, 30), Sequence(other.token[::-1] * 7, other.label, other.end_ns), 150 * MS) is None


def test_without_texts_good_clocks_decide() -> None:
    assert shift(seen(0, 30, labels=False), seen(6, 27, labels=False, off=MS), 2 * MS) == Shift(6, "time")


def test_slow_steps_are_told_apart_by_bad_clocks_too() -> None:
    slow = 200 * MS
    base, other = seen(0, 30, labels=False, every=slow), seen(6, 27, labels=False, every=slow, off=50 * MS)
    assert shift(base, other, 150 * MS) == Shift(6, "time")


def test_equal_lengths_within_the_clocks_error_are_taken_as_they_are() -> None:
    assert shift(seen(0, 30, labels=False), seen(0, 30, labels=False, off=40 * MS), 150 * MS) == Shift(0, "order")


def test_unequal_lengths_within_the_clocks_error_match_nothing() -> None:
    assert shift(seen(0, 30, labels=False), seen(0, 27, labels=False, off=40 * MS), 150 * MS) is None
