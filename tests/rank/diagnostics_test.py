from __future__ import annotations

import pytest

from critpath.rank.diagnostics import Message, Reach, recognised
from critpath.rank.message_catalogue import Effect, KnownMessage, claims, known_messages, matching
from rank.traces import DAEMON, HOST_ANALYSIS, LAUNCHER, OTHER_RANK, RANK, TraceBuilder, session_process

MESSAGES = [
    ("Not all CUDA events might have been collected.", "cuda-events-incomplete"),
    ("Not all NVTX events might have been collected.", "nvtx-events-incomplete"),
    ("Not all OS runtime events might have been collected.", "os-calls-incomplete"),
    ("No NVTX events collected. Does the process use NVTX?", "no-nvtx-events"),
    ("No CUDA events collected. Does the process use CUDA?", "no-cuda-events"),
    ("CUDA profiling might have not been started correctly.", "cuda-not-started"),
    ("Number of CUDA events collected: \t12.", "cuda-events-collected"),
    ("Number of NVTX events collected: \t32.", "nvtx-events-collected"),
    ("Number of CUPTI events produced: \t43, CUPTI buffers: 50.", "cupti-events-produced"),
    (
        "Number of CUPTI events produced: \t31, CUPTI buffers: 49 of 50. Some CUPTI events might be missing. To make "
        "sure all the events are collected, let the application run until it quits.",
        "cupti-buffers-missing",
    ),
    ("Number of incomplete CUPTI events dropped: 4321", "cupti-records-dropped"),
    ("Couldn't allocate CUPTI bufer x times. Some CUPTI events may be missing.", "cupti-buffer-allocation-failed"),
    (
        "Reached the size limit on recording trace events for this process. Try reducing the profiling duration or "
        "reduce the number of features traced.",
        "event-limit-reached",
    ),
    ("Wrong event order has been detected when adding events to the collection", "wrong-event-order"),
    ('InvalidArgumentException: "Wrong event order detected"', "wrong-event-order"),
    (
        "Installed CUDA driver version (13.2) is not supported by this build of Nsight Systems. CUDA trace will be "
        "collected using libraries for driver version 12.8",
        "driver-newer-than-cupti",
    ),
    ("Hardware tracing used for CUDA tracing", "hardware-tracing"),
    (
        "CUDA hardware tracing is not supported on this system. A legacy (software instrumented) trace was collected "
        "instead.",
        "software-tracing",
    ),
    ("Loaded CUPTI library: /opt/nvidia/nsight-systems/2026.1.1/target-linux-x64/libcupti.so.13.1", "cupti-loaded"),
    (
        "Buffers holding CUDA trace data will be flushed on CudaProfilerStop() call. See "
        "--flush-on-cudaprofilerstop to control this behavior.",
        "flush-at-profiler-stop",
    ),
    ("Enabling trace for device graph launch", "device-graph-launch"),
    (
        "CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers."
        "Please verify that SLI/NVLink is functioning properly.",
        "unified-memory-not-traced",
    ),
    ("Common injection library initialized successfully.", "injected"),
    ("CUDA injection initialized successfully.", "cuda-injected"),
    ("NVTX injection initialized successfully.", "injected"),
    (
        "Process was launched by the profiler, see /tmp/nvidia/x/pid_1_stdout.log and stderr.log for program output",
        "launched-by-profiler",
    ),
    ("Process 4711 was launched by the profiler", "launched-by-profiler"),
    ("Profiling has started.", "session-span"),
    ("Profiling has stopped.", "session-span"),
    ("Number of Debuginfod queries: 0 (successful queries: 0, timed out queries: 0).", "debuginfod"),
    ("WARNING: CPU IP/backtrace sampling not supported, disabling.", "cpu-samples-unsupported"),
    ("WARNING: CPU context switch tracing not supported, disabling.", "scheduling-unsupported"),
    ("CUDA backtraces will not be collected because CPU sampling is disabled.", "cuda-backtraces-off"),
    (
        "Illegal --gpu-metrics-devices argument: all. Insufficient privilege, see "
        "https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        "gpu-counters-denied",
    ),
    ("Illegal --gpu-metrics-devices argument: 7.", "gpu-metrics-refused"),
    ("Buffer overflow", "metric-gaps"),
    ("The kernel throttled the collection of sampling data", "cpu-samples-lost"),
    ("9 samples were lost", "cpu-samples-lost"),
    ("Failed to sync time on device.", "clock-not-synchronised"),
    (
        "Nsight Systems requires that Windows Performance Toolkit be installed to write a merged ETL",
        "windows-toolkit",
    ),
    ("Failed to resolve cuBLAS symbol cublasGemmEx", "library-trace-missing"),
]


