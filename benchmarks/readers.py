"""What reading a SQLite export costs by pages and through SQLite's library, as a ratio within one run.

    python benchmarks/readers.py EXPORT.sqlite --rounds 3

Both read every table and column that `read_trace` reads, and the counts of rows. Each reading is a process of its own,
so that peak memory is its own; both take turns, and the figure is the median of the rounds. Importing and opening are
not counted; compiled code comes from its cache, which an uncounted first round fills.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from critpath.base.intervals import I64
from critpath.ingest.metadata import read_metadata
from critpath.ingest.paged_sqlite_reader import open_sqlite
from critpath.ingest.reader import TableReader
from critpath.ingest.schema import EXPORT_TABLES, read_table
from critpath.ingest.sqlite_reader import SqliteReader
from critpath.model.trace import Strings

READERS: dict[str, Callable[[Path], TableReader]] = {"pages": open_sqlite, "library": SqliteReader}
Want = Callable[[TableReader], object]


class Recorder:
    """A reader that knows all columns, has no rows, and keeps what it was asked for."""

    def __init__(self, known: TableReader) -> None:
        self.known = known
        self.wants: list[tuple[str, Want]] = [("counts of rows", lambda reader: reader.row_counts())]

    @property
    def mistyped(self) -> Mapping[str, int]:
        return {}

    def row_counts(self) -> Mapping[str, int]:
        return {}

    def columns(self, table: str) -> frozenset[str]:
        return self.known.columns(table)

    def integers(self, table: str, columns: Sequence[str]) -> dict[str, I64]:
        self.wants.append((table, lambda reader: reader.integers(table, columns)))
        return {c: np.empty(0, np.int64) for c in columns}

    def texts(self, table: str, column: str) -> list[str | None]:
        self.wants.append((f"{table} texts", lambda reader: reader.texts(table, column)))
        return []

    def close(self) -> None:
        """Nothing is open."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reader", choices=READERS, help="read once, and print what it took as JSON")
    options = parser.parse_args()
    if options.reader:
        print(json.dumps(taken(options.export, options.reader)))
        return
    results: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    for turn in range(options.rounds + 1):
        for name in READERS if turn else ("pages",):
            command = [sys.executable, __file__, str(options.export), "--reader", name]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if turn:
                results[name].append(told)
    middle = {
        name: {what: statistics.median(each[what] for each in rounds) for what in rounds[0]}
        for name, rounds in results.items()
    }
    print(f"{options.export.name}: {options.export.stat().st_size / 1e9:.2f} GB, median of {options.rounds}")
    for what, pages in sorted(middle["pages"].items(), key=lambda item: item[1]):
        library = middle["library"][what]
        if what.startswith("GB") or library > 0.05:
            print(f"  {what:45} pages {pages:7.3f}  library {library:7.3f}  ratio {library / max(pages, 1e-6):6.1f}")


def taken(export: Path, name: str) -> dict[str, float]:
    """Seconds by what was read, their sum, and memory at the peak and before [GB]."""
    with closing(SqliteReader(export)) as known:
        recorder = Recorder(known)
        read_metadata(recorder, path="", kind="sqlite", size_bytes=0)
        recorder.integers("StringIds", ["id"])
        recorder.texts("StringIds", "value")
        for kind in EXPORT_TABLES:
            read_table(kind, recorder, Strings({}))
    seconds: dict[str, float] = {}
    kept = []
    with closing(READERS[name](export)) as reader:
        before_gb = peak_gb()
        for what, want in recorder.wants:
            began = time.perf_counter()
            kept.append(want(reader))
            seconds[what] = seconds.get(what, 0.0) + time.perf_counter() - began
    return {**seconds, "all": sum(seconds.values()), "GB before": before_gb, "GB at the peak": peak_gb()}


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
