"""The tables around the activity: which machine, which GPUs, which capture; and the ordinary diagnostics."""

from __future__ import annotations

import datetime
import uuid
import zlib
from collections.abc import Iterator, Sequence

from critpath.sim.enumerations import ENUMERATIONS
from critpath.sim.executed import ProcessRun
from critpath.sim.ids import GLOBAL_VID, NO_PROCESS, global_pid, global_tid
from critpath.sim.instructions import StreamKind
from critpath.sim.metrics import metric_sheets
from critpath.sim.program import Report
from critpath.sim.schema import Generation
from critpath.sim.sheets import Capture, Row, Sheet, Value
from critpath.sim.spoils import Diagnostic, Spoil
from critpath.sim.traced import traced_ops

__all__ = ["GPUS_A_HOST", "SECRET", "gpu_uuid", "session_ns", "target_sheets"]

EPOCH_NS = 1_774_187_249_263_735_400
"""UTC at true time zero."""
GPUS_A_HOST = 8
SECRET = ("CLUSTER_API_TOKEN", "tok-3fa9c1d27b5e4a60")
"""An environment variable that no output may ever show."""

_MAIN_THREAD_PRIORITY = 20


def gpu_uuid(hostname: str, gpu: int) -> str:
    """The UUID of a host's GPU, the same in every report of that host."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"gpu{gpu}.{hostname}.invalid"))


def _gpu_id(gpu: int) -> int:
    """The profiler's own number of a GPU: a permutation of the host's, since the two need not agree."""
    return (gpu * 3 + 1) % GPUS_A_HOST


def session_ns(report: Report) -> tuple[int, int]:
    """UTC and the host's own clock at the zero of the report's axis [ns]; hosts booted at different times."""
    booted_ns = zlib.crc32(report.hostname.encode()) % 1_000_000 * 1_000_000_000
    clock = report.clock
    start_ns = clock.session_start_ns
    drifted_ns = start_ns + round(start_ns * clock.drift_ppm * 1e-6)
    return EPOCH_NS + start_ns + clock.utc_error_ns, 35_255_823_190 + booted_ns + drifted_ns


def target_sheets(capture: Capture, end_ns: int, spoils: Sequence[Spoil] = ()) -> Iterator[Sheet]:
    """Every table that isn't activity, as this generation has them.

    Args:
        capture: what is written.
        end_ns: last end of any activity, on the report's axis.
        spoils: what happens to the capture; its messages are said here.
    """
    generation = capture.generation
    yield _system(capture)
    yield _session(capture)
    started_ns = session_ns(capture.runs[0].report)[1] if generation.since("2025.5") else 573_779_886
    details = (GLOBAL_VID, end_ns + 38_000_000, started_ns, started_ns + end_ns + 38_000_000)
    yield Sheet("ANALYSIS_DETAILS", generation.columns("ANALYSIS_DETAILS"), [details], {})
    if generation.since("2024.2.3"):
        yield _diagnostics(capture, end_ns, spoils)
    yield _processes(capture)
    yield _threads(capture)
    yield _gpus(capture)
    if generation.since("2025.1.3"):
        yield _devices(capture)
    yield _contexts(capture)
    yield _streams(capture)
    yield from metric_sheets(capture, {gpu: _gpu_id(gpu) for gpu in range(GPUS_A_HOST)})
    named = _device_names(capture)
    if named.rows:
        yield named
    if generation.since("2022.4.2"):
        yield from _enumerations()
    if generation.since("2023.3.1"):
        yield _capture_settings(capture, end_ns)
    yield _export_settings(generation, capture.runs[0].report.name)


def _system(capture: Capture) -> Sheet:
    facts = (
        ("CpuCores", 1, "192"),
        ("CpuDescription", 13, "Intel(R) Xeon(R) Platinum 8468"),
        ("NvDriverVersion", 205, "570.124.06"),
        ("OsDescription", 605, "Ubuntu 22.04.5 LTS"),
        ("CudaDriverVersion", 611, "12080"),
        ("Hostname", 619, capture.runs[0].report.hostname),
        ("SupportsGpuMetrics", 849, "1"),
        ("LinuxParanoidLevel", 919, "2"),
    )
    rows: list[Row] = [(name, number, value) for name, number, value in facts]
    if capture.batched:
        rows.append(("SoftwareReleaseVersion", 618, "6.6.87.2-microsoft-standard-WSL2"))
    constants: dict[str, Value] = {"globalVid": GLOBAL_VID, "devStateName": "Local (CLI)"}
    return Sheet("TARGET_INFO_SYSTEM_ENV", ("name", "nameEnum", "value"), rows, constants)


def _session(capture: Capture) -> Sheet:
    epoch_ns, system_clock_ns = session_ns(capture.runs[0].report)
    utc = datetime.datetime.fromtimestamp(epoch_ns // 1_000_000_000, datetime.UTC)
    text = utc.strftime("%Y-%m-%dT%H:%M:%S")
    constants: dict[str, Value] = {"systemClockNs": system_clock_ns}
    return Sheet(
        "TARGET_INFO_SESSION_START_TIME", ("utcEpochNs", "utcTime", "localTime"), [(epoch_ns, text, text)], constants
    )


def _diagnostics(capture: Capture, end_ns: int, spoils: Sequence[Spoil]) -> Sheet:
    """What a capture without trouble says about itself. Counts are told on the analysing host's clock."""
    info, injection, daemon, analysis = 1, 1, 2, 3
    target, host = 1, 2
    rows: list[Row] = [(0, target, analysis, info, "Profiling has started.", NO_PROCESS)]
    for place, run in enumerate(capture.runs):
        process = global_pid(run.process)
        # What versions count as CUDA events are calls and device work; ranges come with a row for each domain.
        shown = sum(map(len, run.calls.values())) + len(traced_ops(run, capture.graph_trace))
        produced = shown + len(run.syncs) + len(run.records)
        ranges = len(run.ranges) + len({r.domain for r in run.ranges} - {0})
        base_ns = 18_600_000 + 900_000 * place
        log = f"streams/pid_{run.process.pid}_stdout.log"
        rows += [
            (
                68_474 + place,
                target,
                daemon,
                info,
                f"Process was launched by the profiler, see {log} and stderr.log for program output",
                process,
            ),
            (base_ns, target, injection, info, "Common injection library initialized successfully.", process),
            (
                base_ns + 100_000,
                target,
                injection,
                info,
                "Buffers holding CUDA trace data will be flushed on CudaProfilerStop() call. "
                "See --flush-on-cudaprofilerstop to control this behavior.",
                process,
            ),
            (base_ns + 200_000, target, injection, info, "CUDA injection initialized successfully.", process),
            (base_ns + 300_000, target, injection, info, "NVTX injection initialized successfully.", process),
            (
                8_027_065 + place,
                host,
                analysis,
                info,
                f"Number of CUDA events collected: \t{shown}.",
                process,
            ),
            (
                8_031_100 + place,
                host,
                analysis,
                info,
                f"Number of NVTX events collected: \t{ranges}.",
                process,
            ),
            (
                end_ns + 5_000_000,
                target,
                injection,
                info,
                f"Number of CUPTI events produced: \t{produced}, CUPTI buffers: 50.",
                process,
            ),
        ]
    rows.append((end_ns + 38_000_000, target, analysis, info, "Profiling has stopped.", NO_PROCESS))
    rows += [row for spoil in spoils if isinstance(spoil, Diagnostic) for row in _messages(spoil, capture, end_ns)]
    columns = ("timestamp", "timestampType", "source", "severity", "text", "globalPid")
    return Sheet("DIAGNOSTIC_EVENT", columns, sorted(rows, key=lambda row: int(row[0] or 0)), {})


