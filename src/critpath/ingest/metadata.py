"""What an export says of itself: version, host, clocks, GPUs, contexts, capture options, ranks.

Exports embed whole environment blocks, user names and program output. Only names on the allow-list of
`data/environment.toml` are read, and only values of the form given there; nothing else of an environment ever leaves
this module.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from critpath.ingest.reader import TableReader
from critpath.model.identity import NULL, process_of
from critpath.model.trace import Context, Gpu, Process, Source, Stream

__all__ = ["Metadata", "read_metadata"]

_EXPORT_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
_RELEASE_NAMES = frozenset({"OsDescription", "SoftwareReleaseVersion", "KernelVersion"})
_BATCHING_SYSTEM = re.compile(r"(?i)windows|microsoft|\bwsl")
"""Systems whose display driver model (WDDM) submits work in batches."""

_ENVIRONMENT_NAME = re.compile(r"PROCESS_\d+:ENVIRONMENT_VARIABLE")
_LAUNCHED_PID = re.compile(r"APPLICATION_PID|PROCESS_\d+:PID")
_PROCESS_PREFIX = re.compile(r"PROCESS_\d+:")
_OPTION_NAMES = frozenset(
    {
        "CUDA_GRAPH_TRACE_OPTIONS:MODE",
        "CUDA_FLUSH_PERIOD",
        "CUDA_FLUSH_ON_CUDA_PROFILER_STOP",
        "CUDA_SKIP_SOME_API_CALLS",
        "CUDA_TRACE_SCOPE",
        "CAPTURE_EVENT_TYPE",
        "START_TRIGGER",
        "STOP_TRIGGER",
        "START_DELAY_MS",
        "RUN_DURATION_MS",
        "LINUX_PERF_OPTIONS:COLLECT_IP_BACKTRACE_SAMPLES",
        "LINUX_PERF_OPTIONS:COLLECT_CPU_CTXSW_TRACE",
        "OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS",
    }
)
_REPEATED_OPTIONS = frozenset({"CAPTURE_EVENT_TYPE"})
_JAX_DEVICE = re.compile(r"Xla:#global=(?P<rank>\d{1,7}),local=(?P<local>\d{1,7})[,#]")
_MOST_RANKS = 10_000_000


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything of a `Trace` that isn't a table of events.

    Attributes:
        environment: allow-listed variables of the launched process.
        launched_pids: process numbers of what the profiler launched; empty where the export doesn't tell.
        mpi_ranks: rank by process key.
        jax_ranks: rank by CUDA ordinal; JAX's names tell no process.
    """

    source: Source
    processes: tuple[Process, ...]
    gpus: tuple[Gpu, ...]
    contexts: tuple[Context, ...]
    streams: tuple[Stream, ...]
    capture_options: Mapping[str, str]
    environment: Mapping[str, str]
    launched_pids: frozenset[int]
    mpi_ranks: Mapping[int, int]
    jax_ranks: Mapping[int, int]


def read_metadata(reader: TableReader, *, path: str, kind: str, size_bytes: int) -> Metadata:
    """What the export says of itself; whatever it lacks is None or empty.

    Raises:
        InputError: a table can't be read to its end.
    """
    options, environment = _capture(reader)
    return Metadata(
        source=_source(reader, path, kind, size_bytes),
        processes=_processes(reader),
        gpus=_gpus(reader),
        contexts=_contexts(reader),
        streams=_streams(reader),
        capture_options=options,
        environment=environment,
        launched_pids=_launched_pids(reader),
        mpi_ranks=_mpi_ranks(reader),
        jax_ranks=_jax_ranks(reader),
    )


def _pairs(reader: TableReader, table: str) -> Iterator[tuple[str, str]]:
    for name, value in zip(reader.texts(table, "name"), reader.texts(table, "value"), strict=True):
        if name is not None and value is not None:
            yield name, value


def _first(reader: TableReader, table: str, *columns: str) -> tuple[int | None, ...]:
    cells = reader.integers(table, columns)
    return tuple(int(cells[c][0]) if cells[c].size and cells[c][0] != NULL else None for c in columns)


