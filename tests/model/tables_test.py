from __future__ import annotations

import ast
import inspect
import pickle

import numpy as np
import polars as pl
import pytest

from critpath.base.intervals import Intervals
from critpath.model import tables
from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, DeviceOps, Kernels, MemoryKind, Memsets, Spans, Table

TREE = ast.parse(inspect.getsource(tables))
TABLES = [
    kind
    for kind in vars(tables).values()
    if inspect.isclass(kind) and issubclass(kind, Table) and kind not in (Table, Spans, DeviceOps)
]


def declared(node: ast.ClassDef) -> list[tuple[str, ast.stmt | None]]:
    """(name, statement under it) of each annotated or assigned name in a class."""
    found: list[tuple[str, ast.stmt | None]] = []
    for here, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            found.append((here.target.id, below))
    return found


COLUMNS = [
    pytest.param(below, id=f"{node.name}.{name}")
    for node in TREE.body
    if isinstance(node, ast.ClassDef)
    for name, below in declared(node)
    if name != "LABELS"
]


@pytest.mark.parametrize("below", COLUMNS)
def test_every_column_is_explained_under_its_name(below: ast.stmt | None) -> None:
    assert isinstance(below, ast.Expr)
    assert isinstance(below.value, ast.Constant)
    text = below.value.value
    assert isinstance(text, str)
    assert text.endswith(".")


@pytest.mark.parametrize("kind", TABLES)
def test_every_column_that_holds_a_time_says_its_unit(kind: type[Table]) -> None:
    times = [name for name in kind.columns() if "start" in name or "end_ns" in name or "time" in name]
    assert all(name.endswith("_ns") for name in times)


def test_every_public_name_is_listed_and_exists() -> None:
    defined = {node.name for node in TREE.body if isinstance(node, ast.ClassDef)}
    assert set(tables.__all__) == defined
    assert tables.__all__ == sorted(tables.__all__)


def test_columns_come_in_the_order_of_inheritance() -> None:
    assert Spans.columns() == ("start_ns", "end_ns")
    assert DeviceOps.columns()[:2] == Spans.columns()
    assert Kernels.columns() == (
        *("start_ns", "end_ns"),
        *("process", "device", "context", "stream", "correlation", "graph_node"),
        *("name", "short_name", "mangled_name", "grid", "block"),
    )
    for kind in (Kernels, Copies, Memsets, tables.GraphLaunches):
        assert kind.columns()[: len(DeviceOps.columns())] == DeviceOps.columns()


@pytest.mark.parametrize("kind", TABLES)
def test_an_empty_table_has_every_column_and_no_row(kind: type[Table]) -> None:
    empty = kind.empty()
    assert len(empty) == 0
    assert empty.frame().columns == list(kind.columns())
    assert len(kind.of()) == 0


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_not_given_is_null_throughout(kind: type[Table]) -> None:
    first, *rest = kind.columns()
    table = kind.of(**{first: [1, 2, 3]})
    assert len(table) == 3
    for name in rest:
        assert getattr(table, name).tolist() == [NULL] * 3


@pytest.mark.parametrize(
    "given", [[1, 2], (1, 2), range(1, 3), np.array([1, 2], np.int32), np.array([1, 2], np.uint64)]
)
def test_columns_become_int64(given: object) -> None:
    column = Spans.of(start_ns=given).start_ns
    assert column.dtype == np.int64
    assert column.tolist() == [1, 2]


def test_columns_of_floats_raise() -> None:
    with pytest.raises(TypeError, match=r"Spans\.start_ns: float64, not integers"):
        Spans.of(start_ns=[1.5])
    with pytest.raises(TypeError, match=r"Spans\.end_ns: float64, not int64"):
        Spans(np.array([1]), np.array([2.0]))


def test_an_empty_sequence_is_no_column_of_floats() -> None:
    assert len(Spans.of(start_ns=[], end_ns=[])) == 0


