"""What device work is issued to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Stream", "StreamKind"]


class StreamKind(IntEnum):
    """How a stream relates to the legacy default stream; the values are the export's stream flags."""

    BLOCKING = 1
    NON_BLOCKING = 2
    LEGACY = 3


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """One CUDA stream of one process. Compared by identity: ids repeat between processes."""

    device: int
    context: int
    stream: int
    kind: StreamKind
    priority: int = 0