def _source(reader: TableReader, path: str, kind: str, size_bytes: int) -> Source:
    export: dict[str, str] = {}
    for table in _EXPORT_TABLES:
        export.update(_pairs(reader, table))
    utc_ns, system_ns = _first(reader, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "systemClockNs")
    (duration_ns,) = _first(reader, "ANALYSIS_DETAILS", "duration")
    utc_axis = export.get("EXPORT_PARAM_TIME_NORMALIZE", "false").lower() == "true"
    shift_text = export.get("EXPORT_PARAM_TIME_SHIFT", export.get("EXPORT_CONFIG_TIME_SHIFT", "0"))
    shift_ns = int(shift_text) if re.fullmatch(r"[+-]?\d+", shift_text) else 0
    # With normalised times the axis' zero is 1970, and with shifted ones it is not the session's start.
    zero_ns = -shift_ns if utc_axis else None if utc_ns is None else utc_ns - shift_ns
    system_zero_ns = None
    if system_ns and (utc_ns is not None or not utc_axis):
        system_zero_ns = system_ns - shift_ns - (utc_ns if utc_axis and utc_ns is not None else 0)
    system = list(_pairs(reader, "TARGET_INFO_SYSTEM_ENV"))
    hosts = [v for n, v in system if n == "Hostname"]
    return Source(
        path=path,
        kind=kind,
        bytes=size_bytes,
        nsys_version=export.get("EXPORT_PRODUCT_VERSION"),
        schema_version=export.get("EXPORT_SCHEMA_VERSION"),
        hostname=hosts[0] if hosts else None,
        session_start_utc_ns=zero_ns,
        system_clock_ns=system_zero_ns,
        duration_ns=duration_ns,
        utc_axis=utc_axis,
        tables_exported=export.get("EXPORT_PARAM_TABLES_TO_EXPORT") or None,
        times_exported=export.get("EXPORT_PARAM_TIMES_TO_EXPORT") or None,
        blobs_exported=_flag(export.get("EXPORT_PARAM_INCLUDE_BLOBS")),
        batches_launches=any(n in _RELEASE_NAMES and _BATCHING_SYSTEM.search(v) for n, v in system),
    )


def _flag(text: str | None) -> bool | None:
    return None if text is None else text.lower() == "true"


def _processes(reader: TableReader) -> tuple[Process, ...]:
    cells = reader.integers("PROCESSES", ["globalPid", "pid"])
    names = reader.texts("PROCESSES", "name")
    found: dict[int, Process] = {}
    for key, pid, name in zip(process_of(cells["globalPid"]).tolist(), cells["pid"].tolist(), names, strict=True):
        if key != NULL:
            found.setdefault(key, Process(key, key & 0xFFFFFF if pid == NULL else pid, name))
    return tuple(found.values())


def _process_key(hardware: int, vm: int, pid: int) -> int:
    """A process key from the plain numbers that target tables hold."""
    return (max(hardware, 0) << 32) | (max(vm, 0) << 24) | pid


def _contexts(reader: TableReader) -> tuple[Context, ...]:
    found = []
    for table, null_column in (
        ("TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"),
        ("TARGET_INFO_CUDA_NULL_STREAM", "streamId"),
    ):
        columns = ["hwId", "vmId", "processId", "deviceId", "contextId", null_column]
        cells = reader.integers(table, columns)
        for hw, vm, pid, device, context, null in zip(*(cells[c].tolist() for c in columns), strict=True):
            if NULL not in (pid, device, context):
                found.append(Context(_process_key(hw, vm, pid), context, device, None if null == NULL else null))
    return tuple(found)


def _streams(reader: TableReader) -> tuple[Stream, ...]:
    columns = ["hwId", "vmId", "processId", "contextId", "streamId", "flag", "priority"]
    cells = reader.integers("TARGET_INFO_CUDA_STREAM", columns)
    return tuple(
        Stream(_process_key(hw, vm, pid), context, stream, flag, _signed(priority))
        for hw, vm, pid, context, stream, flag, priority in zip(*(cells[c].tolist() for c in columns), strict=True)
        if NULL not in (pid, context, stream)
    )


def _signed(priority: int) -> int:
    """A stream priority: CUDA's are signed 32-bit numbers, the export's column is not."""
    return priority - 2**32 if 2**31 <= priority < 2**32 else priority


