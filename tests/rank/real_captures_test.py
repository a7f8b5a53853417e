"""What the owners of real exports should be told."""

from __future__ import annotations

from functools import cache

import numpy as np

from critpath.ingest.trace import read_trace
from critpath.rank.capture import CaptureQuality, Completeness, capture_quality
from critpath.rank.capture_advice import Advice, capture_advice
from critpath.rank.diagnostics import Reach
from critpath.rank.overheads import OverheadTime, overhead_times
from real_exports import FOLDER, needs_real_exports

pytestmark = needs_real_exports


@cache
def quality(name: str) -> CaptureQuality:
    (path,) = FOLDER.glob(f"{name}*.sqlite")
    return capture_quality(read_trace(path))


def answered(name: str) -> dict[str, Advice]:
    return {advice.claim: advice for advice in capture_advice(quality(name))}


def verdicts(name: str) -> dict[str, str]:
    return {claim: advice.verdict for claim, advice in answered(name).items()}


def gaps(name: str) -> dict[str, str]:
    return {gap.id: gap.text for gap in quality(name).gaps}


def overheads(name: str) -> dict[str, OverheadTime]:
    """Overhead by label, over the whole capture."""
    (path,) = FOLDER.glob(f"{name}*.sqlite")
    rows = read_trace(path).overheads
    return {t.label: t for t in overhead_times(rows, np.array([-(2**60)]), np.array([2**60]))}


def test_the_program_that_was_stopped_by_a_duration_lost_its_kernels() -> None:
    capture = quality("gemm_incomplete")
    (process,) = capture.processes
    assert capture.completeness is Completeness.CONTRADICTED
    assert (process.rows.reach, process.rows.api_rows, process.rows.device_rows) == (Reach.API_ONLY, 3, 0)
    assert {m.id for m in capture.messages if m.reaches(process.rows.process) and m.constrains} == {
        "nvtx-events-incomplete",
        "cuda-events-incomplete",
        "flush-at-profiler-stop",
        "driver-newer-than-cupti",
        "cupti-buffers-missing",
    }
    assert gaps("gemm_incomplete")["processes-without-device-rows"].startswith("1 of 1 processes")
    assert capture.runtime_links.share is None
    device = answered("gemm_incomplete")["device time"]
    assert device.verdict == "no"
    assert {"clean-exit", "trace-children"} <= {m.id for m in device.mend}
    assert "trace-cuda" not in {m.id for m in device.mend}  # CUDA was traced; it didn't help


def test_a_capture_without_cuda_says_nothing_of_a_device() -> None:
    capture = quality("no_cuda_badutf8")
    assert capture.completeness is None
    assert capture.processes == ()
    assert {m.reach for m in capture.messages} == {Reach.HELPER, Reach.SESSION}
    assert len(capture.missing) == 5
    assert capture.graphs.mode == "unknown"
    told = verdicts("no_cuda_badutf8")
    assert (told["device time"], told["absence of device ops"], told["launch causes"]) == ("no", "no", "no")
    assert told["host causes (scheduling)"] == "yes"


def test_an_export_older_than_messages_proves_nothing_by_their_absence() -> None:
    capture = quality("premeta_C")
    assert capture.messages == ()
    assert capture.completeness is None
    assert [t.table for t in capture.missing] == [
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        "NVTX_EVENTS",
    ]
    assert "no-messages" in gaps("premeta_C")
    assert verdicts("premeta_C")["physical GPU of a unit"] == "yes"


def test_a_small_whole_capture_has_no_adverse_evidence() -> None:
    capture = quality("torch_tiny")
    (process,) = capture.processes
    assert capture.completeness is Completeness.NO_ADVERSE_EVIDENCE
    assert process.injected
    assert capture.instrumentation == "software"
    assert process.rows.name == "[path]/python"
    assert (capture.runtime_links.linked, capture.runtime_links.device_ops) == (3, 3)
    assert capture.source_links.linked == 0
    assert [t.table for t in capture.missing] == ["CUPTI_ACTIVITY_KIND_CUDA_EVENT", "NVTX_EVENTS"]
    told = verdicts("torch_tiny")
    assert told["unified memory"] == "no"
    assert told["producers of event waits"] == "yes"  # nothing waited for an event
    assert told["absence of device ops"] == "limited"
    assert all("/home/" not in m.text for m in capture.messages)


