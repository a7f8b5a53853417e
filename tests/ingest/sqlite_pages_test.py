"""Decoded pages against SQLite's library: real exports, simulated ones, and databases of every shape."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from critpath.base.errors import InputError
from critpath.base.intervals import I64
from critpath.ingest import sqlite_columns, sqlite_pages
from critpath.ingest.paged_sqlite_reader import PagedSqliteReader, open_sqlite
from critpath.ingest.reader import TableReader
from critpath.ingest.sqlite_reader import SqliteReader
from critpath.model.identity import NULL
from critpath.sim.schema import GENERATIONS
from critpath.sim.simulation import simulate
from real_exports import FOLDER, needs_real_exports

LEAST, MOST = -(2**63), 2**63 - 1
EDGES = sorted(
    {s * (2 ** (8 * n - 1)) + d for n in (1, 2, 3, 4, 6, 8) for s in (-1, 1) for d in (-1, 0, 1)} | {0, 1, 2}
)
# The least two say NULL and "no integer" in the columns of a reader.
EDGES = [v for v in EDGES if LEAST + 1 < v <= MOST]


@contextmanager
def read(path: Path) -> Iterator[PagedSqliteReader]:
    with closing(open_sqlite(path)) as reader:
        assert isinstance(reader, PagedSqliteReader)
        yield reader


def content(reader: TableReader) -> dict[str, object]:
    """Everything that a reader gives, column by column and each table's columns together."""
    found: dict[str, object] = {"rows": dict(reader.row_counts())}
    for table in reader.row_counts():
        columns = sorted(reader.columns(table))
        together = reader.integers(table, [*columns, "no such column"])
        found[table] = {c: values.tolist() for c, values in together.items()}
        for column in columns:
            assert reader.integers(table, [column])[column].tolist() == together[column].tolist()
            found[f"{table}.{column}"] = reader.texts(table, column)
    return found | {"mistyped": dict(reader.mistyped)}


def assert_same(path: Path) -> frozenset[str]:
    """Both readers give the same; which tables were decoded."""
    with read(path) as mine, closing(SqliteReader(path)) as library:
        assert content(mine) == content(library)
        return mine.decoded_tables


def database(path: Path, *statements: str, rows: Sequence[Sequence[object]] = (), page: int = 4096) -> Path:
    """A database with a table t; each row goes into it after the first statement."""
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute(f"PRAGMA page_size = {page}")
        for i, statement in enumerate(statements):
            made.execute(statement)
            if i == 0 and rows:
                made.execute("BEGIN")
                made.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
                made.execute("COMMIT")
    return path


def decoded(path: Path, *columns: str) -> dict[str, list[int]]:
    """Columns of t, which must have come from pages, and must be the library's."""
    with read(path) as mine, closing(SqliteReader(path)) as library:
        found = mine.integers("t", columns)
        assert {c: v.tolist() for c, v in found.items()} == {
            c: v.tolist() for c, v in library.integers("t", columns).items()
        }
        assert mine.decoded_tables == {"t"}
        assert mine.mistyped == library.mistyped
        return {c: v.tolist() for c, v in found.items()}


def left_to_library(path: Path, *columns: str) -> None:
    """Columns of t are the library's, and none came from pages."""
    with read(path) as mine, closing(SqliteReader(path)) as library:
        theirs = library.integers("t", columns)
        assert {c: v.tolist() for c, v in mine.integers("t", columns).items()} == {
            c: v.tolist() for c, v in theirs.items()
        }
        assert mine.decoded_tables == frozenset()
        assert mine.mistyped == library.mistyped


@needs_real_exports
@pytest.mark.parametrize("name", sorted(p.name for p in FOLDER.glob("*.sqlite")) or ["none"])
def test_every_table_of_a_real_export_is_as_the_library_reads_it(name: str) -> None:
    assert_same(FOLDER / name)


