"""Folders of Parquet and Arrow files: 64-bit ids, odd texts, and files that are damaged or not there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from columnar import columnar, texts, write_table
from critpath.base.errors import InputError
from critpath.ingest import columnar_reader
from critpath.ingest.arrow_reader import ArrowReader
from critpath.ingest.columnar_reader import ColumnarReader
from critpath.ingest.parquet_reader import ParquetReader
from critpath.ingest.sqlite_reader import SqliteReader
from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL
from exports import Export, gpid

FORMS = ("parquet", "arrow", "stream")


def reader(folder: Path, form: str) -> ColumnarReader:
    return ParquetReader(folder) if form == "parquet" else ArrowReader(folder)


def of(tmp_path: Path, form: str, **columns: pa.Array) -> ColumnarReader:
    write_table(pa.table(columns), tmp_path / "T", form)
    return reader(tmp_path, form)


@pytest.mark.parametrize("form", FORMS)
def test_an_id_of_64_bits_stays_whole_and_reads_as_in_sqlite(form: str, tmp_path: Path) -> None:
    ids = [2**53 + 1, 0xFE00_0000_0000_0000, 2**64 - 1, 0]
    found = of(tmp_path, form, globalPid=pa.array(ids, pa.uint64())).integers("T", ["globalPid"])["globalPid"]
    assert found.tolist() == [2**53 + 1, -(2**57), -1, 0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["uint64", "uint32", "int64", "int32", "uint8", "bool", "null"])
def test_null_is_null_in_every_type(kind: str, form: str, tmp_path: Path) -> None:
    values = [None, None] if kind == "null" else [1, None]
    made = pa.array(values, pa.null() if kind == "null" else pa.int64()).cast(kind if kind != "null" else pa.null())
    found = of(tmp_path, form, x=made).integers("T", ["x"])["x"]
    assert found.tolist() == [NULL if kind == "null" else 1, NULL]


@pytest.mark.parametrize("form", FORMS)
def test_a_32_bit_id_is_widened(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, x=pa.array([2**32 - 1], pa.uint32()))
    assert made.integers("T", ["x"])["x"].tolist() == [2**32 - 1]


@pytest.mark.parametrize("form", FORMS)
def test_floats_and_texts_are_no_integers_and_are_counted(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, f=pa.array([1.0, None, 2.5]), t=texts([b"7", None, b"\xff"]), i=pa.array([1, 2, 3]))
    found = made.integers("T", ["f", "t", "i"])
    assert found["f"].tolist() == found["t"].tolist() == [NULL] * 3
    assert found["i"].tolist() == [1, 2, 3]
    assert made.mistyped == {"T.f": 2, "T.t": 2}


@pytest.mark.parametrize("form", FORMS)
def test_absent_columns_and_tables_are_null_and_empty(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, x=pa.array([1, 2]))
    assert made.integers("T", ["y"])["y"].tolist() == [NULL, NULL]
    assert made.texts("T", "y") == [None, None]
    assert made.integers("U", ["x"])["x"].tolist() == []
    assert made.texts("U", "x") == []
    assert made.columns("U") == frozenset()
    assert made.row_counts() == {"T": 2}


@pytest.mark.parametrize("form", FORMS)
def test_bytes_that_are_no_utf8_are_replaced(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, t=texts([b"ok", None, b"caf\xe9"]), i=pa.array([1, 2, 3]))
    assert made.texts("T", "t") == ["ok", None, "caf�"]
    assert made.integers("T", ["i"])["i"].tolist() == [1, 2, 3]
    assert made.row_counts() == {"T": 3}


@pytest.mark.parametrize("form", FORMS)
def test_without_pyarrow_such_bytes_are_told_and_what_to_install(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = of(tmp_path, form, t=texts([b"\xff"]), u=texts([b"good"]))
    monkeypatch.setattr(columnar_reader, "import_module", refuse)
    assert made.texts("T", "u") == ["good"]
    with pytest.raises(InputError, match=r"column t of T holds bytes that are no UTF-8") as told:
        made.texts("T", "t")
    assert "critpath[arrow]" in told.value.remedy


def refuse(name: str) -> Any:
    raise ImportError(name)


@pytest.mark.parametrize("form", FORMS)
def test_a_binary_column_is_read_as_text(form: str, tmp_path: Path) -> None:
    assert of(tmp_path, form, t=pa.array([b"a", None, b"\xff"], pa.binary())).texts("T", "t") == ["a", None, "�"]


@pytest.mark.parametrize("form", FORMS)
def test_only_the_needed_columns_are_read(form: str, tmp_path: Path) -> None:
    # what is no text can't be read as text, so whoever reads it too fails
    made = of(tmp_path, form, binaryData=texts([b"\x00\xff\xfe"]), text=texts([b"range"]), start=pa.array([5]))
    assert made.texts("T", "text") == ["range"]
    assert made.integers("T", ["start"])["start"].tolist() == [5]


@pytest.mark.parametrize("form", FORMS)
def test_row_order_is_the_files_over_all_its_parts(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, x=pa.array(range(5_000)), t=texts([str(i).encode() for i in range(5_000)]))
    assert made.integers("T", ["x"])["x"].tolist() == list(range(5_000))
    assert made.texts("T", "t") == [str(i) for i in range(5_000)]


@pytest.mark.parametrize("form", FORMS)
def test_arrays_may_be_written_to(form: str, tmp_path: Path) -> None:
    found = of(tmp_path, form, a=pa.array([1], pa.uint64()), b=pa.array([1], pa.int64())).integers("T", ["a", "b"])
    assert all(column.flags.writeable for column in found.values())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kept", [0, 4, 8, 0.3, 0.7, -8, -1])
def test_a_file_cut_short_is_told_by_its_table(kept: float, form: str, tmp_path: Path) -> None:
    path = write_table(pa.table({"x": pa.array(range(5_000))}), tmp_path / "T", form)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if 0 < kept < 1 else int(kept)])
    with pytest.raises(InputError, match="T can't be read to its end"):
        reader(tmp_path, form).row_counts()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_such_file_is_told(form: str, tmp_path: Path) -> None:
    suffix = ".parquet" if form == "parquet" else ".arrow"
    (tmp_path / f"T{suffix}").write_bytes(b"<html>not found</html>" * 9)
    with pytest.raises(InputError, match="T can't be read to its end"):
        reader(tmp_path, form).columns("T")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["[0]*", "rank=3", "a b", "réseau", "caf\udce9"])
def test_folders_of_odd_names_are_read(name: str, form: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    of(plain, form, x=pa.array([1]))
    made = reader(plain.rename(tmp_path / name), form)
    assert made.row_counts() == {"T": 1}
    assert made.columns("T") == frozenset({"x"})


@pytest.mark.parametrize("form", FORMS)
def test_hidden_and_other_files_are_no_tables(form: str, tmp_path: Path) -> None:
    made = of(tmp_path, form, x=pa.array([1]))
    for name in ("._T.parquet", "._T.arrow", "notes.txt", "T.parquet.crc"):
        (tmp_path / name).write_bytes(b"\x00")
    assert reader(tmp_path, form).row_counts() == made.row_counts() == {"T": 1}


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_is_read_without_the_tables_that_have_no_file(form: str, tmp_path: Path) -> None:
    export = Export()
    export.launched(1_000, 2_000, corr=1)
    whole = export.write(tmp_path / "a.sqlite")
    folder = columnar(whole, tmp_path / "out", form, only=lambda table: "RUNTIME" not in table)
    trace = read_trace(folder)
    assert len(trace.kernels) == 1
    assert len(trace.runtime_calls) == 0
    assert "CUPTI_ACTIVITY_KIND_RUNTIME" not in trace.rows


@pytest.mark.parametrize("form", FORMS)
def test_process_keys_are_those_of_sqlite(form: str, tmp_path: Path) -> None:
    export = Export()
    # the hardware bits of an id are its topmost ones
    negative = gpid(77) | (0xFE << 56)
    export.launched(1_000, 2_000, corr=1, globalPid=negative - 2**64, globalTid=negative + 77 - 2**64)
    path = export.write(tmp_path / "a.sqlite")
    folder = columnar(path, tmp_path / "out", form)
    assert read_trace(folder).kernels.process.tolist() == read_trace(path).kernels.process.tolist()
    columns = ["globalPid", "start", "streamId"]
    mine = reader(folder, form).integers("CUPTI_ACTIVITY_KIND_KERNEL", columns)
    with closing(SqliteReader(path)) as opened:
        theirs = opened.integers("CUPTI_ACTIVITY_KIND_KERNEL", columns)
    assert {c: v.tolist() for c, v in mine.items()} == {c: v.tolist() for c, v in theirs.items()}
