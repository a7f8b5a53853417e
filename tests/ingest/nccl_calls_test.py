"""What NCCL's payloads tell, in every form of export."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from critpath.ingest.source import input_file
from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL
from critpath.model.tables import NcclCalls
from critpath.pipeline.inputs import summarise_input
from critpath.pipeline.options import Options
from exports import PID, Export, tid

COMM = 0xF00D_0000_0000_BEEF
SCHEMAS = {
    5: (("NCCL communicator ID", 18, None), ("Message size [bytes]", 22, 8)),
    9: (("NCCL communicator ID", 18, None), ("Message size [bytes]", 22, 8), ("Peer rank", 5, 16)),
    11: (("NCCL communicator ID", 18, None), ("No. of ranks", 5, 8), ("Rank", 5, 12), ("CUDA device", 5, 16)),
    30: (("Something else", 18, None), ("Message size [bytes]", 22, 8)),
}


def blob(schema: int, payload: bytes, *, size: int | None = None) -> bytes:
    return struct.pack("<4Q", 1, schema, len(payload) if size is None else size, 0) + payload


def export(**more: object) -> Export:
    made = Export("2026.2")
    for _ in range(2):  # each process writes its own, equal rows
        for schema, entries in SCHEMAS.items():
            made.add("NVTX_PAYLOAD_SCHEMAS", domainId=1, schemaId=schema, numEntries=len(entries))
            for place, (name, kind, offset) in enumerate(entries):
                made.add(
                    "NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=1, schemaId=schema, idx=place, type=kind, name=name,
                    offset=offset,
                )  # fmt: skip
    return made


def called(made: Export, start: int, end: int, name: str, payload: bytes | None = None) -> None:
    made.nvtx(start, end, None, textId=made.string(name), domainId=1, binaryData=payload)


def calls(made: Export, folder: Path) -> NcclCalls:
    return read_trace(made.write(folder / "a.sqlite")).nccl_calls


def test_entries_are_read_by_name_with_their_types(tmp_path: Path) -> None:
    made = export()
    called(made, 10, 20, "ncclAllReduce", blob(5, struct.pack("<2Q", COMM, 4096)))
    called(made, 30, 40, "ncclSend", blob(9, struct.pack("<2Qi4x", COMM, 77, -1)))
    called(made, 50, 60, "ncclCommInitRankConfig", blob(11, struct.pack("<Q3i", COMM, 8, 3, 1)))
    found = calls(made, tmp_path)
    signed = COMM - 2**64
    assert found.communicator.tolist() == [signed] * 3
    assert found.bytes.tolist() == [4096, 77, NULL]
    assert found.peer.tolist() == [NULL, -1, NULL]
    assert (found.ranks[2], found.rank[2], found.device[2]) == (8, 3, 1)
    assert found.thread.tolist() == [tid(PID)] * 3


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"short",
        blob(5, struct.pack("<Q", COMM)),
        blob(5, struct.pack("<2Q", COMM, 1), size=8),
        blob(99, struct.pack("<2Q", COMM, 1)),
        blob(30, struct.pack("<2Q", COMM, 1)),
        b"\xff" * 64,
    ],
    ids=["empty", "short", "cut", "size too small", "unknown schema", "no communicator", "noise"],
)
def test_payloads_that_tell_no_communicator_are_left_out(payload: bytes, tmp_path: Path) -> None:
    made = export()
    called(made, 10, 20, "ncclAllReduce", payload)
    called(made, 30, 40, "ncclAllReduce", blob(5, struct.pack("<2Q", COMM, 9)))
    assert calls(made, tmp_path).bytes.tolist() == [9]


def test_without_payloads_there_are_no_calls_and_no_sizes(tmp_path: Path) -> None:
    made = export()
    called(made, 10, 20, "ncclAllReduce")
    assert len(calls(made, tmp_path)) == 0


def test_schemas_that_processes_declare_differently_are_not_believed(tmp_path: Path) -> None:
    made = export()
    made.add(
        "NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=1, schemaId=5, idx=1, type=22, name="Message size [bytes]", offset=16
    )
    called(made, 10, 20, "ncclAllReduce", blob(5, struct.pack("<2Q", COMM, 4096)))
    assert len(calls(made, tmp_path)) == 0


def test_a_groups_kernel_has_all_its_calls(tmp_path: Path) -> None:
    """Between the ends of two groups nothing is launched; what a group's end launches is all of its calls."""
    made = export()
    for first, sizes in ((1_000, (10, 20)), (5_000, (7,))):
        called(made, first, first + 10, "ncclGroupStart")
        for i, size in enumerate(sizes):
            at = first + 100 * (i + 1)
            called(made, at, at + 50, "ncclSend", blob(9, struct.pack("<2Qi4x", COMM, size, 1)))
        called(made, first + 1_000, first + 2_000, "ncclGroupEnd")
        made.call(first + 1_200, first + 1_300, corr=first)
        made.kernel(first + 100_000, first + 101_000, corr=first, name="ncclDevKernel_SendRecv(ncclDevKernelArgs)")
    called(made, 9_000, 9_900, "ncclAllReduce", blob(5, struct.pack("<2Q", COMM, 64)))
    made.call(9_100, 9_200, corr=9)
    made.kernel(200_000, 201_000, corr=9, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)")
    made.call(9_950, 9_960, corr=10)
    made.kernel(210_000, 211_000, corr=10, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)")
    (unit,) = summarise_input(input_file(made.write(tmp_path / "a.sqlite")), 0, Options()).units
    ops = unit.collectives
    assert ops is not None
    assert ops.bytes.tolist() == [30, 7, 64, NULL]
    assert ops.peer.tolist() == [NULL, 1, NULL, NULL]
    assert np.array_equal(ops.communicator != NULL, [True, True, True, False])