@needs_real_exports
def test_tables_of_activities_are_decoded() -> None:
    with read(FOLDER / "lm_train_wsl_2025.1.3.sqlite") as mine:
        tables = [t for t in mine.row_counts() if t.startswith("CUPTI_ACTIVITY_KIND_")]
        for table in tables:
            mine.integers(table, ["start", "end", "correlationId", "globalPid", "globalTid"])
        mine.texts("StringIds", "value")
        assert mine.decoded_tables == {*tables, "StringIds"}
        assert len(tables) > 3


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_simulated_export_of_any_generation_is_as_the_library_reads_it(generation: str, tmp_path: Path) -> None:
    for path in simulate("data_parallel", tmp_path, ranks=1, steps=3, generation=generation).exports:
        assert_same(path)


@pytest.mark.parametrize("page", [512, 1024, 4096, 65536])
def test_integers_of_every_length_are_whole(page: int, tmp_path: Path) -> None:
    rows = [(v, None, i) for i, v in enumerate(EDGES * 40)]
    made = database(tmp_path / "a", "CREATE TABLE t (a, b, c)", rows=rows, page=page)
    found = decoded(made, "a", "b", "c")
    assert found == {"a": EDGES * 40, "b": [NULL] * len(rows), "c": list(range(len(rows)))}


@pytest.mark.parametrize("value", [LEAST, LEAST + 1])
def test_the_least_integers_are_what_the_library_makes_of_them(value: int, tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a, id INTEGER PRIMARY KEY)", rows=[(value, value), (value, 2)])
    assert decoded(made, "a", "id") == {"a": [NULL, NULL], "id": [NULL, 2]}


def test_rowids_stand_for_an_integer_primary_key(tmp_path: Path) -> None:
    made = database(
        tmp_path / "a", "CREATE TABLE t (x, id INTEGER PRIMARY KEY)", rows=[(i, v) for i, v in enumerate(EDGES)]
    )
    assert sorted(decoded(made, "id")["id"]) == EDGES


@pytest.mark.parametrize("key", ["id INT PRIMARY KEY", "id INTEGER PRIMARY KEY DESC", "id BIGINT UNIQUE"])
def test_other_keys_are_stored(key: str, tmp_path: Path) -> None:
    made = database(tmp_path / "a", f"CREATE TABLE t ({key}, x)", rows=[(v, 1) for v in (30, 10, 20)])
    assert decoded(made, "id", "x")["id"] == [30, 10, 20]


@pytest.mark.parametrize("key", ["PRIMARY KEY (id)", "PRIMARY KEY (id DESC)"])
def test_a_key_declared_behind_the_columns_is_the_rowid_too(key: str, tmp_path: Path) -> None:
    made = database(tmp_path / "a", f"CREATE TABLE t (id INTEGER, x, {key})", rows=[(v, 1) for v in (30, 10, 20)])
    assert decoded(made, "id")["id"] == [10, 20, 30]


def test_columns_added_later_are_null_in_older_rows(tmp_path: Path) -> None:
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a)",
        "ALTER TABLE t ADD COLUMN b",
        "ALTER TABLE t ADD COLUMN c TEXT",
        "INSERT INTO t VALUES (7, 8, 'nine')",
        rows=[(1,), (2,)],
    )
    assert decoded(made, "a", "b") == {"a": [1, 2, 7], "b": [NULL, NULL, 8]}
    with read(made) as mine:
        assert mine.texts("t", "c") == [None, None, "nine"]


