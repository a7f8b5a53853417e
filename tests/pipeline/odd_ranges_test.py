"""Ranges and launches of odd shape, in whole reports."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from critpath.model.report import Unit, unexplained_nulls, violations
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, step_options
from critpath.rank.windows import Windows
from exports import PID, Export, tid

US = 1_000


def units(export: Export, folder: Path, **options: str) -> list[Unit]:
    report = analyze([export.write(folder / "odd.sqlite")], Options(step=step_options(**options)))
    assert violations(report) == []
    assert unexplained_nulls(report) == []
    return report.units


def paced(unit: Unit) -> dict[str, tuple[str, int]]:
    assert unit.nvtx is not None
    return {row.name: (row.path, row.instances) for row in unit.nvtx.ranges}


def test_a_thread_whose_only_range_opens_at_the_very_end(tmp_path: Path) -> None:
    export = Export()
    for i in (1, 2, 3):
        export.launched(100_000 * i, 100_000 * i + 50_000, corr=i)
    export.nvtx(900_000, None, "shutdown")
    (unit,) = units(export, tmp_path)
    assert unit.nvtx is None or unit.nvtx.ranges == []


def test_an_unclosed_range_lasts_as_long_as_anything_is_known(tmp_path: Path) -> None:
    export = Export()
    export.launched(100 * US, 800 * US, corr=1)
    export.nvtx(90 * US, 900 * US, "whole")
    export.nvtx(400 * US, None, "open", globalTid=tid(PID, 9))
    (unit,) = units(export, tmp_path, window=f"{100 * US}:{900 * US}")
    assert unit.nvtx is not None
    assert {row.path: row.host_ms for row in unit.nvtx.host_only} == {"open": pytest.approx(0.5)}


def test_a_place_called_rest_keeps_the_sum(tmp_path: Path) -> None:
    export = Export()
    for i in range(40):
        t = (100 + 10 * i) * US
        export.call(t, t + US, corr=i + 1)
        export.kernel((1000 + 100 * i) * US, (1000 + 100 * i + 60 + i) * US, corr=i + 1)
        export.nvtx(t - US, t + 2 * US, "rest" if i == 35 else f"p{chr(97 + i // 26)}{chr(97 + i % 26)}")
    (unit,) = units(export, tmp_path, window=f"{1000 * US}:{5000 * US}")
    assert unit.critical_path is not None
    assert unit.critical_path.by_place is not None
    assert sum(unit.critical_path.by_place.values()) == pytest.approx(4.0)
    assert "rest" in unit.critical_path.by_place


def test_a_path_is_that_of_most_instances(tmp_path: Path) -> None:
    export, corr = Export(), 0
    t = 100 * US
    for outer, times in (("warmup", 1), ("train", 5)):
        for _ in range(times):
            corr += 1
            export.launched(t + 20 * US, t + 60 * US, corr=corr)
            for depth, name in enumerate((outer, "layer", "attn")):
                export.nvtx(t + depth * US, t + (80 - 10 * depth) * US, name)
            t += 100 * US
    (unit,) = units(export, tmp_path, window=f"{100 * US}:{t}")
    assert paced(unit)["attn"] == ("train > layer > attn", 6)


def test_a_host_ranges_path_is_that_in_the_windows(tmp_path: Path) -> None:
    export = Export()
    t = 100 * US
    for i, outer in enumerate(("warm", "warm", "warm", "train")):
        export.launched(t + 20 * US, t + 60 * US, corr=i + 1)
        export.nvtx(t, t + 80 * US, outer)
        export.nvtx(t + 40 * US, t + 70 * US, "load")
        t += 100 * US
    (unit,) = units(export, tmp_path, window=f"{t - 100 * US}:{t}")
    assert unit.nvtx is not None
    assert [(row.path, row.instances) for row in unit.nvtx.host_only] == [("train > load", 1)]


def test_names_without_time_in_the_windows_are_not_left_out(tmp_path: Path) -> None:
    export = Export()
    for i, (called, start, end, stream) in enumerate([(10, 20, 100, 7), (12, 500, 600, 7), (14, 200, 300, 8)]):
        export.call(called * US, (called + 1) * US, corr=i + 1)
        export.kernel(start * US, end * US, corr=i + 1, streamId=stream)
    export.nvtx(9 * US, 14 * US, "ends")
    export.nvtx(14 * US, 20 * US, "middle")
    (unit,) = units(export, tmp_path, window=f"{150 * US}:{400 * US}")
    assert list(paced(unit)) == ["middle"]
    assert unit.nvtx is not None
    assert unit.nvtx.ranges_left_out == 0


def test_without_ranges_there_is_no_place(tmp_path: Path) -> None:
    export = Export()
    for i in range(5):
        export.launched((i + 1) * 100 * US, (i + 1) * 100 * US + 50 * US, corr=i + 1)
    (unit,) = units(export, tmp_path)
    assert unit.critical_path is not None
    assert unit.critical_path.by_place is None


def test_ranges_of_another_devices_thread_are_not_told(tmp_path: Path) -> None:
    export, corr = Export(), 0
    for i in range(4):
        for device in (0, 1):
            t, corr = (i + 1) * 100 * US, corr + 1
            thread = tid(PID) if device == 0 else tid(PID, 9)
            export.call(t, t + 2 * US, corr=corr, globalTid=thread)
            export.kernel(t + 10 * US, t + 60 * US, corr=corr, deviceId=device, contextId=device + 1)
            export.nvtx(t - US, t + 5 * US, f"fwd{'AB'[device]}", globalTid=thread)
    for unit, name in zip(units(export, tmp_path, window=f"0:{600 * US}"), ("fwdA", "fwdB"), strict=True):
        assert list(paced(unit)) == [name]
        assert unit.nvtx is not None
        assert unit.nvtx.host_only == []


def test_a_graph_with_several_roots_is_launched_once(tmp_path: Path) -> None:
    export = Export()
    export.call(100 * US, 110 * US, corr=5, name="cudaGraphLaunch_v10000")
    for stream in (7, 8, 9):
        export.kernel(150 * US, 180 * US, corr=5, streamId=stream, graphNodeId=10 + stream)
    export.kernel(190 * US, 199 * US, corr=5, graphNodeId=20)
    (unit,) = units(export, tmp_path, window=f"0:{300 * US}")
    assert unit.launches is not None
    assert (unit.launches.delay.n, unit.launches.queue.most) == (1, 1)
    assert unit.launches.queue.mean == pytest.approx(1 / 6)


def test_an_instant_in_nested_windows_lies_in_the_one_that_lasts() -> None:
    starts = np.array([100, 200, 450], np.int64)
    windows = Windows("nvtx", "step", "range", ("a", "b", "c"), np.arange(3), starts, np.array([505, 400, 480]), starts)
    at = np.array([50, 100, 200, 399, 400, 450, 480, 500, 505, 900], np.int64)
    assert windows.of(at).tolist() == [-1, 0, 1, 1, 0, 2, 0, 0, -1, -1]


def test_one_text_under_two_ids_is_one_kernel(tmp_path: Path) -> None:
    export = Export()
    for i in range(4):
        export.launched((i + 1) * 100 * US, (i + 1) * 100 * US + 5 * US, corr=i + 1)
    path = export.write(tmp_path / "odd.sqlite")
    with sqlite3.connect(path) as database:
        (gemm,) = database.execute("SELECT id FROM StringIds WHERE value = 'gemm'").fetchone()
        database.execute("INSERT INTO StringIds VALUES (9999, 'gemm')")
        database.execute(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 9999"
            f" WHERE demangledName = {gemm} AND start > 250000"
        )
    (unit,) = analyze([path]).units
    assert unit.launches is not None
    assert [(row.name, row.count) for row in unit.launches.short_kernels.top] == [("gemm", 4)]
