"""Random programs of streams, events and synchronizations: what holds of any of them.

Their steps are too irregular to recur, so they are declared. Latencies are nearly constant, so that what the analysis
measures is what the machine did.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from critpath.base.intervals import Intervals, union
from critpath.ingest.trace import read_trace
from critpath.model.identity import NULL
from critpath.model.report import unexplained_nulls, violations
from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import Trace
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.rank.absence import Absence, absence
from critpath.rank.attribution import Attribution, Surroundings
from critpath.rank.process_facts import process_facts
from critpath.rank.windows import Windows, span_window
from critpath.sim import Simulation, write_job
from critpath.sim.instructions import CopyDirection, CpuWork, Instruction
from sim.tiny import STREAMS, copy, job_of, kernel, memset, process, record, step, sync, thread, wait

COUNT = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
DIRECTIONS = (CopyDirection.HOST_TO_DEVICE, CopyDirection.DEVICE_TO_HOST, CopyDirection.DEVICE_TO_DEVICE)


@st.composite
def instructions(draw: st.DrawFn) -> tuple[Instruction, ...]:
    """A program of one thread; a wait names an event that was recorded before."""
    streams = draw(st.lists(st.sampled_from(STREAMS), min_size=1, max_size=6, unique=True))
    stream, duration = st.sampled_from(streams), st.integers(1, 60_000)
    recorded: list[int] = []
    found: list[Instruction] = [kernel(streams[0], 1_000)]
    for kind in draw(st.lists(st.sampled_from("kkkkcmrrwwwwsh"), min_size=5, max_size=60)):
        where = draw(stream)
        if kind == "k":
            found.append(kernel(where, draw(duration), call_ns=draw(st.integers(1, 5_000)), latency_ns=5_000))
        elif kind == "c":
            found.append(copy(where, draw(st.sampled_from(DIRECTIONS)), draw(duration)))
        elif kind == "m":
            found.append(memset(where, draw(duration)))
        elif kind == "r":
            recorded.append(draw(st.integers(1, 4)))
            found.append(record(where, recorded[-1]))
        elif kind == "w" and recorded:
            found.append(wait(where, draw(st.sampled_from(recorded))))
        elif kind == "s":
            found.append(sync(where))
        elif kind == "h":
            found.append(CpuWork("work", draw(duration)))
    return (*found, kernel(streams[0], 1_000))


def executed(program: tuple[Instruction, ...], folder: Path, *, sync_ids: bool = True) -> Simulation:
    job = job_of(process(thread(*step(0, *program), *step(1, *program), *step(2, *program))))
    return write_job(job, folder, event_sync_ids=sync_ids)


@cache
def taxonomy() -> Taxonomy:
    return Taxonomy.bundled()


def divided(trace: Trace, windows: Windows) -> tuple[Absence, Attribution]:
    facts = process_facts(trace, int(trace.kernels.process[0]), taxonomy())
    return absence(facts, 0, windows, Surroundings())


def span(trace: Trace) -> tuple[int, int]:
    """Somewhat more than all device ops."""
    ops = (trace.kernels, trace.copies, trace.memsets)
    starts, ends = [t.start_ns.min() for t in ops if len(t)], [t.end_ns.max() for t in ops if len(t)]
    return int(min(starts)) - 3_000, int(max(ends)) + 7_000


def whole(trace: Trace, by_ns: int = 0) -> Windows:
    start, end = span(trace)
    return span_window(start + by_ns, end + by_ns, kind="explicit", text="all")


@COUNT
@given(instructions(), st.booleans())
def test_the_latest_producer_is_that_of_the_execution(program: tuple[Instruction, ...], sync_ids: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        simulation = executed(program, Path(folder), sync_ids=sync_ids)
        trace = read_trace(simulation.exports[0])
    facts = process_facts(trace, int(trace.kernels.process[0]), taxonomy())
    row = {correlation: i for i, correlation in enumerate(facts.ops.correlation.tolist())}
    assert facts.known.unresolved_share == 0.0
    for op in simulation.execution.runs[0].ops:
        ends = {edge.producer.end_ns for edge in op.edges}
        last = facts.known.latest[row[op.correlation]]
        assert (last >= 0) == bool(ends)
        if ends:
            gap = facts.ops.start_ns[row[op.correlation]] - facts.ops.end_ns[last]
            assert gap == op.start_ns - max(ends)


@COUNT
@given(instructions())
def test_parts_tile_the_time_without_compute(program: tuple[Instruction, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(executed(program, Path(folder)).exports[0])
    found, told = divided(trace, whole(trace))
    start, end = span(trace)
    computing = union(trace.kernels.start_ns, trace.kernels.end_ns)
    parts = told.parts
    assert parts.spans() == computing.gaps(start, end)
    assert parts.total_ns == parts.spans().total_ns == int(found.by_window.sum()), "pieces overlap"
    known = parts.gap >= 0
    assert (parts.start_ns[known] >= told.gaps.start_ns[parts.gap[known]]).all()
    assert (parts.end_ns[known] <= told.gaps.end_ns[parts.gap[known]]).all()
    assert sum(found.starved.values()) == sum(ns for _, ns, _ in found.causes) == int(found.by_window[0].sum())
    assert sum(found.by_class.values()) == int(found.by_window[1].sum())
    assert sum(found.by_reason.values()) == int(found.by_window[2].sum())
    assert all(int(moved.sum()) == int(found.by_window.sum()) for moved in found.moved)


def shifted(trace: Trace, by_ns: int) -> Trace:
    """Every clock moved."""

    def moved(table: Any) -> Any:
        columns = {n: getattr(table, n) for n in ("start_ns", "end_ns")}
        return replace(table, **{n: np.where(c == NULL, NULL, c + by_ns) for n, c in columns.items()})

    names = ("kernels", "copies", "memsets", "graph_launches", "runtime_calls", "sync_waits", "nvtx_ranges")
    return replace(trace, **{name: moved(getattr(trace, name)) for name in names})


@COUNT
@given(instructions(), st.integers(-(10**15), 10**15))
def test_moving_all_clocks_changes_nothing(program: tuple[Instruction, ...], by_ns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(executed(program, Path(folder)).exports[0])
    here, _ = divided(trace, whole(trace))
    there, _ = divided(shifted(trace, by_ns), whole(trace, by_ns))
    assert np.array_equal(here.by_window, there.by_window)
    for name in (
        "starved",
        "by_class",
        "by_reason",
        "operations",
        "causes",
        "contested_ns",
        "measured",
        "host_blocked",
    ):
        assert getattr(here, name) == getattr(there, name), name
    assert np.array_equal(here.moved, there.moved)


@COUNT
@given(instructions(), st.lists(st.floats(0, 1), max_size=6))
def test_splitting_a_window_changes_no_total(program: tuple[Instruction, ...], at: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(executed(program, Path(folder)).exports[0])
    start, end = span(trace)
    edges = sorted({start, end, *(start + int(share * (end - start)) for share in at)})
    one = whole(trace)
    many = replace(
        one,
        labels=tuple(str(i) for i in range(len(edges) - 1)),
        index=np.arange(len(edges) - 1),
        starts_ns=np.array(edges[:-1], np.int64),
        ends_ns=np.array(edges[1:], np.int64),
        outside_ns=np.full(len(edges) - 1, NULL, np.int64),
    )
    whole_told, _ = divided(trace, one)
    split_told, _ = divided(trace, many)
    assert np.array_equal(whole_told.by_window.sum(axis=1), split_told.by_window.sum(axis=1))
    for name in ("starved", "by_class", "by_reason", "contested_ns"):
        assert getattr(whole_told, name) == getattr(split_told, name), name
    computing = union(trace.kernels.start_ns, trace.kernels.end_ns)
    idle = Intervals.of((start, end)).subtract(computing)
    absent = idle.clip(many.starts_ns, many.ends_ns)
    assert np.array_equal(split_told.by_window.sum(axis=0), absent)


@COUNT
@given(instructions(), st.sampled_from(["period", "range"]))
def test_reports_agree_with_themselves(program: tuple[Instruction, ...], scope: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        exports = executed(program, Path(folder)).exports
        report = analyze(exports, Options(step=step_options(step=r"iteration \d+", scope=scope)))
    assert violations(report) == []
    assert unexplained_nulls(report) == []
