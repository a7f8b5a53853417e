"""Which copies are listed together: those of one kind, pair of memory kinds and stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.tables import Copies

__all__ = ["CopyGroup", "copy_groups"]


class CopyGroup(NamedTuple):
    """Codes as the export has them, NULL where it doesn't tell."""

    kind: int
    source_kind: int
    target_kind: int
    context: int
    stream: int


def copy_groups(copies: Copies) -> tuple[tuple[CopyGroup, ...], I64]:
    """The groups, and the group of each copy."""
    keys = (copies.kind, copies.source_kind, copies.target_kind, copies.context, copies.stream)
    first, group = group_rows(*keys)
    return tuple(CopyGroup(*row) for row in np.stack(keys, axis=1)[first].tolist()), group.astype(np.int64)
