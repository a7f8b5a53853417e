"""Ranks, parts and hosts that the user states, against what the capture states and against each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from critpath.base.errors import OptionError
from critpath.ingest.manifest import read_manifest
from critpath.model.report import Report
from critpath.pipeline.analyze import analyze
from critpath.pipeline.options import Options, rank_regex
from exports import Export

Told = list[tuple[int | None, str, str | None, str | None]]


def export(path: Path, *, pids: tuple[int, ...] = (111,), devices: int = 1, rank: int | None = None) -> Path:
    made = Export()
    for pid in pids:
        for device in range(devices):
            corr = 10 * pid + device
            made.launched(1_000_000, 2_000_000, corr=corr, pid=pid, deviceId=device, contextId=device + 1)
    if rank is not None:
        made.environment(RANK=str(rank), WORLD_SIZE="64")
    return made.write(path)


def told(report: Report) -> Told:
    return [(unit.rank, unit.rank_source, unit.part, unit.host) for unit in report.units]


def with_manifest(folder: Path, text: str, *inputs: Path, names: str | None = None) -> Report:
    (folder / "job.toml").write_text(text)
    return analyze(inputs, Options(manifest=read_manifest(folder / "job.toml"), rank_regex=rank_regex(names)))


def test_a_row_states_rank_part_and_host_of_its_input(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite")
    text = "[[report]]\npath = 'a.sqlite'\nrank = 5\npart = 'stage0'\nhost = 'node7'"
    assert told(with_manifest(tmp_path, text, path)) == [(5, "manifest", "stage0", "node7")]


def test_the_row_of_another_input_says_nothing(tmp_path: Path) -> None:
    first, _ = export(tmp_path / "a.sqlite"), export(tmp_path / "b.sqlite")
    text = "[[report]]\npath = 'b.sqlite'\nrank = 5"
    assert told(with_manifest(tmp_path, text, first)) == [(None, "unknown", None, None)]


def test_a_row_finds_its_input_under_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(tmp_path / "a.sqlite")
    (tmp_path / "link.sqlite").symlink_to("a.sqlite")
    monkeypatch.chdir(tmp_path)
    text = "[[report]]\npath = 'link.sqlite'\nrank = 5"
    assert told(with_manifest(tmp_path, text, Path("a.sqlite"))) == [(5, "manifest", None, None)]


def test_without_inputs_the_rows_are_the_inputs(tmp_path: Path) -> None:
    export(tmp_path / "a.sqlite")
    export(tmp_path / "b.sqlite", pids=(222,))
    text = "[[report]]\npath = 'b.sqlite'\nrank = 1\n[[report]]\npath = 'a.sqlite'\nrank = 0"
    report = with_manifest(tmp_path, text)
    assert [Path(given.path).name for given in report.inputs] == ["b.sqlite", "a.sqlite"]
    assert [unit.rank for unit in report.units] == [1, 0]


def test_rows_of_one_input_tell_its_processes_apart(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", pids=(111, 222))
    text = "[[report]]\npath = 'a.sqlite'\npid = 222\nrank = 0\n[[report]]\npath = 'a.sqlite'\npid = 111\nrank = 1"
    assert told(with_manifest(tmp_path, text, path)) == [(1, "manifest", None, None), (0, "manifest", None, None)]


def test_rows_of_one_input_tell_its_devices_apart(tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", devices=2)
    text = "[[report]]\npath = 'a.sqlite'\ndevice = 1\nrank = 7\n[[report]]\npath = 'a.sqlite'\nhost = 'n'"
    assert told(with_manifest(tmp_path, text, path)) == [(None, "unknown", None, "n"), (7, "manifest", None, "n")]


REFUSED = [
    ("pid = 9\nrank = 0", "holds no unit of pid 9", "pid 111 device 0, pid 111 device 1, pid 222 device 0"),
    ("pid = 111\ndevice = 5\nrank = 0", "holds no unit of pid 111 device 5", "pid 222 device 1"),
    ("device = 5\npart = 'x'", "holds no unit of device 5", "pid 111 device 0"),
    ("rank = 0", "rank 0 is given to 4 units", "pid 111 device 0"),
    ("device = 0\nrank = 0", "rank 0 is given to 2 units", "pid 222 device 0"),
    ("pid = 111\npart = 'x'\n[[report]]\npath = 'a.sqlite'\npart = 'y'", "part y contradicts part x", "Leave one"),
    (
        "pid = 111\ndevice = 0\nrank = 0\n[[report]]\npath = 'a.sqlite'\ndevice = 0\npid = 0x6f\npart = 'y'",
        "is told of twice",
        "Correct",
    ),
]


@pytest.mark.parametrize(("row", "what", "remedy"), REFUSED)
def test_a_row_that_cant_be_true_of_its_input_is_refused(row: str, what: str, remedy: str, tmp_path: Path) -> None:
    path = export(tmp_path / "a.sqlite", pids=(111, 222), devices=2)
    with pytest.raises(OptionError) as fault:
        with_manifest(tmp_path, f"[[report]]\npath = 'a.sqlite'\n{row}", path)
    assert what in fault.value.what
    assert remedy in fault.value.remedy
    assert "job.toml, line" in fault.value.where


def test_a_process_without_device_rows_is_there(tmp_path: Path) -> None:
    made = Export()
    made.launched(1_000_000, 2_000_000, corr=1, pid=111)
    made.call(1_000, 2_000, corr=2, pid=222)
    path = made.write(tmp_path / "a.sqlite")
    assert told(with_manifest(tmp_path, "[[report]]\npath = 'a.sqlite'\npid = 222\nrank = 3", path))[0][0] is None


def test_an_unreadable_report_of_the_manifest_is_a_failed_row(tmp_path: Path) -> None:
    export(tmp_path / "a.sqlite")
    (tmp_path / "b.sqlite").write_bytes(b"damaged")
    report = with_manifest(tmp_path, "[[report]]\npath='a.sqlite'\nrank=0\n[[report]]\npath='b.sqlite'\nrank=1\npid=1")
    assert [given.status for given in report.inputs] == ["ok", "failed"]


def test_the_manifest_wins_over_names_and_those_over_the_capture(tmp_path: Path) -> None:
    paths = [export(tmp_path / f"r{i}.sqlite", pids=(i + 100,), rank=50 + i) for i in range(3)]
    text = "[[report]]\npath = 'r0.sqlite'\nrank = 9"
    assert [t[:2] for t in told(with_manifest(tmp_path, text, *paths))] == [
        (9, "manifest"),
        (51, "environment"),
        (52, "environment"),
    ]
    assert [t[:2] for t in told(with_manifest(tmp_path, text, *paths, names=r"r(\d)"))] == [
        (9, "manifest"),
        (1, "rank-regex"),
        (2, "rank-regex"),
    ]


def test_a_rank_in_a_name_is_that_of_a_sole_unit_only(tmp_path: Path) -> None:
    paths = [export(tmp_path / "r0.sqlite", devices=2), export(tmp_path / "r1.sqlite", pids=(222,))]
    report = analyze(paths, Options(rank_regex=rank_regex(r"r(\d)")))
    assert [unit.rank for unit in report.units] == [None, None, 1]


def test_without_an_expression_a_name_says_nothing(tmp_path: Path) -> None:
    assert analyze([export(tmp_path / "rank0.sqlite")]).units[0].rank is None


@pytest.mark.parametrize("text", [r"(?P<rank>\d+)", r"(node)(?P<rank>\d+)", r"e(\d+)\."])
def test_the_group_named_rank_or_the_only_one_is_the_rank(text: str, tmp_path: Path) -> None:
    path = export(tmp_path / "node0012.sqlite")
    assert analyze([path], Options(rank_regex=rank_regex(text))).units[0].rank == 12


@pytest.mark.parametrize("text", [r"\d+", r"(a)(b)", r"("])
def test_an_expression_that_doesnt_say_where_the_rank_is_is_refused(text: str) -> None:
    with pytest.raises(OptionError) as fault:
        rank_regex(text)
    assert fault.value.where == "--rank-regex"


def test_an_expression_that_matches_no_name_is_refused_before_reading(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="matches no input's name") as fault:
        analyze([tmp_path / "missing.sqlite"], Options(rank_regex=re.compile(r"rank(\d+)")))
    assert fault.value.remedy == "Names are: missing.sqlite"


def test_what_an_expression_finds_must_be_a_number(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"finds 'x' in ax\.sqlite, which is no rank"):
        analyze([export(tmp_path / "ax.sqlite")], Options(rank_regex=re.compile(r"a(.)")))


def test_a_rank_stated_twice_stays_with_the_better_source(tmp_path: Path) -> None:
    stated, other = export(tmp_path / "a.sqlite", rank=0), export(tmp_path / "b.sqlite", pids=(222,))
    report = with_manifest(tmp_path, "[[report]]\npath = 'b.sqlite'\nrank = 0", stated, other)
    assert [t[:2] for t in told(report)] == [(None, "unknown"), (0, "manifest")]
    assert [u.reason for u in report.unavailable if u.path == "units[0].rank"] == [
        "environment states rank 0, which u1 states too; which is believed more"
    ]


def test_of_two_equal_statements_neither_is_believed(tmp_path: Path) -> None:
    paths = [export(tmp_path / "a.sqlite", rank=0), export(tmp_path / "b.sqlite", pids=(222,), rank=0)]
    report = analyze(paths)
    assert [unit.rank for unit in report.units] == [None, None]
    assert [u.reason for u in report.unavailable if u.path == "units[1].rank"] == [
        "environment states rank 0, which u0 states too; neither is believed"
    ]
