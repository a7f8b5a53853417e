from __future__ import annotations

from critpath.ingest.schema import EXPECTED_TABLES
from critpath.rank.capture import capture_quality
from critpath.rank.capture_advice import Advice, capture_advice, export_command, mends, recaptures
from critpath.rank.capture_gaps import _gaps, _tables
from critpath.rank.message_catalogue import claims, known_messages
from rank.traces import ALL_TABLES, RANK, TraceBuilder


def advice_of(trace: TraceBuilder) -> dict[str, Advice]:
    return {advice.claim: advice for advice in capture_advice(capture_quality(trace.build()))}


def test_every_claim_is_answered_in_the_order_of_the_list() -> None:
    trace = TraceBuilder()
    trace.launch()
    answered = advice_of(trace)
    assert list(answered) == list(claims())
    assert all(a.verdict == "yes" or a.because for a in answered.values())


def test_nothing_is_supported_by_a_capture_without_device_rows() -> None:
    trace = TraceBuilder(rows={})
    about_devices = (
        "device time", "absence of device ops", "totals (lower bounds only)", "tail of the capture", "boundary steps",
        "launch causes", "producers of event waits", "inside of CUDA graphs", "unified memory", "source attribution",
    )  # fmt: skip
    answered = advice_of(trace)
    assert {answered[claim].verdict for claim in about_devices} == {"no"}


def test_that_nothing_ran_is_never_more_than_a_limited_claim() -> None:
    trace = TraceBuilder()
    trace.says("CUDA injection initialized successfully.")
    trace.launch()
    assert advice_of(trace)["absence of device ops"].verdict == "limited"


def test_opaque_graphs_take_their_inside_away_and_say_the_option() -> None:
    trace = TraceBuilder()
    trace.graph(trace.call("cudaGraphLaunch_v10000"))
    inside = advice_of(trace)["inside of CUDA graphs"]
    assert inside.verdict == "no"
    assert "--cuda-graph-trace=node" in {mend.options for mend in inside.mend}


def test_payloads_are_mended_by_a_new_export() -> None:
    trace = TraceBuilder(rows=ALL_TABLES | {"NVTX_PAYLOAD_SCHEMAS": 4})
    trace.launch()
    trace.source = type(trace.source)(path="a", kind="sqlite", bytes=1, blobs_exported=False)
    payloads = advice_of(trace)["NVTX payloads"]
    assert payloads.verdict == "no"
    assert [(m.step, m.options) for m in payloads.mend][-1] == ("export", "--type sqlite --include-blobs=true")


def test_no_record_is_missed_where_nothing_waits_for_one() -> None:
    trace = TraceBuilder(rows={t: 1 for t in EXPECTED_TABLES if not t.endswith("CUDA_EVENT")})
    trace.launch()
    assert advice_of(trace)["producers of event waits"].verdict == "yes"
    trace.stream_wait(event=1)
    assert advice_of(trace)["producers of event waits"].verdict == "no"


def test_what_was_traced_already_is_no_remedy() -> None:
    trace = TraceBuilder(rows={t: 1 for t in EXPECTED_TABLES if not t.endswith("KERNEL")})
    trace.call("cuInit")
    asked = TraceBuilder(rows=trace.rows, options={"CAPTURE_EVENT_TYPE": "NvtxEvents,Cuda"})
    asked.call("cuInit")
    assert "trace-cuda" in {m.id for m in advice_of(trace)["device time"].mend}
    assert "trace-cuda" not in {m.id for m in advice_of(asked)["device time"].mend}
    assert advice_of(asked)["device time"].mend


def test_unified_memory_untraced_in_one_of_two_ranks_is_a_limit() -> None:
    trace = TraceBuilder()
    trace.launch()
    trace.launch(RANK + 1)
    text = "CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers."
    trace.says(text, severity=3)
    assert advice_of(trace)["unified memory"].verdict == "limited"
    trace.says(text, RANK + 1, severity=3)
    assert advice_of(trace)["unified memory"].verdict == "no"


def test_the_dependency_pass_is_the_timing_pass_with_events_and_nodes() -> None:
    timing, dependency = recaptures()
    assert "--cuda-graph-trace=graph" in timing.command
    assert "--cuda-event-trace" not in timing.command
    assert "--cuda-graph-trace=node" in dependency.command
    assert "--cuda-event-trace=true" in dependency.command
    for recapture in (timing, dependency):
        assert "--capture-range=cudaProfilerApi --capture-range-end=stop" in recapture.command
    assert "--include-blobs=true" in export_command()


def test_every_lack_names_claims_and_remedies_that_exist() -> None:
    lacks = [*_tables().values(), *_gaps().values()]
    assert set(_tables()) == set(EXPECTED_TABLES)
    assert {claim for lack in lacks for claim in lack["constrains"]} <= set(claims())
    wanted = {mend for lack in lacks for mend in lack["mend"]} | {m for e in known_messages() for m in e.mend}
    assert wanted <= set(mends())
    assert set(mends()) <= wanted
