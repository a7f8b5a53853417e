from __future__ import annotations

import pytest

from critpath.ingest.schema import EXPECTED_TABLES
from critpath.model.tables import Copies, CopyKind
from critpath.model.trace import Source
from critpath.rank.capture import CaptureQuality, Completeness, ProcessQuality, capture_quality
from critpath.rank.capture_gaps import Gap
from rank.traces import ALL_TABLES, DAEMON, LAUNCHER, OTHER_RANK, RANK, TraceBuilder, session_process

CONTRADICTED, POSSIBLE, NONE = Completeness
LAUNCH = "cudaLaunchKernel_v7000"


def quality_of(trace: TraceBuilder) -> CaptureQuality:
    return capture_quality(trace.build())


def gap(quality: CaptureQuality, name: str) -> Gap | None:
    return next((g for g in quality.gaps if g.id == name), None)


def process(quality: CaptureQuality, key: int = RANK) -> ProcessQuality:
    return next(p for p in quality.processes if p.rows.process == key)


def healthy() -> TraceBuilder:
    trace = TraceBuilder()
    trace.says("CUDA injection initialized successfully.")
    trace.launch()
    trace.launch()
    return trace


# --- completeness -----------------------------------------------------------------------------------------------------


def test_the_best_tier_is_that_nothing_speaks_against_it() -> None:
    quality = quality_of(healthy())
    assert quality.completeness is NONE
    assert process(quality).injected
    assert {tier.value for tier in Completeness} == {"contradicted", "possible loss", "no adverse evidence"}


@pytest.mark.parametrize(
    ("text", "severity", "tier"),
    [
        ("Number of incomplete CUPTI events dropped: 3", 1, CONTRADICTED),
        ("Number of incomplete CUPTI events dropped: 0", 1, NONE),
        ("Reached the size limit on recording trace events for this process. Try less.", 3, CONTRADICTED),
        ("Number of CUDA events collected: \t0.", 1, CONTRADICTED),
        ("Not all CUDA events might have been collected.", 2, POSSIBLE),
        ("Not all NVTX events might have been collected.", 2, POSSIBLE),
        ("Couldn't allocate CUPTI bufer x times. Some CUPTI events may be missing.", 3, POSSIBLE),
        ("Installed CUDA driver version (13.2) is not supported by this build of Nsight Systems.", 2, POSSIBLE),
        ("Something that nobody knows", 2, POSSIBLE),
        ("Buffer overflow", 2, NONE),
        ("Failed to sync time on device.", 3, NONE),
        ("No OpenGL events collected. Does the process use OpenGL?", 2, NONE),
    ],
)
def test_a_message_lowers_the_tier_of_the_process_it_speaks_of(text: str, severity: int, tier: Completeness) -> None:
    trace = healthy()
    trace.launch(OTHER_RANK)
    trace.says(text, severity=severity)
    quality = quality_of(trace)
    assert process(quality).completeness is tier
    assert process(quality, OTHER_RANK).completeness is NONE
    assert quality.completeness is tier


def test_a_message_of_the_session_lowers_every_tier() -> None:
    trace = healthy()
    trace.launch(OTHER_RANK)
    trace.says("Wrong event order has been detected when adding events", session_process(DAEMON), severity=3)
    assert {p.completeness for p in quality_of(trace).processes} == {CONTRADICTED}


def test_a_warning_of_a_launcher_changes_nothing() -> None:
    trace = healthy()
    before = quality_of(trace)
    trace.says("CUDA profiling might have not been started correctly.", LAUNCHER, severity=2)
    trace.says("Not all CUDA events might have been collected.", LAUNCHER, severity=2)
    after = quality_of(trace)
    assert after.completeness is before.completeness is NONE
    assert after.constrained() == before.constrained()


def test_lost_records_at_severity_info_are_a_share_of_what_should_be_there() -> None:
    trace = healthy()
    trace.says("Number of incomplete CUPTI events dropped: 6", severity=1)
    assert process(quality_of(trace)).loss_share == 6 / (6 + 2)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", EXPECTED_TABLES)
def test_a_missing_table_is_named_in_full_with_the_claims_it_takes_away(table: str) -> None:
    trace = healthy()
    trace.rows = {name: rows for name, rows in ALL_TABLES.items() if name != table}
    quality = quality_of(trace)
    (missing,) = quality.missing
    assert missing.table == table
    assert missing.constrains
    assert all(any(lack.takes_away for lack in quality.constrained()[claim]) for claim in missing.constrains)


def test_an_empty_table_is_not_missing_and_supports_no_more() -> None:
    trace = healthy()
    trace.rows = ALL_TABLES | {"NVTX_EVENTS": 0}
    quality = quality_of(trace)
    assert not quality.missing
    assert any(lack.takes_away for lack in quality.constrained()["NVTX anchors"])


