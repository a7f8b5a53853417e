"""What every export format offers: tables by name, columns by existence, integers in bulk.

The rest of ingest speaks to this protocol only, so that a faster decoder or another format changes nothing above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from critpath.base.intervals import I64

__all__ = ["TableReader"]


class TableReader(Protocol):
    """Read access to one export. Nothing is ever written, beside the input or into it."""

    @property
    def mistyped(self) -> Mapping[str, int]:
        """Values read so far that were neither integer nor NULL, by "TABLE.column"; they read as NULL."""

    def row_counts(self) -> Mapping[str, int]:
        """Every table that exists, with its number of rows."""

    def columns(self, table: str) -> frozenset[str]:
        """Columns of a table; empty for a table that doesn't exist."""

    def integers(self, table: str, columns: Sequence[str]) -> dict[str, I64]:
        """Integer columns in row order; NULL, absent columns and absent tables read as `identity.NULL`.

        Raises:
            InputError: the table can't be read to its end.
        """

    def texts(self, table: str, column: str) -> list[str | None]:
        """A text column in row order, invalid UTF-8 replaced; empty for an absent table, None for NULL.

        Raises:
            InputError: the table can't be read to its end.
        """

    def blobs(self, table: str, column: str, beside: Sequence[str]) -> tuple[dict[str, I64], list[bytes]]:
        """The rows whose binary column isn't NULL: integer columns `beside` it, and its bytes, in row order.

        Raises:
            InputError: the table can't be read to its end.
        """

    def close(self) -> None:
        """Release the input."""
