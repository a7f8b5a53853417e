"""What an export says of itself: clocks, hosts, processes, GPUs, streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL
from critpath.model.trace import Gpu, Source, Trace
from exports import GENERATIONS, Export, gpid

UTC, SYSTEM = 1_774_187_249_263_735_400, 931_572_954_000_000
ZEROS = "00000000-0000-0000-0000-000000000000"


def read(export: Export, tmp_path: Path) -> Trace:
    export.kernel(0, 9)
    return read_trace(export.write(tmp_path / "a.sqlite"))


def source(tmp_path: Path, *, start: dict[str, int | None] | None = None, **settings: str) -> Source:
    export = Export()
    if start is not None:
        export.add("TARGET_INFO_SESSION_START_TIME", **start)
    for name, value in settings.items():
        export.add("META_DATA_EXPORT", name=name, value=value)
    return read(export, tmp_path).source


BOTH = {"utcEpochNs": UTC, "systemClockNs": SYSTEM}


@pytest.mark.parametrize(
    ("start", "settings", "utc", "system"),
    [
        (None, {}, None, None),
        (BOTH, {}, UTC, SYSTEM),
        ({"utcEpochNs": UTC, "systemClockNs": None}, {}, UTC, None),
        ({"utcEpochNs": UTC, "systemClockNs": 0}, {}, UTC, None),
        ({"utcEpochNs": None, "systemClockNs": SYSTEM}, {}, None, SYSTEM),
        # shifted times: t on the axis happened at UTC + t − shift
        (BOTH, {"EXPORT_PARAM_TIME_SHIFT": "1000"}, UTC - 1_000, SYSTEM - 1_000),
        (BOTH, {"EXPORT_CONFIG_TIME_SHIFT": "-5"}, UTC + 5, SYSTEM + 5),
        (BOTH, {"EXPORT_PARAM_TIME_SHIFT": "soon"}, UTC, SYSTEM),
        # normalised times are UTC already
        (BOTH, {"EXPORT_PARAM_TIME_NORMALIZE": "true"}, 0, SYSTEM - UTC),
        (BOTH, {"EXPORT_PARAM_TIME_NORMALIZE": "TRUE", "EXPORT_PARAM_TIME_SHIFT": "7"}, -7, SYSTEM - UTC - 7),
        (BOTH, {"EXPORT_PARAM_TIME_NORMALIZE": "false"}, UTC, SYSTEM),
        (None, {"EXPORT_PARAM_TIME_NORMALIZE": "true"}, 0, None),
        ({"utcEpochNs": None, "systemClockNs": SYSTEM}, {"EXPORT_PARAM_TIME_NORMALIZE": "true"}, 0, None),
    ],
)
def test_the_zero_of_the_axis(
    start: dict[str, int | None] | None, settings: dict[str, str], utc: int | None, system: int | None, tmp_path: Path
) -> None:
    found = source(tmp_path, start=start, **settings)
    assert (found.session_start_utc_ns, found.system_clock_ns) == (utc, system)


@pytest.mark.parametrize("generation", GENERATIONS[2:])
def test_the_systems_clock_exists_since_2025_6(generation: str, tmp_path: Path) -> None:
    export = Export(generation)
    export.add("TARGET_INFO_SESSION_START_TIME", **BOTH)
    told = read(export, tmp_path).source.system_clock_ns
    assert told == (SYSTEM if export.version >= (2025, 6) else None)


def test_the_host_is_the_one_named_first(tmp_path: Path) -> None:
    export = Export()
    for name, value in (("OsDescription", "Linux"), ("Hostname", "node7"), ("Hostname", "other")):
        export.add("TARGET_INFO_SYSTEM_ENV", name=name, value=value)
    assert read(export, tmp_path).source.hostname == "node7"


def test_a_process_listed_twice_is_one(tmp_path: Path) -> None:
    export = Export()
    for name in ("python3", "python3 again"):
        export.add("PROCESSES", globalPid=gpid(144), pid=144, name=name)
    export.add("PROCESSES", globalPid=None, pid=1, name="init")
    export.add("PROCESSES", globalPid=gpid(145), pid=None, name=None)
    assert [(p.pid, p.name) for p in read(export, tmp_path).processes] == [(144, "python3"), (145, None)]


def gpus(tmp_path: Path, generation: str = "2026.2", **tables: list[dict[str, int | str | None]]) -> tuple[Gpu, ...]:
    export = Export(generation)
    for table, rows in tables.items():
        for row in rows:
            export.add(table, **row)
    return read(export, tmp_path).gpus


# ids 0, 3, 2, 1 are CUDA devices 3, 0, 1, 2
PERMUTED: list[dict[str, int | str | None]] = [
    {"id": i, "cuDevice": d, "smCount": 108, "uuid": f"a{d}", "name": f"GPU{d}", "busLocation": f"0:{d}"}
    for i, d in ((0, 3), (3, 0), (2, 1), (1, 2))
]


def test_a_gpus_id_is_not_its_cuda_device(tmp_path: Path) -> None:
    seen: list[dict[str, int | str | None]] = [
        {"gpuId": i, "cudaId": d, "pid": 4242, "uuid": None} for i, d in ((0, 3), (3, 0), (2, 1), (1, 2))
    ]
    found = gpus(tmp_path, TARGET_INFO_GPU=PERMUTED, TARGET_INFO_CUDA_DEVICE=seen)
    assert [(g.device, g.uuid, g.name, g.bus) for g in found if g.pid == 4242] == [
        (d, f"a{d}", f"GPU{d}", f"0:{d}") for d in (3, 0, 1, 2)
    ]


@pytest.mark.parametrize(("uuid", "told"), [(None, "a3"), (ZEROS, "a3"), ("GPU-A9", "a9"), ("MIG-1", "mig-1")])
def test_a_process_own_view_of_a_gpu_counts_first(uuid: str | None, told: str, tmp_path: Path) -> None:
    seen: list[dict[str, int | str | None]] = [{"gpuId": 0, "cudaId": 0, "pid": 4242, "uuid": uuid}]
    found = gpus(tmp_path, TARGET_INFO_GPU=PERMUTED, TARGET_INFO_CUDA_DEVICE=seen)
    assert [g.uuid for g in found if g.pid == 4242] == [told]


def test_a_gpu_id_that_is_not_listed_still_has_its_uuid(tmp_path: Path) -> None:
    seen: list[dict[str, int | str | None]] = [{"gpuId": None, "cudaId": 0, "pid": 4242, "uuid": "b1"}]
    assert gpus(tmp_path, TARGET_INFO_CUDA_DEVICE=seen) == (Gpu(4242, 0, None, "b1", None),)


@pytest.mark.parametrize("adapter", [{"smCount": 0, "uuid": "x"}, {"smCount": None, "uuid": ZEROS}])
def test_adapters_that_are_no_cuda_devices_are_left_out(adapter: dict[str, int | str | None], tmp_path: Path) -> None:
    listed = [*PERMUTED[:1], {"id": 1, "name": "Iris Xe", **adapter}]
    assert [g.name for g in gpus(tmp_path, TARGET_INFO_GPU=listed)] == ["GPU3"]


@pytest.mark.parametrize(
    ("stored", "priority"), [(0, 0), (-5, -5), (4_294_967_291, -5), (4_294_967_295, -1), (3, 3), (2**31 - 1, 2**31 - 1)]
)
def test_a_stream_priority_is_signed(stored: int, priority: int, tmp_path: Path) -> None:
    export = Export()
    export.add("TARGET_INFO_CUDA_STREAM", streamId=7, vmId=1, processId=4242, contextId=1, priority=stored, flag=2)
    assert [s.priority for s in read(export, tmp_path).streams] == [priority]


@pytest.mark.parametrize(
    ("generation", "table", "null"),
    [
        ("2022.1", "TARGET_INFO_CUDA_NULL_STREAM", "streamId"),
        ("2026.2", "TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"),
    ],
)
def test_a_contexts_device_and_default_stream(generation: str, table: str, null: str, tmp_path: Path) -> None:
    export = Export(generation)
    export.add(table, vmId=1, processId=4242, deviceId=1, contextId=2, **{null: 15})
    trace = read(export, tmp_path)
    (context,) = trace.contexts
    assert (context.context, context.device, context.null_stream) == (2, 1, 15)
    assert context.process == int(trace.kernels.process[0])


def test_a_diagnostic_names_its_process_or_the_session(tmp_path: Path) -> None:
    export = Export()
    export.add("DIAGNOSTIC_EVENT", timestamp=5, timestampType=2, severity=2, text="lost", globalPid=gpid(4242))
    export.add("DIAGNOSTIC_EVENT", severity=1, text="no process", globalPid=None)
    diagnostics = read(export, tmp_path).diagnostics
    assert diagnostics.clock.tolist() == [2, 0]
    assert diagnostics.process[1] == NULL
