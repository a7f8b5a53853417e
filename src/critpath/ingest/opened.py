"""The reader that each kind of input needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from critpath.base.errors import InputError
from critpath.ingest.arrow_reader import ArrowReader
from critpath.ingest.label import label
from critpath.ingest.nsys_export import exported
from critpath.ingest.paged_sqlite_reader import open_sqlite
from critpath.ingest.parquet_reader import ParquetReader
from critpath.ingest.reader import TableReader
from critpath.ingest.source import InputFile

__all__ = ["opened", "size_bytes"]


@contextmanager
def opened(given: InputFile) -> Iterator[TableReader]:
    """A reader of an input, for as long as it is needed.

    Raises:
        InputError: the input is missing, damaged, or not what it is taken for.
    """
    match given.kind:
        case "parquetdir":
            yield ParquetReader(given.path)
        case "arrowdir":
            yield ArrowReader(given.path)
        case "sqlite":
            with closing(open_sqlite(given.path)) as reader:
                yield reader
        case "nsys-rep":
            with _told_of(given), exported(given.path) as path, closing(open_sqlite(path)) as reader:
                yield reader


def size_bytes(given: InputFile) -> int:
    """Size of an input [bytes]; of a folder, that of its files."""
    if given.path.is_dir():
        return sum(path.stat().st_size for path in given.path.iterdir() if path.is_file())
    return given.path.stat().st_size


@contextmanager
def _told_of(given: InputFile) -> Iterator[None]:
    """Faults of a temporary export, told of the report that the user knows."""
    try:
        yield
    except InputError as fault:
        if fault.where == label(given.path):
            raise
        raise InputError(fault.what, where=label(given.path), meaning=fault.meaning, remedy=fault.remedy) from fault
