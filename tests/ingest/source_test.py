"""Which inputs a word names, by content: files, folders of one file a table, folders of inputs, patterns."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from columnar import columnar
from critpath.base.errors import InputError
from critpath.ingest.source import find_inputs
from exports import Export


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    export = Export()
    export.launched(1_000, 2_000, corr=1)
    return export.write(tmp_path_factory.mktemp("made") / "a.sqlite")


def named(*words: Path | str) -> list[tuple[str, str]]:
    return [(given.path.name, given.kind) for given in find_inputs(map(str, words))]


@pytest.mark.parametrize("name", ["a_pqtdir", "a.parquetdir", "a", "a.sqlite"])
def test_a_folder_of_parquet_files_is_an_input_whatever_its_name(name: str, sqlite: Path, tmp_path: Path) -> None:
    assert named(columnar(sqlite, tmp_path / name, "parquet")) == [(name, "parquetdir")]


@pytest.mark.parametrize("name", ["a_arwdir", "a.arrowdir", "a"])
@pytest.mark.parametrize("form", ["arrow", "stream"])
def test_a_folder_of_arrow_files_is_an_input_whatever_its_name(
    form: str, name: str, sqlite: Path, tmp_path: Path
) -> None:
    assert named(columnar(sqlite, tmp_path / name, form)) == [(name, "arrowdir")]


@pytest.mark.parametrize("table", ["StringIds", "META_DATA_EXPORT"])
def test_one_of_two_tables_marks_such_a_folder(table: str, sqlite: Path, tmp_path: Path) -> None:
    folder = columnar(sqlite, tmp_path / "a", "parquet", only=lambda name: name != table)
    assert named(folder) == [("a", "parquetdir")]


def test_a_folder_of_other_parquet_files_is_no_input(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "budget.parquet").write_bytes(b"")
    with pytest.raises(InputError, match="the folder holds no export"):
        find_inputs([str(tmp_path / "frames")])


def test_a_folder_is_searched_one_level_deep_by_name(sqlite: Path, tmp_path: Path) -> None:
    columnar(sqlite, tmp_path / "c_pqtdir", "parquet")
    columnar(sqlite, tmp_path / "a_arwdir", "arrow")
    shutil.copy(sqlite, tmp_path / "b.sqlite")
    (tmp_path / "deeper").mkdir()
    shutil.copy(sqlite, tmp_path / "deeper" / "d.sqlite")
    (tmp_path / "job.toml").write_text("")
    assert named(tmp_path) == [("a_arwdir", "arrowdir"), ("b.sqlite", "sqlite"), ("c_pqtdir", "parquetdir")]


@pytest.mark.parametrize(
    ("forms", "taken"),
    [
        (["sqlite", "parquet", "arrow", "report"], "a.sqlite"),
        (["parquet", "arrow", "report"], "a_pqtdir"),
        (["arrow", "report"], "a_arwdir"),
        (["report"], "a.nsys-rep"),
    ],
)
def test_of_several_forms_of_one_capture_one_is_taken(
    forms: list[str], taken: str, sqlite: Path, tmp_path: Path
) -> None:
    if "sqlite" in forms:
        shutil.copy(sqlite, tmp_path / "a.sqlite")
    if "parquet" in forms:
        columnar(sqlite, tmp_path / "a_pqtdir", "parquet")
    if "arrow" in forms:
        columnar(sqlite, tmp_path / "a_arwdir", "arrow")
    (tmp_path / "a.nsys-rep").write_bytes(b"x")
    (tmp_path / "b.nsys-rep").write_bytes(b"x")
    for word in (tmp_path, tmp_path / "*"):
        assert [name for name, _ in named(word)] == [taken, "b.nsys-rep"]


def test_what_is_named_outright_is_taken_in_every_form(sqlite: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite, tmp_path / "a.sqlite")
    columnar(sqlite, tmp_path / "a_pqtdir", "parquet")
    words = [tmp_path / "a.sqlite", tmp_path / "a_pqtdir"]
    assert named(*words) == [("a.sqlite", "sqlite"), ("a_pqtdir", "parquetdir")]


def test_a_pattern_may_match_folders_of_either_sort(sqlite: Path, tmp_path: Path) -> None:
    columnar(sqlite, tmp_path / "n0_pqtdir", "parquet")
    (tmp_path / "n1").mkdir()
    shutil.copy(sqlite, tmp_path / "n1" / "b.sqlite")
    assert named(tmp_path / "n*") == [("n0_pqtdir", "parquetdir"), ("b.sqlite", "sqlite")]


def test_an_input_is_taken_once_under_all_its_names(sqlite: Path, tmp_path: Path) -> None:
    folder = columnar(sqlite, tmp_path / "a_pqtdir", "parquet")
    (tmp_path / "link").symlink_to(folder)
    assert named(folder, f"{folder}/", tmp_path / "link", tmp_path / "a*", tmp_path) == [("a_pqtdir", "parquetdir")]


def test_a_database_is_sqlite_whatever_its_name(sqlite: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite, tmp_path / "a.nsys-rep")
    assert named(tmp_path / "a.nsys-rep") == [("a.nsys-rep", "sqlite")]


def test_an_older_report_is_a_report(tmp_path: Path) -> None:
    (tmp_path / "a.qdrep").write_bytes(b"x")
    assert named(tmp_path) == [("a.qdrep", "nsys-rep")]


def test_an_unfinished_report_says_how_to_finish_it(tmp_path: Path) -> None:
    (tmp_path / "a.qdstrm").write_bytes(b"x")
    for word in (tmp_path, tmp_path / "a.qdstrm", tmp_path / "*"):
        with pytest.raises(InputError, match="QdstrmImporter"):
            find_inputs([str(word)])


def test_a_folder_with_both_kinds_of_files_is_parquet(sqlite: Path, tmp_path: Path) -> None:
    folder = columnar(sqlite, tmp_path / "a", "parquet")
    (folder / "StringIds.arrow").write_bytes(b"")
    assert named(folder) == [("a", "parquetdir")]