def test_a_number_that_no_int64_holds_raises() -> None:
    with pytest.raises(OverflowError):
        Spans.of(start_ns=[2**63])


def test_columns_of_different_length_raise() -> None:
    with pytest.raises(ValueError, match="Spans: columns of different length"):
        Spans.of(start_ns=[1, 2], end_ns=[3])
    with pytest.raises(ValueError, match="Spans: columns of different length"):
        Spans(np.array([1, 2]), np.array([3]))


def test_a_column_of_rows_and_columns_raises() -> None:
    with pytest.raises(ValueError, match="dimension"):
        Spans.of(start_ns=[[1, 2]], end_ns=[[3, 4]])
    with pytest.raises(ValueError, match="dimension"):
        Spans.of(start_ns=1, end_ns=2)


def test_a_column_that_the_contract_has_not_raises() -> None:
    with pytest.raises(TypeError, match="colour"):
        Spans.of(start_ns=[1], colour=[2])


@pytest.mark.parametrize(
    ("rows", "starts"),
    [
        (np.array([True, False, True]), [10, 30]),
        (np.array([2, 0]), [30, 10]),
        (np.array([1, 1], np.intp), [20, 20]),
        (np.array([], np.intp), []),
        (np.zeros(3, np.bool_), []),
    ],
)
def test_where_selects_in_the_order_given(rows: np.ndarray, starts: list[int]) -> None:
    kernels = Kernels.of(start_ns=[10, 20, 30], end_ns=[11, 22, 33], name=[1, 2, 3])
    chosen = kernels.where(rows)
    assert type(chosen) is Kernels
    assert chosen.start_ns.tolist() == starts
    assert chosen.name.tolist() == [start // 10 for start in starts]


def test_a_mask_of_another_length_raises() -> None:
    with pytest.raises(IndexError):
        Spans.of(start_ns=[1, 2]).where(np.array([True]))


def test_where_copies() -> None:
    whole = Spans.of(start_ns=[1], end_ns=[2])
    whole.where(np.array([True])).start_ns[:] = 9
    assert whole.start_ns.tolist() == [1]


def test_a_frame_has_the_same_columns_and_numbers() -> None:
    frame = Spans.of(start_ns=[1, 2], end_ns=[3, NULL]).frame()
    assert frame.schema == {"start_ns": pl.Int64, "end_ns": pl.Int64}
    assert frame.rows() == [(1, 3), (2, NULL)]


def test_a_table_survives_pickling() -> None:
    kernels = Kernels.of(start_ns=[1, 2], end_ns=[3, 4])
    assert pickle.loads(pickle.dumps(kernels)).frame().equals(kernels.frame())  # noqa: S301


def test_a_row_still_open_has_no_length_and_covers_nothing() -> None:
    #     0 1 2 3 4 5
    #     _ - - _ _ _
    #     _ _ _ - … …
    rows = Spans.of(start_ns=[1, 3], end_ns=[3, NULL])
    assert rows.durations_ns.tolist() == [2, NULL]
    assert rows.union() == Intervals.of((1, 3))


def test_rows_that_overlap_are_counted_once_in_the_union() -> None:
    #     _ - - - _
    #     _ _ - - -
    rows = Spans.of(start_ns=[1, 2], end_ns=[4, 5])
    assert rows.union() == Intervals.of((1, 5))
    assert rows.durations_ns.tolist() == [3, 3]


def test_kinds_are_labelled_as_they_are_named() -> None:
    for name in ("H2D", "D2H", "D2D", "H2H", "P2P", "UVM_H2D", "UVM_D2H", "UVM_D2D"):
        assert CopyKind.LABELS[getattr(CopyKind, name)] == name
    for name in ("PAGEABLE", "PINNED", "DEVICE"):
        assert MemoryKind.LABELS[getattr(MemoryKind, name)] == name.lower()
    assert tuple(number for number, label in CopyKind.LABELS.items() if label.startswith("UVM")) == CopyKind.UVM
