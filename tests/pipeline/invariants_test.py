"""Every report agrees with itself and explains its nulls: of simulated, real and random exports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from critpath.base.errors import CritpathError
from critpath.model.report import Report, load_report, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.render.text import WIDTH, text
from critpath.sim import GENERATIONS, scenario_names, simulate
from exports import NO_ID, PID, Export, gpid, tid

REAL = Path(__file__).resolve().parents[3] / "shared/data/real"
REAL_FILES = sorted(REAL.glob("*.sqlite"))


def check(report: Report) -> None:
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    assert load_report(report.to_json()) == report
    assert max(map(cell_len, text(report).splitlines())) <= WIDTH


@pytest.mark.parametrize("scenario", scenario_names())
def test_reports_of_simulated_exports_agree_with_themselves(scenario: str, tmp_path: Path) -> None:
    check(analyze(simulate(scenario, tmp_path).exports))


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("scope", ["period", "range"])
def test_every_generation_gives_the_same_budget(generation: str, scope: str, tmp_path: Path) -> None:
    options = Options(step=step_options(scope=scope))
    newest = analyze(simulate("data_parallel", tmp_path / "new", ranks=2).exports, options)
    report = analyze(simulate("data_parallel", tmp_path / "old", ranks=2, generation=generation).exports, options)
    check(report)
    assert [u.budget for u in report.units] == [u.budget for u in newest.units]


@pytest.mark.skipif(not REAL_FILES, reason="shared/data/real is not beside the checkout")
@pytest.mark.parametrize("path", REAL_FILES, ids=lambda p: p.stem)
def test_reports_of_real_exports_agree_with_themselves(path: Path) -> None:
    check(analyze([path]))


@pytest.mark.skipif(not REAL_FILES, reason="shared/data/real is not beside the checkout")
def test_no_record_of_a_real_export_is_taken_for_damaged() -> None:
    report = analyze(REAL_FILES)
    check(report)
    assert [u.set_aside.by_table for u in report.units if u.set_aside] == [{}] * len(report.units)
    left_out = ("records", "name no", "no usable size", "no integers")
    own = [w.text for w in report.capture.warnings if w.source == "critpath"]
    assert [text_ for text_ in own if any(phrase in text_ for phrase in left_out)] == []


NEAR = st.integers(-5_000_000, 50_000_000)
TIMES = st.one_of(NEAR, NEAR, NEAR, st.none(), st.integers(-(2**63), 2**63 - 1), st.just(0), st.just(1.5))
SMALL = st.one_of(st.integers(0, 4), st.integers(0, 4), st.none(), st.integers(-(2**63), 2**63 - 1), st.just("x"))
IDS = st.one_of(st.integers(0, 3), st.just(NO_ID), st.none(), st.just(-1), st.just(0))
PIDS = st.sampled_from([gpid(PID), gpid(PID), gpid(7), None, gpid(7, hardware=0xFE), -1])
TIDS = st.sampled_from([tid(PID), tid(PID, 9), tid(7), None, -1])
TEXTS = st.one_of(
    st.sampled_from(["step 1", "step 2", "step 3"]), st.none(), st.text(max_size=8), st.binary(max_size=6)
)


def rows(**columns: Any) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(st.fixed_dictionaries({"start": TIMES, "end": TIMES, **columns}), max_size=8)


OPS = {"deviceId": SMALL, "contextId": SMALL, "streamId": SMALL, "correlationId": SMALL, "globalPid": PIDS}
EXPORTS = st.fixed_dictionaries(
    {},
    optional={
        "CUPTI_ACTIVITY_KIND_KERNEL": rows(
            **OPS, demangledName=SMALL, shortName=SMALL, gridX=SMALL, gridY=SMALL, gridZ=SMALL, graphNodeId=SMALL
        ),
        "CUPTI_ACTIVITY_KIND_MEMCPY": rows(
            **OPS, bytes=SMALL, copyKind=st.integers(-1, 15), srcKind=SMALL, dstKind=SMALL
        ),
        "CUPTI_ACTIVITY_KIND_MEMSET": rows(**OPS, bytes=SMALL, memKind=SMALL),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": rows(**OPS, graphId=SMALL, graphExecId=SMALL),
        "CUPTI_ACTIVITY_KIND_RUNTIME": rows(globalTid=TIDS, correlationId=SMALL, nameId=SMALL, returnValue=SMALL),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": rows(
            globalPid=PIDS, contextId=SMALL, streamId=IDS, eventId=IDS, eventSyncId=IDS, correlationId=SMALL
        ),
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT": rows(globalPid=PIDS, contextId=SMALL, eventId=IDS, correlationId=SMALL),
        "NVTX_EVENTS": rows(
            text=TEXTS,
            textId=SMALL,
            globalTid=TIDS,
            domainId=SMALL,
            eventType=st.sampled_from([59, 59, 60, 34, 75, None]),
        ),
        "PROFILER_OVERHEAD": rows(globalTid=TIDS, nameId=SMALL, overheadType=SMALL),
        "DIAGNOSTIC_EVENT": rows(text=TEXTS, severity=SMALL, source=SMALL, globalPid=PIDS),
        "TARGET_INFO_GPU": rows(id=SMALL, name=TEXTS, uuid=TEXTS, busLocation=TEXTS, smCount=SMALL, cuDevice=SMALL),
        "TARGET_INFO_CUDA_DEVICE": rows(gpuId=SMALL, cudaId=SMALL, pid=st.sampled_from([PID, 7]), uuid=TEXTS),
        "TARGET_INFO_CUDA_CONTEXT_INFO": rows(
            processId=st.sampled_from([PID, 7]),
            hwId=SMALL,
            vmId=SMALL,
            deviceId=SMALL,
            contextId=SMALL,
            nullStreamId=SMALL,
        ),
        "TARGET_INFO_CUDA_STREAM": rows(processId=SMALL, contextId=SMALL, streamId=SMALL, flag=SMALL, priority=SMALL),
        "TARGET_INFO_SESSION_START_TIME": rows(utcEpochNs=TIMES, systemClockNs=TIMES),
        "ANALYSIS_DETAILS": rows(duration=TIMES),
        "MPI_RANKS": rows(globalTid=TIDS, rank=SMALL),
        "PROCESSES": rows(globalPid=PIDS, pid=SMALL, name=TEXTS),
    },
)
CHOICES = st.sampled_from(
    [{}, {}, {"step": "step .*"}, {"step": "step .*", "scope": "range"}, {"scope": "range"}, {"window": "0:10000000"}]
)


Tables = dict[str, list[dict[str, Any]]]


def refused_or_agreeing(export: Export, tables: Tables, choice: dict[str, str]) -> None:
    for table, found in tables.items():
        for row in found:
            export.add(table, **row)
    with tempfile.TemporaryDirectory() as folder:
        path = export.write(Path(folder) / "a.sqlite")
        try:
            report = analyze([path], Options(step=step_options(**choice)))
        except CritpathError:
            return
    check(report)


@given(tables=EXPORTS, choice=CHOICES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_exports_are_refused_or_give_a_report_that_agrees_with_itself(
    tables: Tables, choice: dict[str, str]
) -> None:
    export = Export(loose=True)
    for name in ("gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "cudaLaunchKernel_v7000", "cudaEventQuery_v3020"):
        export.string(name)
    refused_or_agreeing(export, tables, choice)


@given(tables=EXPORTS, choice=CHOICES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_rows_in_a_healthy_export_keep_its_report_in_agreement(tables: Tables, choice: dict[str, str]) -> None:
    export = Export(loose=True)
    for i in range(5):
        begin = 10_000_000 * i
        export.nvtx(begin, begin + 9_000_000, f"step {i}")
        for k in range(4):
            name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if k == 2 else "gemm"
            start = begin + 2_000_000 * k + 50_000
            export.launched(start, start + 1_500_000, corr=10 + 4 * i + k, name=name, streamId=7 + k % 2)
    refused_or_agreeing(export, tables, choice)
