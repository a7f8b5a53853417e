"""Damages small databases and compares both readers on each; a process of its own, since a crash would end it.

    python page_damage.py SEED COUNT

Prints "same N refused M decoded K", or the first difference.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from critpath.base.errors import InputError
from critpath.ingest.paged_sqlite_reader import PagedSqliteReader, open_sqlite
from critpath.ingest.reader import TableReader
from critpath.ingest.sqlite_reader import SqliteReader

PAGE = 512
DECODED: Counter[str] = Counter()


def main() -> None:
    rng = random.Random(int(sys.argv[1]))  # noqa: S311 - the same seed gives the same damage
    told = {"same": 0, "refused": 0}
    with TemporaryDirectory() as folder:
        sound = [made(Path(folder) / f"sound{i}", i).read_bytes() for i in range(3)]
        path = Path(folder) / "damaged"
        for _ in range(int(sys.argv[2])):
            damage = rng.choice(DAMAGES)
            content = bytearray(rng.choice(sound))
            for _ in range(rng.choice([1, 1, 1, 3])):
                damage(content, rng)
            path.write_bytes(content)
            mine, library = outcomes(path, open_sqlite), outcomes(path, SqliteReader)
            if mine != library:
                sys.exit(f"{damage.__name__}: {difference(mine, library)}")
            told["refused" if any(isinstance(o, str) for o in mine) else "same"] += 1
    told["decoded"] = DECODED.total()
    sys.stdout.write(" ".join(f"{what} {n}" for what, n in told.items()))


def made(path: Path, shape: int) -> Path:
    """A database of a hundred pages, with long rows, deleted rows, short records and a tree of three levels."""
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute(f"PRAGMA page_size = {PAGE}")
        writer.execute(f"PRAGMA auto_vacuum = {('NONE', 'FULL', 'NONE')[shape]}")
        writer.execute("CREATE TABLE t (a INTEGER, b TEXT, c INTEGER)")
        writer.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, x)")
        writer.execute("BEGIN")
        for i in range(700):
            long = "y" * (3_000 if i % 97 == 5 else i % 40)
            writer.execute("INSERT INTO t VALUES (?, ?, ?)", (i * 7_919**shape, long, i % 5 or None))
            writer.execute("INSERT INTO u VALUES (?, ?)", (i * 3, i if i % 60 else 0.5))
        writer.execute("COMMIT")
        if shape:
            writer.execute("DELETE FROM t WHERE a % 5 = 1")
            writer.execute("DELETE FROM u WHERE id BETWEEN 600 AND 900")
            writer.execute("ALTER TABLE t ADD COLUMN d")
            writer.execute("INSERT INTO t VALUES (1, 'z', 2, 3)")
    return path


def outcomes(path: Path, opened: Callable[[Path], TableReader]) -> list[object]:
    """What each of some calls gives to a reader of its own; where it is refused, why.

    A refused page stays in the library's memory, and a second look at it may find less wrong with it.
    """
    calls: list[Callable[[TableReader], object]] = [
        lambda r: dict(r.row_counts()),
        lambda r: [{c: v.tolist() for c, v in r.integers("t", ["a", "c", "d"]).items()}, dict(r.mistyped)],
        lambda r: r.texts("t", "b"),
        lambda r: [{c: v.tolist() for c, v in r.integers("u", ["id", "x"]).items()}, dict(r.mistyped)],
    ]
    return [outcome(path, opened, call) for call in calls]


def outcome(path: Path, opened: Callable[[Path], TableReader], call: Callable[[TableReader], object]) -> object:
    try:
        with closing(opened(path)) as reader:
            found = call(reader)
            if isinstance(reader, PagedSqliteReader):
                DECODED.update(reader.decoded_tables)
            return found
    except InputError as refusal:
        return refusal.what


def difference(mine: object, library: object) -> str:
    """The innermost place where two outcomes differ."""
    if isinstance(mine, dict) and isinstance(library, dict) and mine.keys() == library.keys():
        return next(f"{k}: {difference(mine[k], library[k])}" for k in mine if mine[k] != library[k])
    if isinstance(mine, list) and isinstance(library, list) and len(mine) == len(library):
        pairs = enumerate(zip(mine, library, strict=True))
        return next(f"{i}: {difference(*pair)}" for i, pair in pairs if pair[0] != pair[1])
    return f"{str(mine)[:200]} is not {str(library)[:200]}"


def flipped(content: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 2, 20])):
        content[rng.randrange(PAGE, len(content))] = rng.randrange(256)


def bent_header(content: bytearray, rng: random.Random) -> None:
    """A page's type, counts, free list, pointers and first cells."""
    page = rng.randrange(1, len(content) // PAGE) * PAGE
    for _ in range(rng.choice([1, 2])):
        content[page + rng.randrange(24)] = rng.choice([0, 1, 5, 13, 127, 128, 255, rng.randrange(256)])


def bent_cell(content: bytearray, rng: random.Random) -> None:
    """The first bytes of one cell: lengths, rowid and serial types."""
    page = rng.randrange(1, len(content) // PAGE) * PAGE
    at = page + 8 + 2 * rng.randrange(8)
    cell = page + int.from_bytes(content[at : at + 2], "big") + rng.randrange(9)
    if cell < len(content):
        content[cell] = rng.choice([0, 1, 7, 8, 9, 10, 11, 12, 13, 127, 128, 129, 255, rng.randrange(256)])


def looped(content: bytearray, rng: random.Random) -> None:
    """A child of an interior page is another page, or none."""
    pages = len(content) // PAGE
    interior = [p for p in range(1, pages) if content[p * PAGE] == 5]
    page = rng.choice(interior) * PAGE
    cells = int.from_bytes(content[page + 3 : page + 5], "big")
    k = rng.randrange(cells + 1)
    at = page + 8 if k == cells else page + int.from_bytes(content[page + 12 + 2 * k : page + 14 + 2 * k], "big")
    target = rng.choice([*interior, 0, pages, pages + 1, 2**32 - 1, rng.randrange(1, pages + 1)])
    content[at : at + 4] = target.to_bytes(4, "big")


def cut(content: bytearray, rng: random.Random) -> None:
    del content[rng.randrange(PAGE, len(content)) :]
    # Else the header's own count of pages tells at once.
    content[92:96] = b"\x00\x00\x00\x00"


def swapped(content: bytearray, rng: random.Random) -> None:
    """A page stands in another one's place."""
    pages = len(content) // PAGE
    here, there = (rng.randrange(1, pages) * PAGE for _ in range(2))
    content[here : here + PAGE] = content[there : there + PAGE]


DAMAGES = (flipped, bent_header, bent_cell, looped, cut, swapped)


if __name__ == "__main__":
    main()