@pytest.mark.parametrize("rows", [3, 5_000])
def test_columns_added_with_a_value_have_it_in_older_rows(rows: int, tmp_path: Path) -> None:
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a)",
        "ALTER TABLE t ADD COLUMN b DEFAULT 5",
        "INSERT INTO t VALUES (7, 8)",
        rows=[(i,) for i in range(rows)],
    )
    # A few such rows are read alone; of many, the library reads the table.
    if rows < 10:
        assert decoded(made, "b")["b"] == [5, 5, 5, 8]
    else:
        left_to_library(made, "b")


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("value", [1.5, 2.0, "7", "text", b"\x07", float("inf")])
def test_other_types_are_counted_as_the_library_counts_them(value: object, many: bool, tmp_path: Path) -> None:
    rows = [(i, value if many or i % 50 == 0 else i) for i in range(1_000)]
    made = database(tmp_path / "a", "CREATE TABLE t (a, b)", rows=rows)
    if many:
        left_to_library(made, "a", "b")
    else:
        assert decoded(made, "a", "b")["b"].count(NULL) == 20


def test_integers_of_a_column_of_floats_are_floats(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a, b REAL)", rows=[(i, i) for i in range(100)])
    left_to_library(made, "a", "b")
    decoded(made, "a")


@pytest.mark.parametrize("page", [512, 4096])
def test_integers_behind_texts_longer_than_a_page_are_found(page: int, tmp_path: Path) -> None:
    rows = [(i, "x" * (7 * page if i % 100 == 3 else i % 90), -i) for i in range(2_000)]
    made = database(tmp_path / "a", "CREATE TABLE t (a, b, c)", rows=rows, page=page)
    assert decoded(made, "a", "c")["c"] == [-i for i in range(2_000)]
    with read(made) as mine:
        assert mine.texts("t", "b") == [row[1] for row in rows]
        assert mine.decoded_tables == {"t"}


def test_of_many_long_rows_the_library_reads_the_table(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a, b)", rows=[("x" * 9_000, i) for i in range(300)])
    left_to_library(made, "b")


@pytest.mark.parametrize("text", [b"caf\xe9", "naïve ⚡".encode(), b"a\x00b", b"", b"\xff" * 5])
def test_texts_are_decoded_as_the_library_decodes_them(text: bytes, tmp_path: Path) -> None:
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a)",
        f"INSERT INTO t VALUES (CAST(x'{text.hex()}' AS TEXT)), (NULL), (x'{text.hex()}'), ('plain'), (7), (1.5)",
    )
    with read(made) as mine, closing(SqliteReader(made)) as library:
        assert mine.texts("t", "a") == library.texts("t", "a")
        assert mine.decoded_tables == {"t"}


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE t (a PRIMARY KEY, b) WITHOUT ROWID",),
        ("CREATE TABLE t (a, b, c AS (a + b) VIRTUAL)",),
        ("CREATE TABLE t (a, b, c AS (a + b) STORED)",),
        ("CREATE TABLE t (rowid, _rowid_, oid, a, b)",),
        ("PRAGMA encoding = 'UTF-16'", "CREATE TABLE t (a, b)"),
    ],
)
def test_tables_of_another_kind_are_the_librarys(statements: Sequence[str], tmp_path: Path) -> None:
    made = database(tmp_path / "a", *statements, "INSERT INTO t (a, b) VALUES (1, 2), (3, 4)")
    with closing(open_sqlite(made)) as mine, closing(SqliteReader(made)) as library:
        assert content(mine) == content(library)
        assert "t" not in getattr(mine, "decoded_tables", ())


def test_columns_named_like_the_rowid_are_columns(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (rowid, OID)", rows=[(30, 1), (10, 2)])
    assert decoded(made, "rowid", "OID") == {"rowid": [30, 10], "OID": [1, 2]}


def test_an_index_changes_neither_order_nor_pairing(tmp_path: Path) -> None:
    # SQLite alone would read b from the index, in its order, and a from the table.
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a, b, c)",
        "CREATE INDEX i ON t (b)",
        rows=[(i, -i, "x" * 50) for i in range(99)],
    )
    assert decoded(made, "a")["a"] == [-v for v in decoded(made, "b")["b"]]


