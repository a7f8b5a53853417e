"""Windows that the user declares: nothing selected is an error, and a silent unit is no idle one."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.base.errors import OptionError, SelectionError
from critpath.model.report import Report, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from exports import PID, Export

MS = 1_000_000


def two_units() -> Export:
    """
    A  [1, 2) [2, 3)               of process 4242, in ms
    B                [11, 12)      of process 4343
    """
    export = Export()
    export.launched(1 * MS, 2 * MS, corr=1)
    export.launched(2 * MS, 3 * MS, corr=2)
    export.launched(11 * MS, 12 * MS, corr=1, pid=4343)
    return export


def windowed(export: Export, folder: Path, window: str) -> Report:
    report = analyze([export.write(folder / "a.sqlite")], Options(step=step_options(window=window)))
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    return report


def test_a_window_is_the_same_exact_span_for_every_unit(tmp_path: Path) -> None:
    report = windowed(two_units(), tmp_path, "0:20000000")
    assert [u.window.edges_ns for u in report.units if u.window] == [[(0, 20 * MS)]] * 2
    assert [u.budget.device_busy.mean_ms for u in report.units if u.budget] == [2.0, 1.0]


def test_a_unit_without_an_op_in_the_window_is_not_called_idle(tmp_path: Path) -> None:
    report = windowed(two_units(), tmp_path, "1000000:3000000")
    a, b = report.units
    assert a.budget is not None
    assert (b.status, b.budget, b.window) == ("failed", None, None)
    assert "whether its device was idle then or not captured is unknown" in (b.error or "")
    assert f"its ops lie in {11 * MS}:{12 * MS} ns" in (b.error or "")
    assert any(e.path == "units[1]" and e.reason == b.error for e in report.unavailable)
    assert report.capture.ranks_captured == 1


@pytest.mark.parametrize("window", ["20000000:30000000", "-5000:0", "12000000:13000000", "4000000:5000000"])
def test_a_window_without_any_op_is_refused(window: str, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="no device op lies in") as told:
        windowed(two_units(), tmp_path, window)
    assert told.value.remedy == "Device ops lie in 1000000:12000000 ns of the report's axis."


def test_a_window_beyond_the_capture_says_that_its_idle_time_may_be_none(tmp_path: Path) -> None:
    report = windowed(two_units(), tmp_path, "0:2000000")
    (warning,) = [w for w in report.capture.warnings if w.source == "critpath"]
    assert "may not have been captured" in warning.text
    assert f"process {PID}, device 0" in warning.text


def test_a_window_inside_the_capture_needs_no_warning(tmp_path: Path) -> None:
    assert windowed(two_units(), tmp_path, "1500000:2500000").capture.warnings == []


@pytest.mark.parametrize("start", [1_500_000, 2_000_000 - 1])
def test_an_op_that_straddles_the_windows_edge_counts_with_its_part(start: int, tmp_path: Path) -> None:
    export = Export()
    export.launched(1 * MS, 2 * MS, corr=1)
    export.launched(4 * MS, 6 * MS, corr=2)
    (unit,) = windowed(export, tmp_path, f"{start}:5000000").units
    assert unit.budget is not None
    assert unit.budget.device_busy.mean_ms == (2 * MS - start + MS) / MS
    assert unit.work_volume is not None
    assert unit.work_volume.kernels == 1


def test_an_op_of_no_length_inside_the_window_is_an_op(tmp_path: Path) -> None:
    export = Export()
    export.launched(1 * MS, 2 * MS, corr=1)
    export.launched(5 * MS, 5 * MS, corr=2)
    (unit,) = windowed(export, tmp_path, "4000000:6000000").units
    assert unit.budget is not None
    assert unit.budget.device_busy.mean_ms == 0.0
    assert unit.work_volume is not None
    assert unit.work_volume.kernels == 1


@pytest.mark.parametrize("window", ["", "5", "a:b", "5:5", "9:3", "1.5:2", "0:4611686018427387904", "1:2:3"])
def test_what_is_no_span_is_refused(window: str) -> None:
    with pytest.raises(OptionError, match="no span of time"):
        step_options(window=window)


@pytest.mark.parametrize("step", ["(", "[a", "*"])
def test_what_is_no_expression_is_refused_with_an_example(step: str) -> None:
    with pytest.raises(OptionError, match="no regular expression") as told:
        step_options(step=step)
    assert "iteration" in told.value.remedy


def test_a_step_and_a_window_contradict_each_other() -> None:
    with pytest.raises(OptionError, match="both a step and a window"):
        step_options(step="a", window="1:2")


def stepped(texts: list[str]) -> Export:
    export = Export()
    for i, text in enumerate(texts):
        begin = (i + 1) * 10 * MS
        export.nvtx(begin, begin + 9 * MS, text)
        export.launched(begin + MS, begin + 2 * MS, corr=i + 1)
    return export


def test_a_step_that_matches_nothing_names_the_ranges_there_are(tmp_path: Path) -> None:
    path = stepped([f"iteration {i}" for i in range(4)] + ["warm-up", "x" * 100]).write(tmp_path / "a.sqlite")
    with pytest.raises(SelectionError, match="no NVTX range that launched compute work matches 'step'") as told:
        analyze([path], Options(step=step_options(step="step")))
    assert "Ranges here are 'iteration 0', 'warm-up', '" + "x" * 60 + "…'" in told.value.remedy


def test_a_step_must_match_the_whole_text(tmp_path: Path) -> None:
    path = stepped(["iteration 0", "iteration 1", "iteration 2"]).write(tmp_path / "a.sqlite")
    with pytest.raises(SelectionError):
        analyze([path], Options(step=step_options(step="iteration")))
    report = analyze([path], Options(step=step_options(step=r"iteration \d+")))
    assert report.units[0].window is not None
    assert report.units[0].window.anchor.kind == "nvtx"
    # quoted as it was typed, so that it can be copied
    assert report.workload.step_definition.startswith(r"nvtx 'iteration \d+', from")


def test_a_step_whose_ranges_match_and_give_no_window_is_not_told_that_none_matches(tmp_path: Path) -> None:
    export = Export()
    for i in range(6):
        export.nvtx((i + 1) * 10 * MS, (i + 1) * 10 * MS + 9 * MS, f"iteration {i}")
        if i % 2 == 0:
            export.launched((i + 1) * 10 * MS + MS, (i + 1) * 10 * MS + 2 * MS, corr=i + 1)
    path = export.write(tmp_path / "a.sqlite")
    with pytest.raises(SelectionError, match=r"that match 'iteration \\d\+', no two in a row launched compute work"):
        analyze([path], Options(step=step_options(step=r"iteration \d+")))


def test_a_step_without_any_range_says_how_to_have_them(tmp_path: Path) -> None:
    export = Export()
    export.launched(MS, 2 * MS, corr=1)
    with pytest.raises(SelectionError) as told:
        analyze([export.write(tmp_path / "a.sqlite")], Options(step=step_options(step="step")))
    assert "--trace=cuda,nvtx" in told.value.remedy


def test_a_unit_without_the_step_is_a_failed_row_beside_the_others(tmp_path: Path) -> None:
    export = stepped(["step 0", "step 1", "step 2"])
    export.launched(11 * MS, 12 * MS, corr=1, pid=4343)
    report = analyze([export.write(tmp_path / "a.sqlite")], Options(step=step_options(step=r"step \d")))
    assert [u.status for u in report.units] == ["ok", "failed"]
    assert "no NVTX range of this unit matches" in (report.units[1].error or "")
    assert violations(report) == []
    assert unexplained_nulls(report) == []