# --- waits ------------------------------------------------------------------------------------------------------------


def test_waits_without_records_are_told_first() -> None:
    trace = healthy()
    for _ in range(3):
        trace.stream_wait(event=1, event_sync=9)
    trace.call(LAUNCH)  # cut off, a lesser gap
    quality = quality_of(trace)
    assert quality.gaps[0].id == "waits-without-records"
    assert (quality.gaps[0].count, quality.gaps[0].of) == (3, 3)
    assert quality.gaps[0].takes_away
    assert not quality.event_trace


def test_a_wait_finds_its_record_by_sync_id_or_by_handle_within_its_process() -> None:
    trace = healthy()
    trace.stream_wait(event=0, event_sync=5)
    trace.record(event=7, event_sync=5)
    trace.stream_wait(event=0)
    trace.record(event=0)
    trace.stream_wait(event=3)
    trace.record(event=3, process=OTHER_RANK)
    quality = quality_of(trace)
    assert (process(quality).rows.event_waits, process(quality).rows.waits_without_record) == (3, 1)
    found = gap(quality, "waits-without-records")
    assert found is not None
    assert not found.takes_away
    assert quality.event_trace


# --- processes and launches -------------------------------------------------------------------------------------------


def test_seven_of_eight_processes_were_not_captured() -> None:
    trace = healthy()
    for pid in range(1, 8):
        trace.call(LAUNCH, RANK + pid)
    quality = quality_of(trace)
    found = gap(quality, "processes-without-device-rows")
    assert found is not None
    assert found.text == "7 of 8 processes without device rows: not captured."
    assert RANK not in found.processes
    assert quality.completeness is NONE  # of the one unit there is
    assert {p.completeness for p in quality.processes if p.rows.process != RANK} == {CONTRADICTED}


def test_launches_without_any_kernel_row_contradict_the_capture() -> None:
    trace = TraceBuilder()
    trace.call(LAUNCH)
    trace.call("cuLaunchKernelEx")
    quality = quality_of(trace)
    assert quality.completeness is CONTRADICTED
    found = gap(quality, "launches-without-rows")
    assert found is not None
    assert found.text.startswith("All 2 kernel launches")


def test_a_launch_cut_off_by_the_end_is_not_a_lost_one() -> None:
    # calls   L l L l l     L has its kernel, l has none
    trace = TraceBuilder()
    trace.launch()
    trace.call(LAUNCH)
    trace.launch()
    trace.call(LAUNCH)
    trace.call(LAUNCH)
    rows = process(quality_of(trace)).rows
    assert (rows.kernel_launches, rows.launches_without_row, rows.launches_cut_off) == (5, 1, 2)


def test_launches_during_stream_capture_and_failed_ones_lack_no_row() -> None:
    trace = healthy()
    trace.call("cudaStreamBeginCapture_v10000")
    trace.call(LAUNCH)
    trace.call(LAUNCH, thread=99)  # autograd's thread
    trace.call("cudaStreamEndCapture_v10000")
    trace.call(LAUNCH, result=1)
    trace.launch()
    rows = process(quality_of(trace)).rows
    assert (rows.kernel_launches, rows.launches_without_row, rows.launches_captured) == (3, 0, 2)


def test_host_functions_and_queries_are_no_launches() -> None:
    trace = healthy()
    for name in ("cudaLaunchHostFunc_v10000", "cudaStreamIsCapturing_v10000", "cudaGraphKernelNodeSetParams_v10000"):
        trace.call(name)
    assert process(quality_of(trace)).rows.kernel_launches == 2


def test_a_cut_capture_has_ops_without_calls() -> None:
    trace = TraceBuilder()
    trace.kernel(correlation=4000)
    trace.launch()
    quality = quality_of(trace)
    assert process(quality).rows.ops_without_call == 1
    assert (quality.runtime_links.linked, quality.runtime_links.device_ops) == (1, 2)
    assert quality.completeness is POSSIBLE


# --- links ------------------------------------------------------------------------------------------------------------


def test_all_ops_may_join_their_calls_and_none_its_source() -> None:
    quality = quality_of(healthy())
    assert quality.runtime_links.share == 1.0
    assert quality.source_links.share == 0.0


def test_a_source_link_needs_a_call_stack() -> None:
    trace = TraceBuilder()
    trace.launch(callchain=5)
    trace.launch()
    assert quality_of(trace).source_links.share == 0.5


def test_equal_correlation_ids_of_two_processes_are_two() -> None:
    trace = TraceBuilder()
    trace.kernel(trace.call(LAUNCH, RANK), OTHER_RANK)
    assert quality_of(trace).runtime_links.linked == 0


def test_no_device_ops_have_no_rate() -> None:
    assert quality_of(TraceBuilder()).runtime_links.share is None


