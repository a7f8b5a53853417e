from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from critpath.base.intervals import I64
from critpath.model.identity import NO_ID, NULL, UnitKey, is_real_id, join_index, pid_of, process_of, thread_of


def global_id(hardware: int, vm: int, pid: int, tid: int = 0) -> int:
    """A serialized id as a signed 64-bit column holds it: 8 bits of hardware, 8 of VM, 24 of pid, 24 of tid."""
    whole = hardware << 56 | vm << 48 | pid << 24 | tid
    return whole - 2**64 if whole >= 2**63 else whole


def ids(*values: int) -> I64:
    return np.array(values, np.int64)


def test_a_process_key_keeps_vm_and_hardware_bits() -> None:
    keys = process_of(ids(global_id(0, 1, 77), global_id(0, 2, 77), global_id(1, 1, 77)))
    assert keys.tolist() == [1 << 24 | 77, 2 << 24 | 77, 1 << 32 | 1 << 24 | 77]


def test_a_process_and_its_threads_have_one_key() -> None:
    keys = process_of(ids(global_id(0, 1, 77), global_id(0, 1, 77, tid=77), global_id(0, 1, 77, tid=2**24 - 1)))
    assert len(set(keys.tolist())) == 1


def test_the_sign_bit_is_no_part_of_a_key() -> None:
    negative = global_id(0x80, 1, 77, tid=5)
    assert negative < 0
    assert process_of(ids(negative)).tolist() == [0x80 << 32 | 1 << 24 | 77]
    assert process_of(ids(-1)).tolist() == [2**40 - 1]


def test_a_pid_above_65535_is_whole() -> None:
    (key,) = process_of(ids(global_id(0, 1, 4_194_303, tid=4_194_304))).tolist()
    assert pid_of(key) == 4_194_303
    assert thread_of(ids(global_id(0, 1, 4_194_303, tid=4_194_304))).tolist() == [4_194_304]


def test_the_ids_of_a_real_export() -> None:
    # globalPid of a kernel, globalTid of a lazy-loading row of its process, globalPid of the kernel on the other GPU
    kernel, thread, peer = process_of(ids(281476838981632, 281476838981743, 281476855758848)).tolist()
    assert (kernel, pid_of(kernel)) == (1 << 24 | 111, 111)
    assert thread == kernel
    assert pid_of(peer) == 112
    assert thread_of(ids(281476838981743)).tolist() == [111]


def test_null_stays_null() -> None:
    assert process_of(ids(NULL, 1 << 24)).tolist() == [NULL, 1]
    assert thread_of(ids(NULL, 9)).tolist() == [NULL, 9]
    assert pid_of(NULL) == 0


@pytest.mark.parametrize("shape", [(0,), (2, 3), ()])
def test_keys_have_the_shape_and_type_of_their_ids(shape: tuple[int, ...]) -> None:
    for keys in (process_of(np.zeros(shape, np.int64)), thread_of(np.zeros(shape, np.int64))):
        assert keys.shape == shape
        assert keys.dtype == np.int64


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_an_id_comes_apart_into_what_it_was_made_of(hardware: int, vm: int, pid: int, tid: int) -> None:
    whole = ids(global_id(hardware, vm, pid, tid))
    if whole[0] == NULL:
        return
    assert process_of(whole).tolist() == [hardware << 32 | vm << 24 | pid]
    assert pid_of(int(process_of(whole)[0])) == pid
    assert thread_of(whole).tolist() == [tid]


def test_real_ids_are_neither_null_nor_invalid() -> None:
    assert is_real_id(ids(0, 1, NO_ID - 1, NO_ID, NO_ID + 1, -1, NULL)).tolist() == [
        True, True, True, False, True, False, False,
    ]  # fmt: skip


def test_units_sort_by_report_then_process_then_device() -> None:
    units = [UnitKey(1, 0, 0), UnitKey(0, 2, 0), UnitKey(0, 1, 1), UnitKey(0, 1, 0)]
    assert sorted(units) == units[::-1]


# join_index

Columns = tuple[I64, ...]


def test_equal_ids_of_two_processes_stay_apart() -> None:
    # process      1  1  2  2
    # correlation 10 11 10 11
    calls = ids(1, 1, 2, 2), ids(10, 11, 10, 11)
    assert join_index((ids(2, 1, 2, 3), ids(10, 11, 11, 10)), calls).tolist() == [2, 1, 3, -1]


def test_null_and_0_join_nothing() -> None:
    calls = ids(1, 1, 1), ids(0, NULL, 5)
    assert join_index((ids(1, 1, 1), ids(0, NULL, 5)), calls).tolist() == [-1, -1, 2]