def _gpus(reader: TableReader) -> tuple[Gpu, ...]:
    """GPUs as processes saw them, else as the profiler saw them.

    The profiler's own ordinal is no process' ordinal where CUDA_VISIBLE_DEVICES is set, so those rows carry no process.
    """
    cells = reader.integers("TARGET_INFO_GPU", ["id", "cuDevice", "smCount"])
    texts = {c: reader.texts("TARGET_INFO_GPU", c) for c in ("name", "uuid", "busLocation")}
    known = {}
    for i, gpu_id in enumerate(cells["id"].tolist()):
        uuid, processors = texts["uuid"][i], cells["smCount"][i]
        # Adapters that aren't CUDA devices are listed too, without processors or with a UUID of zeros.
        if processors == 0 or (processors == NULL and uuid and not _uuid(uuid)):
            continue
        known[gpu_id] = Gpu(
            pid=None,
            device=int(cells["cuDevice"][i]),
            name=texts["name"][i],
            uuid=_uuid(uuid),
            bus=texts["busLocation"][i],
        )
    seen = reader.integers("TARGET_INFO_CUDA_DEVICE", ["gpuId", "cudaId", "pid"])
    uuids = reader.texts("TARGET_INFO_CUDA_DEVICE", "uuid")
    result = []
    for gpu_id, device, pid, uuid in zip(*(seen[c].tolist() for c in ("gpuId", "cudaId", "pid")), uuids, strict=True):
        gpu = known.get(gpu_id)
        if NULL not in (device, pid):
            result.append(
                Gpu(
                    pid,
                    device,
                    gpu.name if gpu else None,
                    _uuid(uuid) or (gpu.uuid if gpu else None),
                    gpu.bus if gpu else None,
                )
            )
    return (*result, *known.values())


def _uuid(text: str | None) -> str | None:
    """A UUID in one spelling: tables write it with and without the driver's prefix; zeros mean none."""
    plain = (text or "").strip().lower().removeprefix("gpu-")
    return plain if plain.strip("0-") else None


@cache
def _allowed() -> dict[str, re.Pattern[str]]:
    """Environment names that may be read, with the form their values must have."""
    text = files("critpath.data").joinpath("environment.toml").read_text(encoding="utf-8")
    return {row["name"]: re.compile(row["value"]) for row in tomllib.loads(text)["variable"]}


def _capture(reader: TableReader) -> tuple[dict[str, str], dict[str, str]]:
    options: dict[str, str] = {}
    settings: dict[str, set[str]] = {}
    for name, value in _pairs(reader, "META_DATA_CAPTURE"):
        if _ENVIRONMENT_NAME.fullmatch(name):
            variable, _, setting = value.partition("=")
            form = _allowed().get(variable)
            if form is not None and form.fullmatch(setting):
                settings.setdefault(variable, set()).add(setting)
        option = _PROCESS_PREFIX.sub("", name)
        if option in _REPEATED_OPTIONS and option in options:
            options[option] += f",{value}"
        elif option in _OPTION_NAMES:
            options.setdefault(option, value)
    # Several launched processes with different settings: none of them is the capture's.
    return options, {variable: found.pop() for variable, found in settings.items() if len(found) == 1}


def _launched_pids(reader: TableReader) -> frozenset[int]:
    told = [v for n, v in _pairs(reader, "META_DATA_CAPTURE") if _LAUNCHED_PID.fullmatch(n) and v.isdecimal()]
    return frozenset(int(v) for v in told) - {0}


def _mpi_ranks(reader: TableReader) -> dict[int, int]:
    cells = reader.integers("MPI_RANKS", ["globalTid", "rank"])
    return _agreed(zip(process_of(cells["globalTid"]).tolist(), cells["rank"].tolist(), strict=True))


def _jax_ranks(reader: TableReader) -> dict[int, int]:
    """Local device ordinal → global device id, as JAX names its devices through NVTX."""
    matches = [_JAX_DEVICE.search(name or "") for name in reader.texts("TARGET_INFO_NVTX_CUDA_DEVICE", "name")]
    return _agreed((int(match["local"]), int(match["rank"])) for match in matches if match)


def _agreed(statements: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Ranks by what they are stated of; where statements contradict one another, none is believed."""
    stated: dict[int, set[int]] = {}
    for key, rank in statements:
        if key != NULL and 0 <= rank < _MOST_RANKS:
            stated.setdefault(key, set()).add(rank)
    return {key: ranks.pop() for key, ranks in stated.items() if len(ranks) == 1}