def _messages(spoil: Diagnostic, capture: Capture, end_ns: int) -> list[Row]:
    """A message for each process it concerns, after everything else that was captured."""
    processes = [global_pid(run.process) for run in capture.runs]
    concerned = {"process": processes[:1], "all": processes, "none": [NO_PROCESS]}[spoil.scope]
    head = (end_ns + 6_000_000, spoil.timestamp_type, spoil.source, spoil.severity, spoil.text)
    return [(*head, process) for process in concerned]


def _processes(capture: Capture) -> Sheet:
    """The profiled processes among the others that a capture lists."""
    others = ((1, "systemd"), (1_095, "sshd"), (2_204, "nsys"), (2_231, "nsys-launcher"))
    rows: list[Row] = [(GLOBAL_VID | pid << 24, pid, name) for pid, name in others]
    rows += [(global_pid(run.process), run.process.pid, run.process.name) for run in capture.runs]
    return Sheet("PROCESSES", ("globalPid", "pid", "name"), rows, {})


def _threads(capture: Capture) -> Sheet:
    rows: list[Row] = []
    for run in capture.runs:
        for thread in run.process.threads:
            name = capture.strings.id(thread.name)
            rows.append((name, _MAIN_THREAD_PRIORITY, global_tid(run.process, thread)))
        worker = capture.strings.id("CUPTI worker thread")
        rows.append((worker, 10, global_pid(run.process) | (run.process.pid + 77) & 0xFFFFFF))
    return Sheet("ThreadNames", ("nameId", "priority", "globalTid"), rows, {})


