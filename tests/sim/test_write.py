"""What the files hold, read back with plain sqlite3."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import GENERATIONS, write_job
from critpath.sim.instructions import (
    BufferFlush,
    CopyDirection,
    DeviceSync,
    EventQuery,
    EventSync,
    Graph,
    GraphLaunch,
    GraphNode,
    HostMemory,
    Instruction,
    RangePop,
    RangePush,
)
from critpath.sim.program import Report, Thread
from sim.tiny import COMPUTE, LEGACY, A, B, collective, copy, job_of, kernel, process, record, step, sync, thread, wait

SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
NO_ID = 4_294_967_295
REAL = Path(__file__).parents[3] / "shared" / "data" / "real"


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def tables(path: Path) -> set[str]:
    return {name for (name,) in select(path, "SELECT name FROM sqlite_master")}


def written(out: Path, *instructions: Instruction, generation: str = "2026.2", **options: Any) -> Path:
    job = job_of(process(thread(*instructions)), graph_trace=options.pop("graph_trace", "node"))
    return write_job(job, out, generation=generation, **options).exports[0]


SYNCS = (
    kernel(A, 100),
    record(A, 1),
    wait(B, 1),
    EventQuery(1, A, 1),
    EventSync(1, A, 1),
    sync(A),
    DeviceSync(A, 1),
)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_opens_and_is_sound(tmp_path: Path, generation: str) -> None:
    path = written(tmp_path, *step(0, *SYNCS), generation=generation)
    assert select(path, "PRAGMA integrity_check") == [("ok",)]
    assert select(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") == [(1,)]


@pytest.mark.parametrize(
    ("generation", "there", "absent"),
    [
        ("2022.1", {"EXPORT_META_DATA", "TARGET_INFO_CUDA_NULL_STREAM"}, {"META_DATA_EXPORT", "META_DATA_CAPTURE"}),
        ("2022.1", {"TARGET_INFO_GPU"}, {"DIAGNOSTIC_EVENT", "ENUM_CUPTI_SYNC_TYPE", "TARGET_INFO_CUDA_DEVICE"}),
        ("2024.6", {"META_DATA_EXPORT", "META_DATA_CAPTURE", "DIAGNOSTIC_EVENT"}, {"TARGET_INFO_CUDA_DEVICE"}),
        ("2024.6", {"TARGET_INFO_CUDA_CONTEXT_INFO", "ENUM_CUPTI_SYNC_TYPE"}, {"TARGET_INFO_CUDA_NULL_STREAM"}),
        ("2025.3", {"TARGET_INFO_CUDA_DEVICE"}, {"EXPORT_META_DATA"}),
    ],
)
def test_tables_come_and_go_with_versions(tmp_path: Path, generation: str, there: set[str], absent: set[str]) -> None:
    found = tables(written(tmp_path, *SYNCS, generation=generation))
    assert there <= found
    assert not absent & found


def test_tables_without_rows_are_absent(tmp_path: Path) -> None:
    found = tables(written(tmp_path, kernel(A, 10)))
    assert not {SYNC, "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"} & found


@pytest.mark.parametrize(
    ("generation", "codes"),
    [
        ("2022.1", (3, 2, 2, 3, 1)),
        ("2024.6", (2, 1, 1, 2, 0)),
        ("2025.3", (2, 1, 1, 2, 4)),
        ("2025.6", (2, 1, 1, 2, 4)),
        ("2026.2", (2, 1, 1, 3, 4)),
    ],
)
def test_sync_codes_and_shapes(tmp_path: Path, generation: str, codes: tuple[int, ...]) -> None:
    path = written(tmp_path, *SYNCS, generation=generation)
    # In time order: stream wait, event query, event sync, stream sync, device sync.
    rows = select(path, f"SELECT syncType, eventId, streamId, deviceId FROM {SYNC} ORDER BY start")
    assert tuple(code for code, *_ in rows) == codes
    assert [(event, stream) for _, event, stream, _ in rows] == [
        (1, 16),
        (1, NO_ID),
        (1, NO_ID),
        (NO_ID, 15),
        (NO_ID, NO_ID),
    ]


@pytest.mark.parametrize(("generation", "none"), [("2025.3", NO_ID), ("2025.6", 0), ("2026.2", 0)])
def test_event_sync_ids_tie_waits_to_records(tmp_path: Path, generation: str, none: int) -> None:
    path = written(tmp_path, *SYNCS, generation=generation)
    assert select(path, f"SELECT eventSyncId FROM {SYNC} ORDER BY start") == [(41,), (41,), (41,), (none,), (none,)]
    assert select(path, "SELECT eventId, eventSyncId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT") == [(1, 41)]


def test_a_driver_without_event_sync_ids_leaves_nulls(tmp_path: Path) -> None:
    path = written(tmp_path, *SYNCS, generation="2025.3", event_sync_ids=False)
    rows = select(path, f"SELECT syncType, deprecatedSyncType, eventSyncId FROM {SYNC} ORDER BY start")
    assert rows == [(0, 2, None), (0, 1, None), (0, 1, None), (0, 2, None), (0, 0, None)]
    assert select(path, "SELECT eventSyncId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT") == [(None,)]


def test_event_timestamps_are_zero_where_the_version_has_them(tmp_path: Path) -> None:
    path = written(tmp_path, *SYNCS)
    assert select(path, "SELECT timestamp FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT") == [(0,)]


def test_kernels_carry_their_three_names(tmp_path: Path) -> None:
    path = written(tmp_path, kernel(A, 10))
    (names,) = select(
        path,
        """SELECT d.value, s.value, m.value FROM CUPTI_ACTIVITY_KIND_KERNEL
           JOIN StringIds d ON d.id = demangledName JOIN StringIds s ON s.id = shortName
           JOIN StringIds m ON m.id = mangledName""",
    )
    assert names == (COMPUTE.demangled, COMPUTE.short, COMPUTE.mangled)


def test_every_device_op_joins_its_call(tmp_path: Path) -> None:
    path = written(tmp_path, kernel(A, 10), copy(A, CopyDirection.HOST_TO_DEVICE, 5), kernel(B, 10))
    joined = select(
        path,
        """SELECT s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
           JOIN (SELECT correlationId c, globalPid p FROM CUPTI_ACTIVITY_KIND_KERNEL
                 UNION ALL SELECT correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMCPY)
           ON c = r.correlationId AND p >> 24 = r.globalTid >> 24 ORDER BY r.start""",
    )
    assert [name for (name,) in joined] == [
        "cudaLaunchKernel_v7000",
        "cudaMemcpyAsync_v3020",
        "cudaLaunchKernel_v7000",
    ]


def test_copies_say_direction_and_kinds_of_memory(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        copy(A, CopyDirection.HOST_TO_DEVICE, 5),
        copy(LEGACY, CopyDirection.DEVICE_TO_HOST, 5, memory=HostMemory.PAGEABLE),
        copy(A, CopyDirection.DEVICE_TO_DEVICE, 5),
    )
    query = "SELECT copyKind, srcKind, dstKind, streamId FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY correlationId"
    assert select(path, query) == [(1, 1, 2, 15), (2, 2, 0, 7), (8, 2, 2, 15)]


@pytest.mark.parametrize("trace", ["node", "graph"])
def test_graphs_are_written_as_nodes_or_as_launches(tmp_path: Path, trace: str) -> None:
    graph = Graph(3, 5, (GraphNode(COMPUTE, 10), GraphNode(COMPUTE, 20, (0,))))
    path = written(tmp_path, kernel(A, 5), GraphLaunch(A, graph, 1, 10), graph_trace=trace)
    kernels = "SELECT correlationId, graphId, graphNodeId IS NULL FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start"
    mode = select(path, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'CUDA_GRAPH_TRACE_OPTIONS:MODE'")
    assert mode == [(trace.capitalize(),)]
    if trace == "node":
        assert select(path, kernels) == [(1_201, None, 1), (1_202, 3, 0), (1_202, 3, 0)]
        assert "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" not in tables(path)
    else:
        assert select(path, kernels) == [(1_201, None, 1)]
        query = "SELECT correlationId, graphId, graphExecId, end - start FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
        assert select(path, query) == [(1_202, 3, 5, 30)]


def test_ranges_have_text_or_an_id_and_domains_a_row(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        RangePush("iteration 0", step=0),
        RangePush("ncclAllReduce", domain=1, registered=True),
        collective(A, 1, 5),
        RangePop(domain=1),
        RangePop(),
    )
    rows = select(
        path,
        """SELECT eventType, text, s.value, domainId, start < 0, "end" IS NULL FROM NVTX_EVENTS
           LEFT JOIN StringIds s ON s.id = textId ORDER BY NVTX_EVENTS.rowid""",
    )
    assert rows == [
        (75, "NCCL", None, 1, 1, 1),
        (59, "iteration 0", None, 0, 0, 0),
        (59, None, "ncclAllReduce", 1, 0, 0),
    ]


def test_calls_come_in_one_block_a_thread(tmp_path: Path) -> None:
    first = thread(kernel(A, 1), kernel(A, 1))
    second = Thread(101, "pt_autograd_0", (kernel(B, 1), kernel(B, 1)))
    path = write_job(job_of(process(first, second)), tmp_path).exports[0]
    rows = select(path, "SELECT globalTid & 16777215, start FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY rowid")
    assert [tid for tid, _ in rows] == [100, 100, 101, 101]
    assert [start for _, start in rows] != sorted(start for _, start in rows)


def test_device_rows_are_in_the_order_of_completion(tmp_path: Path) -> None:
    path = written(tmp_path, kernel(A, 500), kernel(B, 10))
    assert select(path, "SELECT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY rowid") == [(16,), (15,)]


def test_event_records_are_not_in_time_order(tmp_path: Path) -> None:
    path = written(tmp_path, *(r for e in (1, 2, 1, 2) for r in (kernel(A, 1), record(A, e))))
    rows = [c for (c,) in select(path, "SELECT correlationId FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT ORDER BY rowid")]
    assert rows != sorted(rows)


def test_a_flush_is_profiler_overhead(tmp_path: Path) -> None:
    path = written(tmp_path, kernel(A, 1), BufferFlush(900))
    assert select(path, 'SELECT "end" - start, overheadType FROM PROFILER_OVERHEAD') == [(900, 3)]
    old = written(tmp_path / "old", kernel(A, 1), BufferFlush(900), generation="2024.6")
    assert select(old, 'SELECT "end" - start, returnValue FROM PROFILER_OVERHEAD') == [(900, 0)]


def test_several_processes_share_a_report_and_its_ids_collide(tmp_path: Path) -> None:
    twins = [process(thread(*SYNCS), rank=rank, pid=100 + rank) for rank in range(2)]
    path = write_job(job_with(*twins), tmp_path).exports[0]
    ids = "SELECT globalPid >> 24 & 16777215, correlationId, contextId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL"
    assert sorted(select(path, ids)) == [(100, 1_201, 1, 15), (101, 1_201, 1, 15)]
    assert select(path, f"SELECT count(*), count(DISTINCT eventSyncId) FROM {SYNC} WHERE eventId = 1") == [(6, 1)]
    assert select(path, "SELECT count(*) FROM PROCESSES WHERE pid IN (100, 101)") == [(2,)]


def job_with(*processes: Any) -> Any:
    """One report that holds every process."""
    job = job_of(processes[0])
    return type(job)((Report("node", "node0", tuple(processes)),), job.costs, job.graph_trace)


def test_the_environment_holds_a_secret_and_what_was_given(tmp_path: Path) -> None:
    job = job_of(process(thread(kernel(A, 1))))
    report = Report("rank0", "node0", job.reports[0].processes, environment=(("RANK", "3"),))
    path = write_job(type(job)((report,), job.costs), tmp_path).exports[0]
    rows = select(path, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:ENVIRONMENT_VARIABLE'")
    assert ("RANK=3",) in rows
    assert any("TOKEN" in value for (value,) in rows)


def test_diagnostics_count_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, *step(0, *SYNCS), copy(A, CopyDirection.HOST_TO_DEVICE, 5))
    texts = [text for (text,) in select(path, "SELECT text FROM DIAGNOSTIC_EVENT")]
    (calls,) = select(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME")[0]
    assert f"Number of CUDA events collected: \t{calls + 2}." in texts
    assert "Number of NVTX events collected: \t1." in texts


def test_gpu_ids_are_not_cuda_ordinals(tmp_path: Path) -> None:
    path = written(tmp_path, kernel(A, 1))
    assert select(path, "SELECT count(*) FROM TARGET_INFO_GPU WHERE id = cuDevice") < [(8,)]
    query = """SELECT g.cuDevice, g.uuid = d.uuid FROM TARGET_INFO_CUDA_DEVICE d
               JOIN TARGET_INFO_GPU g ON g.id = d.gpuId WHERE d.cudaId = 0"""
    assert select(path, query) == [(0, 1)]


@pytest.mark.parametrize(
    ("real", "generation"),
    [
        ("power_iteration_nvtx_2025.3.1.sqlite", "2025.3"),
        ("h100_2gpu_fastvideo_1s_2026.2.1.sqlite", "2026.2"),
    ],
)
def test_columns_are_those_of_a_real_export(tmp_path: Path, real: str, generation: str) -> None:
    if not (REAL / real).exists():
        pytest.skip(f"{REAL / real} is not here")
    path = written(tmp_path, *step(0, *SYNCS), copy(A, CopyDirection.HOST_TO_DEVICE, 5), generation=generation)
    for table in sorted(tables(path) & tables(REAL / real)):
        ours, theirs = (
            select(p, f"SELECT name, type, \"notnull\" FROM pragma_table_info('{table}')") for p in (path, REAL / real)
        )
        assert ours == theirs, table