def test_a_table_that_is_its_own_index_has_one_order(tmp_path: Path) -> None:
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a INT PRIMARY KEY, b, c) WITHOUT ROWID",
        "CREATE INDEX i ON t (b)",
        rows=[(i, -i, "x" * 50) for i in range(99)],
    )
    with closing(SqliteReader(made)) as library:
        assert library.integers("t", ["b"])["b"].tolist() == [-i for i in range(99)]
        assert library.integers("t", ["a", "c"])["a"].tolist() == list(range(99))


@pytest.mark.parametrize("vacuum", ["NONE", "FULL", "INCREMENTAL"])
def test_deleted_rows_and_free_pages_leave_the_rest(vacuum: str, tmp_path: Path) -> None:
    made = database(
        tmp_path / "a",
        "CREATE TABLE t (a, b)",
        "DELETE FROM t WHERE a % 3 = 0 OR a BETWEEN 2000 AND 3000",
        "UPDATE t SET b = b * 1000000007 WHERE a % 7 = 0",
        rows=[(i, i) for i in range(5_000)],
    )
    with closing(sqlite3.connect(made, isolation_level=None)) as again:
        again.execute(f"PRAGMA auto_vacuum = {vacuum}")
        if vacuum != "NONE":
            again.execute("VACUUM")
            again.execute("DELETE FROM t WHERE a % 11 = 0")
    found = decoded(made, "a", "b")
    assert all(b == a * (1_000_000_007 if a % 7 == 0 else 1) for a, b in zip(found["a"], found["b"], strict=True))


def test_bytes_reserved_in_every_page_are_no_part_of_it(tmp_path: Path) -> None:
    path = database(tmp_path / "a", "PRAGMA user_version = 1")
    empty = bytearray(path.read_bytes())
    # The first page is empty still: where its content begins is all that changes with it.
    empty[20], empty[105:107] = 32, (4096 - 32).to_bytes(2, "big")
    path.write_bytes(empty)
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("CREATE TABLE t (a, b)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * (i % 900)) for i in range(500)])
    assert path.read_bytes()[20] == 32
    assert decoded(path, "a")["a"] == list(range(500))


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a, b)")
    assert decoded(made, "a", "c") == {"a": [], "c": []}
    assert_same(made)


def test_absent_tables_and_columns_are_as_in_the_library(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a)", rows=[(1,), (2,)])
    with read(made) as mine:
        assert mine.integers("t", ["z"])["z"].tolist() == [NULL, NULL]
        assert mine.texts("t", "z") == [None, None]
        assert mine.integers("u", ["a"])["a"].tolist() == []
        assert mine.texts("u", "a") == []
        assert mine.columns("u") == frozenset()


def test_a_decoder_that_is_wrong_is_found_by_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a, b)", rows=[(i, str(i)) for i in range(50_000)])
    right: Any = sqlite_columns.integers_of, sqlite_columns.texts_of

    def wrong_integers(*given: I64) -> int:
        n: int = right[0](*given)
        given[7][:] += 1
        return n

    def wrong_texts(*given: I64) -> int:
        n: int = right[1](*given)
        given[6][:] ^= 1
        return n

    monkeypatch.setattr(sqlite_columns, "integers_of", wrong_integers)
    monkeypatch.setattr(sqlite_columns, "texts_of", wrong_texts)
    left_to_library(made, "a")
    with read(made) as mine:
        assert mine.texts("t", "b") == [str(i) for i in range(50_000)]
        assert mine.decoded_tables == frozenset()


def test_a_file_that_takes_another_ones_place_is_not_decoded(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a)")
    other = database(tmp_path / "b", "CREATE TABLE t (a)")
    assert sqlite_pages.PageFile.opened(made, other.stat()) is None


def test_a_file_cut_short_while_it_is_read_is_the_librarys_matter(tmp_path: Path) -> None:
    made = database(tmp_path / "a", "CREATE TABLE t (a)", rows=[(i,) for i in range(50_000)])
    with read(made) as mine:
        assert mine.row_counts() == {"t": 50_000}
        with made.open("r+b") as file:
            file.truncate(40_000)
        with pytest.raises(InputError, match="t to its end"):
            mine.integers("t", ["a"])
        assert mine.decoded_tables == frozenset()


