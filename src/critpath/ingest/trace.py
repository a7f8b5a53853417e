"""From one input to one `Trace`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from critpath.base.errors import InputError
from critpath.ingest.label import label
from critpath.ingest.metadata import Metadata, read_metadata
from critpath.ingest.nccl_calls import read_nccl_calls
from critpath.ingest.opened import opened, size_bytes
from critpath.ingest.reader import TableReader
from critpath.ingest.schema import EXPECTED_TABLES, EXPORT_TABLES, read_table
from critpath.ingest.source import SENTINEL_TABLES, InputFile, input_file
from critpath.model.identity import NULL, pid_of
from critpath.model.tables import (
    Copies,
    Diagnostics,
    EventRecords,
    GraphLaunches,
    Kernels,
    Memsets,
    NvtxRanges,
    OsCalls,
    Overheads,
    RuntimeCalls,
    SyncWaits,
    ThreadSwitches,
)
from critpath.model.trace import Strings, Trace

__all__ = ["read_trace"]

_ENVIRONMENT_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def read_trace(given: InputFile | Path) -> Trace:
    """Read one input whole; it is opened read-only and nothing is written beside it.

    Raises:
        InputError: the input is missing, damaged, or not an Nsight Systems export.
    """
    given = given if isinstance(given, InputFile) else input_file(given)
    with opened(given) as reader:
        return _trace(reader, given)


def _trace(reader: TableReader, given: InputFile) -> Trace:
    rows = reader.row_counts()
    _check_is_export(set(rows), given.path)
    metadata = read_metadata(reader, path=label(given.path), kind=given.kind, size_bytes=size_bytes(given))
    strings = _strings(reader)
    kernels = read_table(Kernels, reader, strings)
    copies = read_table(Copies, reader, strings)
    memsets = read_table(Memsets, reader, strings)
    graphs = read_table(GraphLaunches, reader, strings)
    calls = read_table(RuntimeCalls, reader, strings)
    # A process whose device rows were lost still shows by its API calls.
    processes = frozenset(p for t in (kernels, copies, memsets, graphs, calls) for p in np.unique(t.process).tolist())
    ranks, rank_source = _ranks(metadata, processes - {NULL})
    return Trace(
        source=metadata.source,
        strings=strings,
        kernels=kernels,
        copies=copies,
        memsets=memsets,
        graph_launches=graphs,
        runtime_calls=calls,
        sync_waits=read_table(SyncWaits, reader, strings),
        event_records=read_table(EventRecords, reader, strings),
        nvtx_ranges=read_table(NvtxRanges, reader, strings),
        overheads=read_table(Overheads, reader, strings),
        os_calls=read_table(OsCalls, reader, strings),
        thread_switches=read_table(ThreadSwitches, reader, strings),
        nccl_calls=read_nccl_calls(reader, exported=metadata.source.blobs_exported),
        diagnostics=read_table(Diagnostics, reader, strings),
        rows=rows,
        mistyped=dict(reader.mistyped),
        processes=metadata.processes,
        gpus=metadata.gpus,
        contexts=metadata.contexts,
        streams=metadata.streams,
        capture_options=metadata.capture_options,
        environment=metadata.environment,
        rank_by_process=ranks,
        rank_source=rank_source,
        rank_by_device=_ranks_of_devices(metadata, processes - {NULL}),
    )


def _check_is_export(tables: set[str], path: Path) -> None:
    known = {name for names in EXPORT_TABLES.values() for name in names} | set(EXPECTED_TABLES) | set(SENTINEL_TABLES)
    if not known & tables:
        raise InputError(
            "the database holds none of Nsight Systems' tables",
            where=label(path),
            meaning="It is SQLite, but no profile: nothing can be said of a run.",
            remedy="Give a file made with `nsys export --type sqlite report.nsys-rep`.",
        )


def _strings(reader: TableReader) -> Strings:
    ids = reader.integers("StringIds", ["id"])["id"].tolist()
    return Strings(
        {i: t for i, t in zip(ids, reader.texts("StringIds", "value"), strict=True) if t is not None and i != NULL}
    )


def _ranks(metadata: Metadata, gpu_processes: frozenset[int]) -> tuple[dict[int, int], str | None]:
    """Ranks that the export states. A launcher's environment is not its children's, so one GPU process only."""
    stated = {p: r for p, r in metadata.mpi_ranks.items() if p in gpu_processes}
    if stated:
        return stated, "mpi"
    if len(gpu_processes) == 1:
        (process,) = gpu_processes
        if metadata.launched_pids <= {pid_of(process)}:
            for name in _ENVIRONMENT_RANKS:
                if name in metadata.environment:
                    return {process: int(metadata.environment[name])}, "environment"
    return {}, None


def _ranks_of_devices(metadata: Metadata, gpu_processes: frozenset[int]) -> dict[tuple[int, int], int]:
    """JAX's ranks: its device names tell no process, so they say something of a report with one GPU process only."""
    if len(gpu_processes) != 1:
        return {}
    (process,) = gpu_processes
    return {(process, device): rank for device, rank in metadata.jax_ranks.items()}