def test_module_loading_is_the_application_s_own_overhead() -> None:
    found = overheads("torch_tiny")
    assert (found["module loading"].owner, found["module loading"].rows) == ("application", 4)
    assert found["profiler buffer flush"].owner == "profiler"
    assert found["profiler resources"].wall_ns > 8_000_000
    (untyped,) = overheads("uvm").values()
    assert (untyped.kind, untyped.owner, untyped.rows) == (None, "profiler", 43)


def test_migrations_join_no_call_and_lack_none() -> None:
    capture = quality("uvm")
    (process,) = capture.processes
    assert capture.completeness is Completeness.NO_ADVERSE_EVIDENCE
    assert (process.rows.migrations, process.rows.device_rows, process.rows.ops_without_call) == (2370, 2371, 0)
    assert verdicts("uvm")["unified memory"] == "yes"
    assert verdicts("uvm")["host causes (CPU samples)"] == "limited"


def test_a_cut_of_one_second_lost_both_its_ends() -> None:
    capture = quality("h100")
    assert capture.completeness is Completeness.POSSIBLE_LOSS
    assert [(p.rows.launches_without_row, p.rows.launches_cut_off) for p in capture.processes] == [(0, 857)] * 2
    assert (capture.runtime_links.linked, capture.runtime_links.device_ops) == (2092, 4368)
    assert capture.source_links.linked == 0
    assert capture.gaps[0].text.startswith("236 of 236 waits for CUDA events have no record row")
    assert not capture.event_trace
    assert "payloads-not-exported" in gaps("h100")
    assert [t.table for t in capture.missing] == ["TARGET_INFO_GPU"]
    told = verdicts("h100")
    assert (told["launch causes"], told["tail of the capture"]) == ("limited", "limited")
    assert told["producers of event waits"] == "no"


def test_a_full_command_buffer_is_no_overhead_of_the_profiler() -> None:
    full = overheads("h100")["command buffer full"]
    assert (full.owner, full.rows) == ("application", 198)


def test_queries_and_waits_of_the_two_gpu_run_have_no_records() -> None:
    capture = quality("mfu_2gpu_before")
    assert capture.gaps[0].text.startswith("333 of 333 waits for CUDA events have no record row")
    assert sum(p.rows.kernel_launches for p in capture.processes) == 3604 + 402
    assert sum(p.rows.launches_cut_off for p in capture.processes) == 20
    assert sum(p.rows.launches_without_row for p in capture.processes) == 0
    assert (capture.runtime_links.linked, capture.runtime_links.device_ops) == (5268, 5299)
    payloads = answered("mfu_2gpu_before")["NVTX payloads"]
    assert payloads.verdict == "no"
    assert [m.options for m in payloads.mend] == ["--type sqlite --include-blobs=true"]


def test_warnings_about_the_shell_say_nothing_of_the_trainer() -> None:
    capture = quality("lm_train")
    (process,) = capture.processes
    helpers = [m for m in capture.messages if m.reach is Reach.HELPER]
    assert {"no-cuda-events", "cuda-not-started"} <= {m.id for m in helpers}
    assert all(m.constrains == () for m in helpers)
    assert capture.completeness is Completeness.NO_ADVERSE_EVIDENCE
    assert capture.missing == ()
    assert capture.event_trace
    assert process.rows.waits_without_record == 0
    assert capture.failures == ()  # 14 queries were not ready, which is no error
    assert capture.runtime_links.share == 1.0
    assert capture.source_links.share == 0.0
    told = verdicts("lm_train")
    assert (told["unified memory"], told["library calls (cuBLAS, cuDNN)"]) == ("no", "no")
    assert told["NVTX anchors"] == "yes"


def test_a_warning_on_the_trainer_itself_limits_what_is_said_of_it() -> None:
    capture = quality("power_iteration")
    assert capture.completeness is Completeness.POSSIBLE_LOSS
    told = verdicts("power_iteration")
    assert (told["NVTX anchors"], told["totals (lower bounds only)"]) == ("limited", "limited")


def test_no_real_message_is_unknown() -> None:
    names = ("gemm", "no_cuda", "torch_tiny", "uvm", "lm_train", "power_iteration")
    assert {m.text for name in names for m in quality(name).messages if m.id == "unclassified"} == set()


def test_the_profiler_s_counter_is_the_sum_of_calls_kernels_copies_and_fills() -> None:
    for name in ("gemm", "torch_tiny", "uvm", "lm_train", "power_iteration"):
        (counter,) = [m for m in quality(name).messages if m.id == "cuda-events-collected"]
        (process,) = quality(name).processes
        assert counter.count == process.rows.api_rows + process.rows.device_rows
        assert "rows-fewer-than-collected" not in gaps(name)
