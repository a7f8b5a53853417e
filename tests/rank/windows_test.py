"""Windows of steps on the device: edges, what is dropped and why, what a second anchor changes."""

from dataclasses import replace

import numpy as np
import pytest

from critpath.base.intervals import I64
from critpath.model.tables import Overheads
from critpath.model.taxonomy import Taxonomy
from critpath.rank.anchors.cross_check import CrossCheck
from critpath.rank.launches import unit_launches
from critpath.rank.occupancy import kernel_classes
from critpath.rank.steps import Steps
from critpath.rank.windows import FLUSH_KIND, Windows, span_window, step_windows
from rank.builders import ALL_GATHER, GELU, GEMM, MAIN, PROCESS, UnitScript, windows_of

OBJECTION = CrossCheck("optimizer", 250, 1.0, 150.0, False)


def _steps_script(count: int = 8, *, gap_us: float = 500, between: str | None = None) -> UnitScript:
    script = UnitScript()
    for i in range(count):
        with script.range(f"step {i}"):
            script.kernels((GEMM, 900), (GELU, 100), (GEMM, 900))
            script.synchronize()
        if between:
            script.kernel(between, 300)
        script.idle(gap_us)
    return script


def _found(script: UnitScript, scope: str = "period", **changes: object) -> Windows:
    windows = windows_of(script.unit(**changes), scope)
    assert windows is not None
    return windows


def _marked(marks_ns: I64, unlike: tuple[tuple[int, float], ...] = ()) -> Windows:
    unit = _steps_script().unit()
    classes = kernel_classes(unit.kernels, unit.strings, Taxonomy.bundled())
    ends = np.append(marks_ns[1:], 2**62)
    steps = Steps("optimizer", "o", tuple(map(str, marks_ns)), marks_ns, ends, marks_ns=marks_ns, unlike=unlike)
    return step_windows(unit, unit_launches(unit), classes.communication, steps, "range")


def test_period_windows_tile_from_first_compute_to_first_compute() -> None:
    # host    |-step 0-|  |-step 1-|
    # compute   ### ###     ### ###
    # period    |-----------|--------
    windows = _found(_steps_script())
    assert (windows.starts_ns[1:] == windows.ends_ns[:-1]).all()
    assert (windows.outside_ns == 0).all()
    assert windows.dropped[-1].why.startswith("the last step")


def test_range_windows_end_with_their_own_last_op_and_leave_the_rest_outside() -> None:
    windows = _found(_steps_script(gap_us=5_000), "range")
    assert (windows.ends_ns < np.append(windows.starts_ns[1:], 2**62)).all()
    assert (windows.outside_ns[:-1] > 5_000_000).all()


def test_range_windows_are_compared_by_their_periods() -> None:
    windows = _found(_steps_script(gap_us=5_000), "range")
    assert windows.period_ns > 1.5 * windows.lengths_ns.max()


def test_collective_does_not_begin_a_step() -> None:
    script = UnitScript()
    for i in range(5):
        with script.range(f"step {i}"):
            script.kernel(ALL_GATHER, 50)
            script.kernels((GEMM, 900), (GEMM, 900))
            script.synchronize()
    unit = script.unit()
    windows = windows_of(unit)
    assert windows is not None
    gemm = unit.kernels.start_ns[np.flatnonzero(unit.kernels.end_ns - unit.kernels.start_ns > 500_000)[::2]]
    assert set(windows.starts_ns.tolist()) <= set(gemm.tolist())


def test_profiler_start_and_flush_at_the_edges_are_dropped_by_name() -> None:
    script = _steps_script()
    unit = script.unit()
    at = int(unit.nvtx_ranges.start_ns[-2]) + 1_000
    flush = Overheads.of(
        start_ns=[at], end_ns=[at + 50_000], process=[PROCESS], thread=[MAIN], correlation=[0],
        name=unit.nvtx_ranges.name[:1], kind=[FLUSH_KIND],
    )  # fmt: skip
    windows = windows_of(replace(unit, overheads=flush))
    assert windows is not None
    assert "the profiler wrote its buffers in it" in {d.why for d in windows.dropped}


def test_step_that_captured_a_graph_is_dropped_by_name() -> None:
    script = UnitScript()
    for i in range(8):
        with script.range(f"step {i}"):
            script.kernels((GEMM, 900), (GEMM, 900))
            if i == 3:
                script.api("cudaStreamBeginCapture_v10000")
            script.synchronize()
    windows = _found(script)
    assert 3 not in windows.index
    assert any(d.index == 3 and "captured" in d.why for d in windows.dropped)


def test_marks_on_the_device_are_periods_whatever_scope_was_asked_for() -> None:
    windows = _marked(np.arange(5, dtype=np.int64) * 1_000)
    assert windows.scope == "period"
    assert windows.starts_ns.tolist() == [0, 1_000, 2_000, 3_000]
    assert windows.ends_ns.tolist() == [1_000, 2_000, 3_000, 4_000]


def test_period_with_other_work_than_the_rest_is_dropped_by_name() -> None:
    windows = _marked(np.arange(6, dtype=np.int64) * 1_000, unlike=((2, 0.44),))
    assert windows.index.tolist() == [0, 1, 3, 4]
    assert any(d.index == 2 and "0.44 times as many kernels" in d.why for d in windows.dropped)


@pytest.mark.parametrize(
    ("declared", "checked", "material"),
    [(False, OBJECTION, True), (True, OBJECTION, False), (False, None, False)],
)
def test_objection_is_material_unless_the_step_was_declared(
    declared: bool, checked: CrossCheck | None, material: bool
) -> None:
    windows = replace(_found(_steps_script()), declared=declared, cross_check=checked)
    assert windows.is_material_disagreement is material


def test_span_given_by_the_user_is_declared_and_the_capture_is_not() -> None:
    assert span_window(0, 10, kind="explicit", text="0:10").declared
    capture = span_window(0, 10, kind="capture", text="whole capture")
    assert not capture.declared
    assert capture.confidence == "low"
    assert capture.period_ns == 10
