"""What ranges are called in a table: texts without what makes every instance of a range unique.

The definition is docs/method/nvtx.md. What profilers append is dropped (`aten::mm, op_id = 7` is `aten::mm`), and where
a name would still be that of a single instance on each thread, the number of the instance becomes `{n}`
(`Step 0 to 10` and `Step 10 to 20` are `Step {n} to {n}`). Numbers that tell a part of the model apart stay
(`layers.3`, `Layer 3`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.base.nesting import I32
from critpath.model.tables import NvtxRanges
from critpath.model.trace import Strings
from critpath.rank.anchors.spellings import bare_texts

__all__ = ["Names", "read_names"]

_PART = r"(?i)(?:layer|block|stage|expert|head|rank|device|gpu|stream)s?\W?_*\d"
"""Numbers that name a part of the model or of the machine."""
_COUNTED = r"(?i)\b((?:step|iter|iteration|epoch|batch|microbatch|micro_batch|sample|request)[ _.:#-]*)\d+\b"
"""Numbers of words that count, however they are joined."""
_APART = r"(^|[\s#])\d+\b"
"""Numbers that stand alone."""
_SEQUENCE = r"\bseq = (\d{1,18})\b"


@dataclass(frozen=True, slots=True)
class Names:
    """What the texts of some ranges say.

    Attributes:
        names: grouped names.
        name: entry of `names` of each range, shape (n,).
        sequence: the autograd sequence number in each range's text, -1 without one, shape (n,).
    """

    names: tuple[str, ...]
    name: I32
    sequence: I64


def read_names(ranges: NvtxRanges, strings: Strings) -> Names:
    """What the texts of the ranges say.

    Args:
        ranges: of one process.
        strings: texts of the export.
    """
    if not len(ranges):
        return Names((), np.empty(0, np.int32), np.empty(0, np.int64))
    first, text = group_rows(ranges.name)
    spelled = pl.Series([strings[i] for i in ranges.name[first].tolist()], dtype=pl.String)
    sequence = spelled.str.extract(_SEQUENCE).cast(pl.Int64).fill_null(-1).to_numpy()[text]
    names, name_of_text = _coded(bare_texts(spelled))
    names, name = _without_single_instances(names, name_of_text[text], ranges)
    return Names(tuple(names.to_list()), name.astype(np.int32), sequence)


def _coded(texts: pl.Series) -> tuple[pl.Series, I64]:
    """(distinct texts in order of appearance, entry of each)."""
    frame = pl.DataFrame({"text": texts})
    distinct = texts.unique(maintain_order=True)
    numbered = pl.DataFrame({"text": distinct, "code": np.arange(len(distinct))})
    codes = frame.join(numbered, on="text", how="left", maintain_order="left")["code"]
    return distinct, codes.to_numpy().astype(np.int64)


def _without_single_instances(names: pl.Series, name: I64, ranges: NvtxRanges) -> tuple[pl.Series, I64]:
    """Names in which single instances that differ in their numbers only share one."""
    first, group = group_rows(ranges.domain, name)
    place, of_thread = group_rows(ranges.thread, group.astype(np.int64))
    most = np.zeros(first.size, np.int64)
    np.maximum.at(most, group[place], np.bincount(of_thread, minlength=place.size))
    single = most == 1
    frame = pl.DataFrame({"domain": ranges.domain[first], "name": names.gather(name[first]), "single": single})
    counted = (
        frame.with_columns(
            pl.when(pl.col("single") & ~pl.col("name").str.contains(_PART))
            .then(pl.col("name").str.replace_all(_COUNTED, "${1}{n}").str.replace_all(_APART, "${1}{n}"))
            .otherwise(pl.col("name"))
            .alias("pattern")
        )
        .with_columns(pl.len().over("domain", "pattern").alias("alike"))
        .select(pl.when(pl.col("alike") > 1).then(pl.col("pattern")).otherwise(pl.col("name")).alias("grouped"))
    )
    grouped, code = _coded(counted["grouped"])
    return grouped, code[group]