def test_a_migration_has_no_call_and_lacks_none() -> None:
    trace = healthy()
    trace.add(
        Copies, process=RANK, device=0, context=0, stream=0, correlation=0, kind=CopyKind.UVM_H2D, start_ns=1, end_ns=2
    )
    rows = process(quality_of(trace)).rows
    assert (rows.device_rows, rows.migrations, rows.ops_without_call) == (3, 1, 0)


# --- what was exported ------------------------------------------------------------------------------------------------


def test_a_partial_export_says_so() -> None:
    trace = healthy()
    trace.source = Source(path="a", kind="sqlite", bytes=1, times_exported="1s/2s")
    quality = quality_of(trace)
    found = gap(quality, "export-partial")
    assert found is not None
    assert found.text == "The export was limited to the times 1s/2s: what lies outside was not read."
    assert quality.completeness is POSSIBLE


def test_an_export_with_fewer_rows_than_were_collected_was_cut() -> None:
    trace = healthy()
    trace.says("Number of CUDA events collected: \t11,195.")
    trace.rows = ALL_TABLES | {"CUPTI_ACTIVITY_KIND_KERNEL": 10_000}
    found = gap(quality_of(trace), "rows-fewer-than-collected")
    assert found is not None
    assert found.of == 11_195
    trace.rows = ALL_TABLES | {"CUPTI_ACTIVITY_KIND_KERNEL": 11_195}
    assert gap(quality_of(trace), "rows-fewer-than-collected") is None


def test_one_unreadable_table_is_named() -> None:
    trace = healthy()
    trace.mistyped = {"CUPTI_ACTIVITY_KIND_MEMCPY.start": 4, "CUPTI_ACTIVITY_KIND_MEMCPY.end": 1}
    found = gap(quality_of(trace), "values-unreadable")
    assert found is not None
    assert found.text == "5 values of CUPTI_ACTIVITY_KIND_MEMCPY are no integers and read as absent."


@pytest.mark.parametrize(("exported", "lacking"), [(False, True), (True, False), (None, False)])
def test_payloads_declared_and_not_exported_are_unknown(exported: bool | None, lacking: bool) -> None:
    trace = healthy()
    trace.rows = ALL_TABLES | {"NVTX_PAYLOAD_SCHEMAS": 8}
    trace.source = Source(path="a", kind="sqlite", bytes=1, blobs_exported=exported)
    assert (gap(quality_of(trace), "payloads-not-exported") is not None) is lacking


# --- instrumentation, metrics, return codes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "mode"),
    [
        ((), "unknown"),
        (("Hardware tracing used for CUDA tracing",), "hardware"),
        (("CUDA hardware tracing is not supported on this system. A legacy trace was collected instead.",), "software"),
    ],
)
def test_the_instrumentation_is_what_the_profiler_said(texts: tuple[str, ...], mode: str) -> None:
    trace = healthy()
    for text in texts:
        trace.says(text)
    assert quality_of(trace).instrumentation == mode


def test_units_traced_in_two_ways_have_no_one_mode() -> None:
    trace = healthy()
    trace.launch(OTHER_RANK)
    trace.says("Hardware tracing used for CUDA tracing")
    assert quality_of(trace).instrumentation == "unknown"
    assert process(quality_of(trace)).instrumentation == "hardware"


def test_a_missing_permission_is_denied_and_no_loss() -> None:
    trace = healthy()
    trace.says("Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM", LAUNCHER, severity=3)
    quality = quality_of(trace)
    assert quality.metrics == "denied"
    assert quality.completeness is NONE
    assert "device time" not in quality.constrained()


@pytest.mark.parametrize("table", ["GPU_METRICS", "GENERIC_EVENTS"])
def test_samples_that_are_there_are_present(table: str) -> None:
    trace = healthy()
    trace.rows = ALL_TABLES | {table: 12}
    assert quality_of(trace).metrics == "present"


def test_metrics_without_samples_or_message_are_absent() -> None:
    assert quality_of(healthy()).metrics == "absent"


def test_errors_are_counted_by_function_and_a_query_that_waits_is_none() -> None:
    trace = healthy()
    trace.call("cudaEventQuery_v3020", result=600)
    trace.call("cudaMalloc_v3020", result=2)
    trace.call("cudaDeviceSynchronize_v3020", result=700)
    trace.call("cudaFree_v3020", result=700)
    trace.call("cudaFree_v3020", result=700)
    quality = quality_of(trace)
    assert [(f.function, f.code, f.name, f.fatal, f.calls) for f in quality.failures] == [
        ("cudaFree", 700, "illegal address", True, 2),
        ("cudaDeviceSynchronize", 700, "illegal address", True, 1),
        ("cudaMalloc", 2, "out of memory", False, 1),
    ]
    found = gap(quality, "program-failed")
    assert found is not None
    assert found.text.startswith("3 API calls returned a fatal error: the program itself failed")