def _gpus(capture: Capture) -> Sheet:
    """Every GPU of the host, in the profiler's own numbering."""
    hostname = capture.runs[0].report.hostname
    rows: list[Row] = []
    for gpu in sorted(range(GPUS_A_HOST), key=_gpu_id):
        rows.append((_gpu_id(gpu), f"0000:{0x1B + 0x10 * gpu:02x}:00.0", gpu_uuid(hostname, gpu), gpu))
    constants: dict[str, Value] = {
        "vmId": GLOBAL_VID,
        "name": "NVIDIA H100 80GB HBM3",
        "isDiscrete": 1,
        "l2CacheSize": 52_428_800,
        "totalMemory": 84_942_979_072,
        "memoryBandwidth": 3_352_320_000_000,
        "clockRate": 1_980_000_000,
        "smCount": 132,
        "pwGpuId": 0,
        "luid": 0,
        "chipName": "GH100",
        "ctxswDevPath": "",
        "ctrlDevPath": "",
        "revision": 161,
        "nodeMask": 0,
        "constantMemory": 65_536,
        "maxIPC": 4,
        "maxRegistersPerBlock": 65_536,
        "maxShmemPerBlock": 49_152,
        "maxShmemPerBlockOptin": 232_448,
        "maxShmemPerSm": 233_472,
        "maxRegistersPerSm": 65_536,
        "threadsPerWarp": 32,
        "asyncEngines": 3,
        "maxWarpsPerSm": 64,
        "maxBlocksPerSm": 32,
        "maxThreadsPerBlock": 1_024,
        "maxBlockDimX": 1_024,
        "maxBlockDimY": 1_024,
        "maxBlockDimZ": 64,
        "maxGridDimX": 2_147_483_647,
        "maxGridDimY": 65_535,
        "maxGridDimZ": 65_535,
        "computeMajor": 9,
        "computeMinor": 0,
        "smMajor": 9,
        "smMinor": 0,
    }
    return Sheet("TARGET_INFO_GPU", ("id", "busLocation", "uuid", "cuDevice"), rows, constants)


def _used_devices(run: ProcessRun) -> list[tuple[int, int]]:
    """Device and context of every context of the process."""
    return sorted({(stream.device, stream.context) for stream in run.process.streams})


def _devices(capture: Capture) -> Sheet:
    hostname = capture.runs[0].report.hostname
    rows: list[Row] = []
    for run in capture.runs:
        for device in sorted({device for device, _ in _used_devices(run)}):
            gpu = run.process.visible_gpus[device]
            rows.append((gpu_uuid(hostname, gpu), _gpu_id(gpu), device, run.process.pid))
    return Sheet("TARGET_INFO_CUDA_DEVICE", ("uuid", "gpuId", "cudaId", "pid"), rows, {"numMultiprocessors": 132})


def _contexts(capture: Capture) -> Sheet:
    """Contexts with their null stream; before 2024.2.3 the null streams alone."""
    rows: list[Row] = []
    for run in capture.runs:
        null = {s.context: s.stream for s in run.process.streams if s.kind is StreamKind.LEGACY}
        rows += [(null.get(context, 7), run.process.pid, device, context) for device, context in _used_devices(run)]
    if not capture.generation.since("2024.2.3"):
        columns: tuple[str, ...] = ("streamId", "processId", "deviceId", "contextId")
        return Sheet("TARGET_INFO_CUDA_NULL_STREAM", columns, rows, {"hwId": 0, "vmId": 1})
    columns = ("nullStreamId", "processId", "deviceId", "contextId")
    constants: dict[str, Value] = {"hwId": 0, "vmId": 1, "parentContextId": 0, "isGreenContext": 0}
    constants |= {"numMultiprocessors": 0, "numTpcs": 0}
    return Sheet("TARGET_INFO_CUDA_CONTEXT_INFO", columns, rows, constants)


