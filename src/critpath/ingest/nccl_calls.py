"""NCCL's own ranges with what their payloads say: communicator, message size, peer, rank.

A payload is little endian behind a header of four 64-bit numbers: domain, schema, size, and one that differs between
descriptions and isn't needed. What it holds is told by the schema's entries; they are found by name, since NCCL's
numbers move between versions. Payloads are there only where the export was made with --include-blobs=true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.ingest.reader import TableReader
from critpath.model.identity import NULL, process_of
from critpath.model.tables import NcclCalls

__all__ = ["read_nccl_calls"]

_HEADER_BYTES = 32
_MOST_PAYLOAD = 2**16

_NAMES = {
    "communicator id": "communicator",
    "nccl communicator id": "communicator",
    "message size [bytes]": "bytes",
    "message size": "bytes",
    "peer rank": "peer",
    "peer": "peer",
    "root": "root",
    "no. of ranks": "ranks",
    "number of ranks": "ranks",
    "rank": "rank",
    "cuda device": "device",
}
"""Column by the name of a schema's entry, in lower case."""

_TYPES: Mapping[int, str] = {
    3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<i8", 8: "<u8", 9: "<i8", 10: "<u8", 11: "<i1", 12: "<u1", 13: "<i2",
    14: "<u2", 15: "<i4", 16: "<u4", 17: "<i8", 18: "<u8", 22: "<u8", 23: "<u8",
}  # fmt: skip
"""How each integer type of NVTX's payload extension is stored. Source: its header, nvToolsExtPayload.h."""


class _Entry(NamedTuple):
    column: str
    kind: str
    offset: int


def read_nccl_calls(reader: TableReader, *, exported: bool | None) -> NcclCalls:
    """The ranges with a payload that names a communicator; empty where payloads were not exported.

    Args:
        reader: the export.
        exported: what the export says of its payloads; None where it says nothing.

    Raises:
        InputError: a table can't be read to its end.
    """
    schemas = _schemas(reader)
    if exported is False or not schemas:
        return NcclCalls.empty()
    cells, blobs = reader.blobs("NVTX_EVENTS", "binaryData", ["start", "end", "globalTid", "textId"])
    whole = np.fromiter((len(blob) >= _HEADER_BYTES for blob in blobs), np.bool_, len(blobs))
    heads = np.frombuffer(b"".join(blob[:_HEADER_BYTES] for blob in blobs if len(blob) >= _HEADER_BYTES), "<u8")
    domain, schema, size = heads.reshape(-1, 4)[:, :3].T.astype(np.int64)
    rows = np.flatnonzero(whole)
    found = {name: np.full(len(blobs), NULL, np.int64) for name in dict.fromkeys(_NAMES.values())}
    for key in sorted(set(zip(domain.tolist(), schema.tolist(), strict=True)) & set(schemas)):
        mine = (domain == key[0]) & (schema == key[1])
        _decode(blobs, rows[mine], size[mine], schemas[key], found)
    known = found["communicator"] != NULL
    return NcclCalls(
        start_ns=cells["start"][known],
        end_ns=cells["end"][known],
        process=process_of(cells["globalTid"])[known],
        thread=cells["globalTid"][known],
        name=cells["textId"][known],
        **{name: values[known] for name, values in found.items()},
    )


def _decode(
    blobs: list[bytes], rows: npt.NDArray[np.intp], size: I64, entries: tuple[_Entry, ...], found: dict[str, I64]
) -> None:
    """Fill the columns for the rows of one schema; a payload that is too short for an entry leaves it out."""
    extent = max(e.offset + np.dtype(e.kind).itemsize for e in entries)
    lengths = np.array([len(blobs[i]) - _HEADER_BYTES for i in rows.tolist()], np.int64)
    enough = (size >= extent) & (lengths >= extent)
    rows = rows[enough]
    packed = b"".join(blobs[i][_HEADER_BYTES : _HEADER_BYTES + extent] for i in rows.tolist())
    table = np.frombuffer(packed, np.uint8).reshape(-1, extent)
    for entry in entries:
        raw = np.ascontiguousarray(table[:, entry.offset : entry.offset + np.dtype(entry.kind).itemsize])
        found[entry.column][rows] = (
            raw.view(entry.kind).ravel().astype(np.uint64).view(np.int64)
            if (entry.kind == "<u8")
            else raw.view(entry.kind).ravel().astype(np.int64)
        )


def _schemas(reader: TableReader) -> dict[tuple[int, int], tuple[_Entry, ...]]:
    """Known entries by (domain, schema); schemas that processes declare differently are left out.

    Every process writes its own rows, and nothing in them says which.
    """
    table = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
    cells = reader.integers(table, ["domainId", "schemaId", "type", "offset"])
    offsets = np.where(cells["offset"] == NULL, 0, cells["offset"])
    keys = zip(cells["domainId"].tolist(), cells["schemaId"].tolist(), strict=True)
    rows = zip(keys, reader.texts(table, "name"), cells["type"].tolist(), offsets.tolist(), strict=True)
    told: dict[tuple[int, int], dict[str, set[_Entry]]] = {}
    for key, name, kind, offset in rows:
        column = _NAMES.get((name or "").strip().casefold())
        if column is not None and kind in _TYPES and 0 <= offset < _MOST_PAYLOAD:
            told.setdefault(key, {}).setdefault(column, set()).add(_Entry(column, _TYPES[kind], offset))
    return {
        key: tuple(entry for entries in columns.values() for entry in entries)
        for key, columns in told.items()
        if "communicator" in columns and all(len(entries) == 1 for entries in columns.values())
    }
