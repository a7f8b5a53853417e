"""The command line: exit codes, what goes where, and that every command explains itself."""

from __future__ import annotations

import inspect
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from critpath import __version__
from critpath.adapters import cli
from critpath.adapters.cli import COMMANDS, run
from critpath.sim import simulate
from exports import Export

SCHEMA = Path(__file__).resolve().parents[2] / "schema/report-v1.schema.json"
MS = 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    export = Export()
    for i in range(6):
        export.nvtx((i + 1) * 10 * MS, (i + 1) * 10 * MS + 9 * MS, f"iteration {i}")
        export.launched((i + 1) * 10 * MS + MS, (i + 1) * 10 * MS + 5 * MS, corr=i + 1)
    return export.write(tmp_path / "rank0.sqlite")


Capsys = pytest.CaptureFixture[str]


def test_a_report_goes_to_stdout_and_nothing_to_stderr(path: Path, capsys: Capsys) -> None:
    assert run(["analyze", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Verdict")
    assert err == ""


def test_json_is_one_document_that_the_schema_describes(path: Path, capsys: Capsys) -> None:
    assert run(["analyze", str(path), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    jsonschema.validate(json.loads(out), json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert err == ""


@pytest.mark.parametrize("words", [["--window", "0:50000000"], ["--step", r"iteration \d"], ["--scope", "range"]])
def test_json_of_any_window_is_valid(words: list[str], path: Path, capsys: Capsys) -> None:
    assert run(["analyze", str(path), "--format", "json", *words]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_json_of_a_simulated_job_is_valid(tmp_path: Path, capsys: Capsys) -> None:
    exports = simulate("data_parallel", tmp_path, ranks=2).exports
    assert run(["analyze", *map(str, exports), "--format", "json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_out_holds_what_json_prints_and_nothing_is_written_elsewhere(
    path: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    before = {p for p in tmp_path.rglob("*") if p != here}
    assert run(["analyze", str(path), "--format", "json", "--out", str(tmp_path / "deep/out")]) == 0
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p not in before and p != here}
    assert {"deep", "deep/out", "deep/out/report.json"} <= written
    assert all(name == "deep" or name.startswith("deep/out") for name in written)
    assert (tmp_path / "deep/out/report.json").read_text(encoding="utf-8") == capsys.readouterr().out


def test_out_that_is_a_file_is_told(path: Path, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert run(["analyze", str(path), "--out", str(tmp_path / "file")]) == 2
    assert "can't be written" in capsys.readouterr().err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_one_broken_input_of_two_is_no_failure_unless_strict(path: Path, tmp_path: Path, capsys: Capsys) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"SQLite format 3\x00")
    assert run(["analyze", str(broken), str(path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "cut short inside SQLite's header. It holds no complete Nsight Systems export" in told
    assert run(["analyze", str(broken), str(path), "--strict"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "cut short" in err


REFUSED = {
    "no such command": (["analyse", "x"], 'Did you mean "analyze"?'),
    "no such option": (["analyze", "x", "--frmat", "json"], "Did you mean --format?"),
    "no such format": (["analyze", "x", "--format", "xml"], '"text"'),
    "no input": (["analyze"], "no input was named"),
    "no such scenario": (["demo", "--scenario", "data_paralel"], "Did you mean data_parallel"),
    "no such generation": (["simulate", "data_parallel", "--out", "x", "--generation", "2026"], "2026.2"),
    "no such guard": (["explain", "P77"], "Did you mean"),
    "no such term": (["explain", "launch starve"], "launch-starved"),
    "no such file": (["analyze", "no_such.sqlite"], "there is no such file"),
    "no span": (["analyze", "x", "--window", "5"], "no span of time"),
    "no expression": (["analyze", "x", "--step", "("], "no regular expression"),
    "no ranks": (["demo", "--ranks", "0"], "ranks"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_run_says_what_was_meant(
    case: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, hint = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert hint in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("window", ["900000000:990000000", "-900000000:-800000000"])
def test_a_window_outside_the_capture_is_refused(window: str, path: Path, capsys: Capsys) -> None:
    assert run(["analyze", str(path), f"--window={window}"]) == 2
    assert "Device ops lie in 11000000:65000000 ns" in capsys.readouterr().err


def test_a_step_that_matches_nothing_is_refused_with_the_ranges_there_are(path: Path, capsys: Capsys) -> None:
    assert run(["analyze", str(path), "--step", "training"]) == 2
    assert "'iteration 0'" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.__name__)
def test_every_command_has_help_with_each_of_its_options(command: Callable[..., int], capsys: Capsys) -> None:
    assert run([command.__name__, "--help"]) == 0
    out, err = capsys.readouterr()
    assert f"critpath {command.__name__}" in out
    assert err == ""
    told = inspect.getdoc(command) or ""
    assert all(f"\n    {name}: " in told for name in inspect.signature(command).parameters)


def test_the_overview_names_every_command(capsys: Capsys) -> None:
    assert run([]) == 0
    overview = capsys.readouterr().out
    assert all(c.__name__ in overview for c in COMMANDS)


def test_the_version_is_printed(capsys: Capsys) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_a_message_shows_no_control_characters_of_foreign_text(capsys: Capsys) -> None:
    assert run(["analyze", "\x1b[31mred\x07.sqlite"]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\x07" not in err
    assert err.count("\n") == 3


def test_a_fault_of_our_own_is_told_as_one(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", fault)
    assert run(["demo"]) == 2
    assert "a fault of critpath" in capsys.readouterr().err


def test_an_interruption_is_no_fault(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert run(["demo"]) == 2
    assert capsys.readouterr().err == "critpath: interrupted\n"


def in_shell(script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = ["bash", "-c", f"set -o pipefail; {script}", "bash", sys.executable, *words]
    return subprocess.run(command, capture_output=True, check=False, env={"PATH": "/usr/bin:/bin"} | environment)  # noqa: S603


CRITPATH = '"$1" -m critpath.adapters.cli'


@pytest.mark.parametrize("command", ["schema", 'analyze "$2"'])
def test_a_reader_that_has_enough_is_no_fault(command: str, path: Path) -> None:
    done = in_shell(f"{CRITPATH} {command} | head -n 1", str(path))
    assert done.stderr == b""
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1


def test_a_closed_reader_of_little_output_is_no_fault() -> None:
    done = in_shell(f"{CRITPATH} --version | true")
    assert (done.stderr, done.returncode) == (b"", 0)


@pytest.mark.parametrize("words", ["", "--format json"])
def test_an_ascii_terminal_is_no_obstacle(words: str, path: Path) -> None:
    done = in_shell(f'{CRITPATH} analyze "$2" {words}', str(path), PYTHONIOENCODING="ascii")
    assert (done.stderr, done.returncode) == (b"", 0)
    io.TextIOWrapper(io.BytesIO(done.stdout), encoding="utf-8", errors="strict").read()


def test_a_demo_keeps_nothing_unless_told(tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--ranks", "2"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Verdict")
    assert "Simulated data_parallel" in err
    assert list(tmp_path.iterdir()) == []


def test_simulate_prints_the_exports_it_wrote(tmp_path: Path, capsys: Capsys) -> None:
    assert run(["simulate", "data_parallel", "--ranks", "2", "--out", str(tmp_path)]) == 0
    printed = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert len(printed) == 2
    assert all(p.is_file() and p.parent == tmp_path for p in printed)
