import os
import sqlite3
from concurrent.futures import BrokenExecutor, Executor
from pathlib import Path

import polars as pl
import pytest
from distributed import LocalCluster

from critpath.adapters.cli import run
from critpath.adapters.executors import ProcessSlots, executor
from critpath.base.errors import InputError, OptionError
from critpath.ingest.source import find_inputs
from critpath.pipeline.analyze import Analysis, analysis
from critpath.pipeline.mapping import MapSettings, Progress
from critpath.pipeline.options import Options
from critpath.pipeline.summary_cache import SummaryCache
from critpath.sim.simulation import simulate


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return list(simulate("straggler", tmp_path_factory.mktemp("straggler"), ranks=4, steps=3, layers=2).exports)


def rows(made: Analysis) -> dict[str, pl.DataFrame]:
    return {name: frame.collect() for name, frame in made.frames.items()}


def test_every_executor_makes_the_same_report_and_frames(exports: list[Path]) -> None:
    options = Options(frames=True)
    serial = analysis(exports, options)
    with executor("processes:2", inputs=4) as pool:
        processes = analysis(exports, options, MapSettings(executor=pool))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        executor(f"dask://{cluster.scheduler_address.removeprefix('tcp://')}", inputs=4) as pool,
    ):
        dask = analysis(exports, options, MapSettings(executor=pool))
    for other in (processes, dask):
        assert other.report.to_json() == serial.report.to_json()
        assert list(other.frames) == list(serial.frames)
        assert all(rows(other)[name].equals(frame) for name, frame in rows(serial).items())


def test_a_few_inputs_go_to_processes_only_where_there_are_several(exports: list[Path]) -> None:
    with executor(None, inputs=1) as workers:
        assert workers is None
    with executor("serial", inputs=8) as workers:
        assert workers is None
    with executor("processes:2", inputs=8) as workers:
        assert isinstance(workers, ProcessSlots)


@pytest.mark.parametrize("name", ["threads", "processes:0", "processes:x", "processes:9999", "dask://", "dask://a b:1"])
def test_an_unknown_executor_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(OptionError) as caught, executor(name, inputs=2):
        pass
    assert "serial, processes:N, or dask://HOST:PORT" in caught.value.remedy


def test_a_scheduler_that_isnt_there_is_a_clear_error(
    exports: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("critpath.adapters.executors._DASK_TIMEOUT_S", 1)
    assert run(["analyze", str(exports[0]), "--executor", "dask://127.0.0.1:9"]) == 2
    told = capsys.readouterr().err
    assert "no Dask scheduler answers there within 1 s" in told
    assert "Start one (dask scheduler, dask worker), check the address" in told


def test_a_process_that_dies_takes_no_other_work_along() -> None:
    with ProcessSlots(2) as pool:
        futures = [pool.submit(os._exit, 9) if i == 1 else pool.submit(len, "x" * i) for i in range(5)]
        with pytest.raises(BrokenExecutor):
            futures[1].result()
        assert [f.result() for i, f in enumerate(futures) if i != 1] == [0, 2, 3, 4]


class Deadly(ProcessSlots):
    """Kills the worker that has the second input."""

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        if args[1] == 1:
            return super().submit(os._exit, 9)
        return super().submit(fn, *args, **kwargs)


def test_a_dead_worker_is_a_row_and_the_next_run_completes(exports: list[Path], tmp_path: Path) -> None:
    told: list[Progress] = []
    with Deadly(2) as pool:
        first = analysis(exports, Options(frames=True), MapSettings(pool, tmp_path, told.append))
    assert [row.status for row in first.report.inputs] == ["ok", "failed", "ok", "ok"]
    assert "the worker that analysed it died" in str(first.report.inputs[1].error)
    assert told[-1] == Progress(4, 1, 4)
    done = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.summary")}
    assert len(done) == 3
    again = analysis(exports, Options(frames=True), MapSettings(None, tmp_path))
    assert all(path.stat().st_mtime_ns == time for path, time in done.items())
    whole = analysis(exports, Options(frames=True))
    assert again.report.to_json() == whole.report.to_json()
    assert all(rows(again)[name].equals(frame) for name, frame in rows(whole).items())


def test_strict_stops_at_a_dead_worker(exports: list[Path]) -> None:
    with Deadly(2) as pool, pytest.raises(InputError, match="worker that analysed it died"):
        analysis(exports, Options(strict=True), MapSettings(pool))


def test_an_executor_that_takes_nothing_any_more_fails_each_input(exports: list[Path]) -> None:
    class Shut(Executor):
        def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
            raise BrokenExecutor("shut")

    with pytest.raises(InputError, match="died: shut"):
        analysis(exports, Options(), MapSettings(Shut()))


def test_what_changed_is_made_again(exports: list[Path], tmp_path: Path) -> None:
    (export,) = find_inputs([str(exports[0])])
    cache, options = SummaryCache(tmp_path), Options()
    analysis([export], options, MapSettings(cache=tmp_path))
    assert cache.load(export, 0, options) is not None
    assert cache.load(export, 1, options) is None
    assert cache.load(export, 0, Options(frames=True)) is None
    before = export.path.stat()
    os.utime(export.path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert cache.load(export, 0, options) is None
    os.utime(export.path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_damaged_and_foreign_summaries_are_made_again(exports: list[Path], tmp_path: Path) -> None:
    (export,) = find_inputs([str(exports[0])])
    whole = analysis([export], None, MapSettings(cache=tmp_path)).report.to_json()
    (kept,) = tmp_path.glob("*.summary")
    mark = tmp_path / "mark"
    call = b"cos\nsystem\n(S'touch " + str(mark).encode() + b"'\ntR."
    for content in (b"", kept.read_bytes()[:200], b"nonsense", call):
        kept.write_bytes(content)
        assert analysis([export], None, MapSettings(cache=tmp_path)).report.to_json() == whole
    assert not mark.exists()


def test_a_cached_run_keeps_the_input_untouched(exports: list[Path], tmp_path: Path) -> None:
    beside = sorted(exports[0].parent.iterdir())
    assert run(["analyze", *map(str, exports), "--out", str(tmp_path), "--executor", "processes:2"]) == 0
    assert sorted(exports[0].parent.iterdir()) == beside
    assert len(list((tmp_path / "summaries").glob("*.summary"))) == 4
    with sqlite3.connect(exports[0]) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
