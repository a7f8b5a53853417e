"""What NCCL's ranges carry: schemas of their payloads, the payloads themselves, and the ranges of its initialization.

A payload is little endian behind a header of four 64-bit numbers: domain, schema, payload size, total size. Schemas are
written once a process; nothing in their rows says which.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from critpath.sim.executed import Execution, ProcessRun
from critpath.sim.instructions import Collective, Communicator
from critpath.sim.recording import NcclPayload
from critpath.sim.sheets import Capture, Row, Sheet

__all__ = ["NCCL_DOMAIN", "InitRange", "blob", "init_ranges", "memberships", "payload_sheets"]

NCCL_DOMAIN = 1
_STATIC = 1 << 24
_INT, _UINT64, _SIZE, _REDUCTION = 5, 18, 22, _STATIC + 16
_ID, _BYTES = ("NCCL communicator ID", _UINT64, 0), ("Message size [bytes]", _SIZE, 8)
_INIT = _STATIC + 11
_SCHEMAS: dict[int, tuple[int, tuple[tuple[str, int, int], ...]]] = {
    _STATIC + 4: (16, (_ID, _BYTES)),
    _STATIC + 5: (24, (_ID, _BYTES, ("Reduction operation", _REDUCTION, 16))),
    _STATIC + 6: (24, (_ID, _BYTES, ("Root", _INT, 16))),
    _STATIC + 7: (24, (_ID, _BYTES, ("Reduction operation", _REDUCTION, 16))),
    _STATIC + 9: (24, (_ID, _BYTES, ("Peer rank", _INT, 16))),
    _STATIC + 10: (24, (_ID, _BYTES, ("Peer rank", _INT, 16))),
    _INIT: (24, (_ID, ("No. of ranks", _INT, 8), ("Rank", _INT, 12), ("CUDA device", _INT, 16))),
    _STATIC + 16: (16, (_ID, _BYTES)),
}
"""By id: the payload's size, and each entry's name, type and offset."""
_SCHEMA_OF = {
    "all_gather": _STATIC + 4,
    "all_reduce": _STATIC + 5,
    "broadcast": _STATIC + 6,
    "reduce_scatter": _STATIC + 7,
    "send": _STATIC + 9,
    "recv": _STATIC + 10,
    "all_to_all": _STATIC + 16,
}

Members = Mapping[tuple[int, int, str], int]
"""Rank within a communicator, by the run's `id`, device and the communicator's name."""


class InitRange(NamedTuple):
    """A range of NCCL's initialization, before anything else of its process."""

    run: ProcessRun
    start_ns: int
    end_ns: int
    payload: bytes


def memberships(execution: Execution) -> Members:
    """Who is which rank of which communicator: units by their rank in the job, then in the job's order."""
    units: dict[str, dict[tuple[int, int], tuple[int, int, int]]] = {}
    places = {id(run): place for place, run in enumerate(execution.runs)}
    for meeting in execution.collectives:
        group = meeting.collective.communicator.known_as
        known = units.setdefault(group, {})
        for op in meeting.ops:
            device = op.stream.device
            rank = op.run.process.rank
            known.setdefault((id(op.run), device), (-1 if rank is None else rank, places[id(op.run)], device))
    return {
        (run, device, group): place
        for group, known in units.items()
        for place, (run, device) in enumerate(sorted(known, key=known.__getitem__))
    }


def _communicator_id(communicator: Communicator) -> int:
    """The 64-bit id that all ranks of a communicator share."""
    name = communicator.known_as.encode()
    return zlib.crc32(name) << 32 | zlib.crc32(name[::-1] + b"id")


def _packed(schema: int, payload: bytes) -> bytes:
    size = _SCHEMAS[schema][0]
    padded = payload.ljust(size, b"\0")
    return struct.pack("<4Q", NCCL_DOMAIN, schema, size, 32 + size) + padded


def blob(part: Collective) -> bytes | None:
    """The payload of a call's range; None for calls that carry none."""
    schema = _SCHEMA_OF.get(part.call or part.operation)
    if schema is None:
        return None
    head = struct.pack("<2Q", _communicator_id(part.communicator), part.bytes)
    return _packed(schema, head + (struct.pack("<i", part.peer) if part.call in ("send", "recv") else b""))


def init_ranges(capture: Capture) -> Iterator[InitRange]:
    """One `ncclCommInitRankConfig` range for each communicator of each unit, when payloads are exported."""
    if not _exported(capture, NcclPayload.BLOBS):
        return
    for run in capture.runs:
        begun_ns = run.process.start_ns - 900_000_000
        known: dict[tuple[int, str], Communicator] = {}
        for op in run.ops:
            if op.collective is not None:
                communicator = op.collective.collective.communicator
                if communicator.backend == "nccl":
                    known.setdefault((op.stream.device, communicator.known_as), communicator)
        for place, ((device, name), communicator) in enumerate(sorted(known.items(), key=lambda item: item[0])):
            size, rank = communicator.known_size, capture.members[id(run), device, name]
            payload = struct.pack("<Q3i", _communicator_id(communicator), size, rank, device)
            start_ns = begun_ns + 60_000_000 * place
            yield InitRange(run, start_ns, start_ns + 41_000_000, _packed(_INIT, payload))


def payload_sheets(capture: Capture) -> Iterator[Sheet]:
    """The schema tables, each process's rows one after the other."""
    if not _exported(capture, NcclPayload.SCHEMAS):
        return
    users = [run for run in capture.runs if any(r.domain == NCCL_DOMAIN for r in run.ranges)]
    schemas: list[Row] = []
    entries: list[Row] = []
    for _ in sorted(users, key=attrgetter("process.pid")):
        for schema, (size, parts) in _SCHEMAS.items():
            schemas.append((NCCL_DOMAIN, schema, 1, len(parts), size))
            # The first entry's offset is left out: 0 goes without saying.
            entries += [
                (NCCL_DOMAIN, schema, place, kind, name, offset or None)
                for place, (name, kind, offset) in enumerate(parts)
            ]
    yield Sheet("NVTX_PAYLOAD_SCHEMAS", ("domainId", "schemaId", "type", "numEntries", "payloadSize"), schemas, {})
    yield Sheet("NVTX_PAYLOAD_SCHEMA_ENTRIES", ("domainId", "schemaId", "idx", "type", "name", "offset"), entries, {})


def _exported(capture: Capture, least: NcclPayload) -> bool:
    """Whether the export holds at least this much of the payloads."""
    order = list(NcclPayload)
    return capture.generation.since("2026.2") and order.index(capture.recording.nccl_payload) >= order.index(least)