def _streams(capture: Capture) -> Sheet:
    """Every stream, latest first; a priority is stored as an unsigned 32-bit number."""
    rows: list[Row] = [
        (s.stream, run.process.pid, s.context, s.priority & 0xFFFFFFFF, int(s.kind))
        for run in capture.runs
        for s in reversed(run.process.streams)
    ]
    columns = ("streamId", "processId", "contextId", "priority", "flag")
    return Sheet("TARGET_INFO_CUDA_STREAM", columns, rows, {"hwId": 0, "vmId": 1})


def _device_names(capture: Capture) -> Sheet:
    """Devices as their framework calls them; the rows tell no process."""
    rows: list[Row] = [(name, device) for run in capture.runs for device, name in enumerate(run.process.device_names)]
    return Sheet("TARGET_INFO_NVTX_CUDA_DEVICE", ("name", "deviceId"), rows, {"hwId": 0, "vmId": 1})


def _capture_settings(capture: Capture, end_ns: int) -> Sheet:
    """How the capture was made. The environment is the launcher's and holds a secret, as environments do."""
    report = capture.runs[0].report
    rows: list[Row] = [
        ("DEVICE_ID", "Local (CLI)"),
        ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
        ("CAPTURE_EVENT_TYPE", "Cuda"),
        ("START_TRIGGER", "Immediate"),
        ("STOP_TRIGGER", "Delayed"),
        ("DEVICE_TYPE", "Unix"),
        ("CUDA_GRAPH_TRACE_OPTIONS:MODE", capture.graph_trace.capitalize()),
        ("CUDA_FLUSH_PERIODICALLY", "false"),
        ("CUDA_SKIP_SOME_API_CALLS", "true"),
        ("PROCESS_0:HOW_TO_ATTACH", "LaunchAnother"),
        ("PROCESS_0:COMMAND", "python"),
        ("PROCESS_0:ARGUMENT_0", "train.py"),
        ("PROCESS_0:WORKING_DIR", "/workspace"),
        ("PROCESS_0:COLLECT_CUDA_TRACE", "false"),
    ]
    rows += [
        ("PROCESS_0:ENVIRONMENT_VARIABLE", f"{name}={value}")
        for name, value in (("PATH", "/usr/local/bin:/usr/bin:/bin"), SECRET, *report.environment)
    ]
    rows += [("RUN_DURATION_MS", str(end_ns // 1_000_000 + 38)), ("START_DELAY_MS", "0")]
    return Sheet("META_DATA_CAPTURE", ("name", "value"), rows, {})


def _export_settings(generation: Generation, name: str) -> Sheet:
    major, minor, micro = generation.schema.split(".")
    rows: list[Row] = [
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
        ("EXPORT_PRODUCT_VERSION", generation.product),
        ("EXPORT_PRODUCT_DATE", generation.name),
        ("EXPORT_SCHEMA_VERSION", generation.schema),
        ("EXPORT_SCHEMA_VERSION_MAJOR", major),
        ("EXPORT_SCHEMA_VERSION_MINOR", minor),
        ("EXPORT_SCHEMA_VERSION_MICRO", micro),
        ("EXPORT_PLATFORM", "linux-desktop"),
        ("EXPORT_ARCH", "x64"),
    ]
    if not generation.since("2023.3.1"):
        rows += [("EXPORT_INPUT_FILE", f"{name}.nsys-rep"), ("EXPORT_LAZY", "true")]
        return Sheet("EXPORT_META_DATA", ("name", "value"), rows, {})
    rows += [
        ("EXPORT_PARAM_INPUT_FILE", f"{name}.nsys-rep"),
        ("EXPORT_PARAM_OUTPUT_FILE", f"{name}.sqlite"),
        ("EXPORT_PARAM_LAZY", "true"),
        ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
        ("EXPORT_PARAM_TIME_SHIFT", "0"),
    ]
    return Sheet("META_DATA_EXPORT", ("name", "value"), rows, {})


def _enumerations() -> Iterator[Sheet]:
    """The enumeration tables, with the labels that versions print whatever their rows mean."""
    for table, rows in ENUMERATIONS.items():
        yield Sheet(table, ("id", "name", "label"), list(rows), {})
