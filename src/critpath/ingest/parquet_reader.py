"""Parquet exports: a folder of `<TABLE>.parquet`, as `nsys export --type parquetdir` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from critpath.ingest.columnar_reader import ColumnarReader, polars_source

__all__ = ["ParquetReader"]


class ParquetReader(ColumnarReader):
    """A folder of Parquet files. See `ColumnarReader`."""

    suffix = ".parquet"
    export_type = "parquetdir"

    def _schema(self, path: Path) -> Mapping[str, pl.DataType]:
        return _scan(path).collect_schema()

    def _height(self, path: Path) -> int:
        return int(_scan(path).select(pl.len()).collect().item())

    def _read(self, path: Path, columns: list[str]) -> pl.DataFrame:
        return _scan(path).select(columns).collect()

    def _read_with(self, pyarrow: Any, path: Path, column: str) -> Any:
        with path.open("rb") as file:
            return import_module("pyarrow.parquet").ParquetFile(file).read([column]).column(column)


def _scan(path: Path) -> pl.LazyFrame:
    # Folders are named by people: a [ or * is no pattern, and rank=3 no column.
    return pl.scan_parquet(polars_source(path), glob=False, hive_partitioning=False)