def test_0_in_a_leading_column_is_a_value() -> None:
    assert join_index((ids(0, 1), ids(5, 5)), (ids(1, 0), ids(5, 5))).tolist() == [1, 0]


def test_rows_without_a_process_join_each_other_only() -> None:
    assert join_index((ids(NULL, 1), ids(5, 5)), (ids(1, NULL), ids(5, 5))).tolist() == [1, 0]
    assert join_index((ids(NULL),), (ids(1),)).tolist() == [-1]


@pytest.mark.parametrize("sparse", [1, 10**7, 2**55])
def test_repeated_keys_keep_their_first_row(sparse: int) -> None:
    calls = ids(1, 1, 2, 1, 2, 1), ids(7, 3, 7, 7, 7, 3) * sparse
    assert join_index((ids(1, 2, 1), ids(3, 7, 7) * sparse), calls).tolist() == [1, 2, 0]


def test_ids_outside_the_other_sides_range_join_nothing() -> None:
    assert join_index((ids(99, 101, 100, NULL + 1, 2**63 - 1),), (ids(100),)).tolist() == [-1, -1, 0, -1, -1]


def test_a_process_unknown_to_the_other_side_joins_nothing() -> None:
    calls = ids(5, 7), ids(1, 1)
    assert join_index((ids(4, 5, 6, 7, 8), ids(1, 1, 1, 1, 1)), calls).tolist() == [-1, 0, -1, 1, -1]


def test_three_columns() -> None:
    # process, context, stream
    other = ids(1, 1, 1, 2), ids(1, 1, 2, 1), ids(7, 15, 7, 7)
    keys = ids(1, 2, 1, 2), ids(2, 1, 1, 2), ids(7, 7, 15, 7)
    assert join_index(keys, other).tolist() == [2, 3, 1, -1]


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (3, 0)])
def test_an_empty_side_joins_nothing(n: int, m: int) -> None:
    joined = join_index((np.ones(n, np.int64),) * 2, (np.ones(m, np.int64),) * 2)
    assert joined.tolist() == [-1] * n
    assert joined.dtype == np.int64


def test_the_columns_must_match() -> None:
    with pytest.raises(ValueError, match="join of 2 key columns with 1"):
        join_index((ids(1), ids(1)), (ids(1),))
    with pytest.raises(ValueError, match="join of 0 key columns with 0"):
        join_index((), ())


def test_inputs_stay_as_they_are() -> None:
    keys, other = (ids(1, 2), ids(0, 5)), (ids(2, 1), ids(5, NULL))
    before = [column.copy() for column in (*keys, *other)]
    join_index(keys, other)
    assert all((a == b).all() for a, b in zip((*keys, *other), before, strict=True))


def expected(keys: Columns, other: Columns) -> list[int]:
    """The same join through a dictionary."""
    first: dict[tuple[int, ...], int] = {}
    for row, key in enumerate(zip(*(column.tolist() for column in other), strict=True)):
        first.setdefault(key, row)
    rows = zip(*(column.tolist() for column in keys), strict=True)
    return [-1 if key[-1] in (NULL, 0) else first.get(key, -1) for key in rows]


dense = st.integers(-3, 6)
awkward = st.sampled_from([NULL, NULL + 1, -1, 0, 1, NO_ID, 2**40, 2**62, 2**63 - 1])
values = st.one_of(dense, awkward)


@st.composite
def sides(draw: st.DrawFn) -> tuple[Columns, Columns]:
    width = draw(st.integers(1, 4))
    kinds = [draw(st.sampled_from([dense, awkward, values])) for _ in range(width)]

    def side() -> Columns:
        rows = draw(st.lists(st.tuples(*kinds), max_size=25))
        array = np.array(rows, np.int64).reshape(-1, width)
        return tuple(array[:, column] for column in range(width))

    return side(), side()


@given(sides())
def test_it_agrees_with_a_dictionary(case: tuple[Columns, Columns]) -> None:
    assert join_index(*case).tolist() == expected(*case)


@given(
    st.integers(0, 2**32 - 1),
    # ids as dense as correlation ids are; too sparse for an address; too wide to share an integer with a row
    st.sampled_from([400, 2**40, 2**60]),
    st.booleans(),
)
def test_long_columns_agree_with_a_dictionary(seed: int, highest: int, woven: bool) -> None:
    rng = np.random.default_rng(seed)
    processes = np.array([3 << 24 | 9, 1 << 24 | 7, 2**39])
    known = rng.integers(-3, highest, 250)
    columns = []
    for rows in (300, 500):
        process = rng.choice(processes, rows)
        columns.append((process if woven else np.sort(process), rng.choice(known, rows)))
    assert join_index(*columns).tolist() == expected(*columns)