def only(trace: TraceBuilder) -> Message:
    (message,) = recognised(trace.build())
    return message


@pytest.mark.parametrize(("text", "known"), MESSAGES)
@pytest.mark.parametrize("severity", [0, 1, 2, 3, 4])
def test_a_message_is_known_by_its_text_at_any_severity(text: str, known: str, severity: int) -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.says(text, severity=severity)
    assert only(trace).id == known


@pytest.mark.parametrize("entry", known_messages(), ids=lambda entry: entry.id)
def test_each_entry_knows_its_examples_and_no_others(entry: KnownMessage) -> None:
    for text in entry.examples:
        found = matching(text)
        assert found is not None
        assert found[0] is entry
    for text in entry.not_examples:
        found = matching(text)
        assert found is None or found[0] is not entry


def test_each_entry_has_examples_a_source_and_constrains_or_not_as_its_effect_says() -> None:
    silent = {Effect.NONE, Effect.POSITIVE, Effect.MODE_HARDWARE, Effect.MODE_SOFTWARE}
    for entry in known_messages():
        assert entry.examples, entry.id
        assert entry.not_examples, entry.id
        assert entry.source, entry.id
        assert bool(entry.constrains) is (entry.effect not in silent), entry.id
        assert set(entry.constrains) <= set(claims()), entry.id


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Number of incomplete CUPTI events dropped: 1,234", 1234),
        ("Number of CUDA events\ncollected: \t39250.", 39250),
        ("Couldn't allocate CUPTI bufer x times. Some CUPTI events may be missing.", None),
        ("Couldn't allocate CUPTI bufer 12 times. Some CUPTI events may be missing.", 12),
    ],
)
def test_a_message_tells_its_number(text: str, count: int | None) -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.says(text)
    assert only(trace).count == count


def test_a_warning_of_a_helper_constrains_no_rank() -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.says("No CUDA events collected. Does the process use CUDA?", LAUNCHER, severity=2)
    message = only(trace)
    assert (message.reach, message.constrains) == (Reach.HELPER, ())
    assert not message.reaches(RANK)
    assert not message.reaches(LAUNCHER)


def test_a_warning_on_a_rank_constrains_that_rank_alone() -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.launch(OTHER_RANK)
    trace.says("Not all CUDA events might have been collected.", OTHER_RANK, severity=2)
    message = only(trace)
    assert (message.reach, message.process) == (Reach.UNIT, OTHER_RANK)
    assert "absence of device ops" in message.constrains
    assert message.reaches(OTHER_RANK)
    assert not message.reaches(RANK)


def test_a_process_with_calls_alone_may_be_a_rank_that_was_not_captured() -> None:
    trace = TraceBuilder()
    trace.call("cuInit")
    trace.says("No CUDA events collected. Does the process use CUDA?", severity=2)
    message = only(trace)
    assert message.reach is Reach.API_ONLY
    assert "device time" in message.constrains


@pytest.mark.parametrize("global_pid", [HOST_ANALYSIS, DAEMON])
def test_a_message_of_the_profiler_itself_constrains_all(global_pid: int) -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.says("Not all CUDA events might have been collected.", session_process(global_pid), severity=2)
    message = only(trace)
    assert (message.reach, message.process) == (Reach.SESSION, None)
    assert message.reaches(RANK)


def test_a_denied_permission_is_the_session_s_whoever_was_told() -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.says("Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM", LAUNCHER)
    message = only(trace)
    assert (message.reach, message.constrains) == (Reach.SESSION, ("metrics",))


def test_a_time_of_the_analysis_host_is_no_time_of_the_events() -> None:
    trace = TraceBuilder()
    trace.says("Profiling has started.", time_ns=7, clock=1)
    trace.says("Profiling has stopped.", time_ns=3, clock=2)
    started, stopped = recognised(trace.build())
    assert (started.time_ns, stopped.time_ns) == (7, None)


@pytest.mark.parametrize(("severity", "kept"), [(0, 1), (1, 0), (2, 1), (3, 1), (4, 0)])
def test_an_unknown_warning_is_kept_and_unknown_information_is_not(severity: int, kept: int) -> None:
    trace = TraceBuilder()
    trace.says("The flux capacitor overheated.", severity=severity)
    messages = recognised(trace.build())
    assert len(messages) == kept
    assert all((m.id, m.effect, m.constrains) == ("unclassified", Effect.UNCLASSIFIED, ()) for m in messages)


def test_a_quoted_message_names_no_folder_and_no_secret() -> None:
    trace = TraceBuilder()
    trace.says("Could not open /home/ada/run/x.log with WANDB_API_KEY=abc", severity=3)
    assert only(trace).text == "Could not open [path]/x.log with WANDB_API_KEY=[redacted]"