values = st.one_of(
    st.none(),
    st.sampled_from([*EDGES, LEAST, LEAST + 1]),
    st.integers(LEAST, MOST),
    st.integers(-5, 300),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.sampled_from([100, 600, 5_000, 70_000]).map("x".__mul__),
)
kinds = st.sampled_from(["", "INTEGER", "TEXT", "REAL", "BLOB", "NUMERIC", "BIGINT NOT NULL DEFAULT 3", "DOUBLE"])
added = st.sampled_from(
    ["", "INTEGER", "TEXT", "DEFAULT 7", "DEFAULT NULL", "INTEGER NOT NULL DEFAULT -1", "DEFAULT 'x'"]
)


@st.composite
def statements(draw: st.DrawFn) -> list[tuple[str, list[list[object]]]]:
    """Statements that make a table t, each with the rows that it is executed for."""
    width = draw(st.integers(1, 6))
    declared = [f"c{i} {draw(kinds)}" for i in range(width)]
    alias = draw(st.integers(-1, width - 1))
    if alias >= 0:
        declared[alias] = f"c{alias} {draw(st.sampled_from(['INTEGER', 'INT', 'integer']))} PRIMARY KEY"
    without = alias >= 0 and draw(st.integers(0, 9)) == 0
    made: list[tuple[str, list[list[object]]]] = [
        (f"CREATE TABLE t ({', '.join(declared)}){' WITHOUT ROWID' * without}", [])
    ]
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(st.lists(values, min_size=width, max_size=width), max_size=25))
        many = draw(st.sampled_from([1, 1, 4]))
        made.append((f"INSERT OR IGNORE INTO t VALUES ({', '.join('?' * width)})", rows * many))
        made += [
            (statement, [[]])
            for statement in draw(
                st.lists(
                    st.sampled_from(
                        ["DELETE FROM t WHERE c0 % 2", "DELETE FROM t WHERE c0 IS NULL", "DELETE FROM t", "VACUUM"]
                    ),
                    max_size=2,
                )
            )
        ]
        if draw(st.booleans()):
            made.append((f"ALTER TABLE t ADD COLUMN c{width} {draw(added)}", [[]]))
            width += 1
    return made


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    statements(),
    st.sampled_from([512, 1024, 4096, 65536]),
    st.sampled_from(["NONE", "FULL", "INCREMENTAL"]),
    st.booleans(),
)
def test_any_database_is_as_the_library_reads_it(
    made: list[tuple[str, list[list[object]]]], page: int, vacuum: str, indexed: bool
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute(f"PRAGMA page_size = {page}")
            writer.execute(f"PRAGMA auto_vacuum = {vacuum}")
            for statement, rows in made:
                if not rows:
                    if statement.startswith("CREATE"):
                        writer.execute(statement)
                    continue
                for row in rows:
                    # Not every value fits a primary key.
                    with suppress(sqlite3.IntegrityError):
                        writer.execute(statement, row)
            if indexed:
                writer.execute("CREATE INDEX i ON t (c0)")
        assert_same(path)


@pytest.mark.parametrize("checked", [False, True], ids=["as it is", "with bounds checked"])
def test_damage_is_refused_or_read_as_the_library_reads_it(checked: bool, tmp_path: Path) -> None:
    # Checked code is compiled anew, and must not be found by whoever runs the code as it is.
    bounds = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)} if checked else {}
    script = Path(__file__).with_name("page_damage.py")
    told = subprocess.run(  # noqa: S603
        [sys.executable, str(script), "4", "700"],
        env=os.environ | bounds,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-2_000:]
    counts = dict(zip(*[iter(told.stdout.split())] * 2, strict=True))
    assert min(int(counts[what]) for what in ("same", "refused", "decoded")) > 100
