"""What the owners of real captures are told, and that it fits the page."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len

from critpath.adapters.cli import run
from critpath.base.errors import InputError
from critpath.ingest.source import find_inputs
from critpath.model.doctor import Doctor, doctor_schema
from critpath.pipeline.doctor import examine
from critpath.render.doctor import doctor_text
from critpath.render.plain import WIDTH
from critpath.sim import simulate
from real_exports import FOLDER, needs_real_exports


def examined(*names: str) -> Doctor:
    paths = [next(FOLDER.glob(f"{name}*.sqlite")) for name in names]
    return examine(find_inputs([str(p) for p in paths]))


@cache
def page(name: str) -> str:
    """The page of a real export with its lines joined, so that sentences can be looked for."""
    return " ".join(doctor_text(examined(name)).split())


def verdicts(doctor: Doctor, place: int = 0) -> dict[str, str]:
    return {a.claim: a.verdict for a in doctor.inputs[place].answers}


ESSENTIAL = {
    "gemm_incomplete": (
        "not one device op: whether a device worked is unknown, and none was thereby idle",
        "the program was still running when the session ended",
        "--capture-range=cudaProfilerApi --capture-range-end=stop",
        "use an Nsight Systems release at least as new as the driver",
    ),
    "no_cuda_badutf8": (
        "No CUDA activity was captured: neither API calls nor device ops",
        "nothing is said of any device, and none was thereby idle",
    ),
    "premeta_C": (
        "by an nsys of unknown version",
        "The export holds no messages of the profiler, so their absence proves nothing",
        "--trace=cuda,nvtx",
    ),
    "torch_tiny": (
        "1 of 1 processes with CUDA calls left device rows",
        "Nothing says that records are missing; nothing can prove it",
        "Migrations of managed memory leave no rows",
    ),
    "uvm": ("It tells as far as any capture can", "Migrations of managed memory"),
    "mfu_2gpu_before": (
        "333 of 333 waits for CUDA events have no record row",
        "NVTX payloads were declared and not exported",
        "--type sqlite --include-blobs=true the report already holds the payloads; no new capture is needed",
        "--cuda-event-trace=true",
    ),
    "h100": (
        "236 of 236 waits for CUDA events have no record row",
        "1,714 of 3,346 kernel launches come after the last one that has a kernel row",
        "2,276 of 4,368 device ops have no API row",
    ),
    "lm_train_wsl": (
        "Nothing says that records are missing",
        "CPU samples exist for user code only",
        "Which op a wait for a CUDA event was for",
    ),
    "power_iteration": (
        "Records may be missing",
        "Rows of API calls, kernels and copies may be missing; how many is unknown",
    ),
}
UNTRUE = {
    "gemm_incomplete": ("records API calls, kernels, copies and waits",),  # CUDA was traced; that is no remedy
    "mfu_2gpu_before": ("No device op was captured",),
    "lm_train_wsl": ("No CUDA events", "Records may be missing"),  # said of the shell, not of the trainer
    "torch_tiny": ("have no record row",),  # nothing waited for an event
}


@needs_real_exports
@pytest.mark.parametrize("name", ESSENTIAL)
def test_the_owner_of_a_capture_is_told_what_matters(name: str) -> None:
    told = page(name)
    assert [sentence for sentence in ESSENTIAL[name] if sentence not in told] == []
    assert [sentence for sentence in UNTRUE.get(name, ()) if sentence in told] == []


@needs_real_exports
@pytest.mark.parametrize("name", ["mfu_2gpu_before", "h100"])
def test_waits_without_records_are_said_first(name: str) -> None:
    doctor = examined(name)
    assert "waits for CUDA events have no record row" in doctor.inputs[0].first[0]
    told = doctor_text(doctor)
    assert told.index("have no record") < told.index("It can't tell") < told.index("What would mend it")


@needs_real_exports
@pytest.mark.parametrize("name", ESSENTIAL)
def test_a_page_fits_and_ends_with_both_passes(name: str) -> None:
    told = doctor_text(examined(name))
    assert max(map(cell_len, told.splitlines())) <= WIDTH
    assert len(told.splitlines()) <= 120
    assert told.index("the timing pass") < told.index("the dependency pass") < told.index("nsys export --type sqlite")
    assert "/home/" not in told


@needs_real_exports
def test_commands_can_be_copied() -> None:
    told = doctor_text(examined("h100"))
    joined = " ".join(told.replace("\\\n", " ").split())
    for each in examined("h100").passes:
        assert each.command in joined


@needs_real_exports
def test_without_device_rows_only_what_may_bring_them_is_advised() -> None:
    for name in ("gemm_incomplete", "no_cuda_badutf8", "premeta_C"):
        remedies = examined(name).inputs[0].remedies
        claims = {claim for remedy in remedies for claim in remedy.claims}
        assert remedies
        assert claims <= {"device time", "absence of device ops"}


@needs_real_exports
def test_inputs_with_the_same_answers_are_told_once() -> None:
    doctor = examined("mfu_2gpu_before", "mfu_2gpu_after", "lm_train_wsl")
    told = " ".join(doctor_text(doctor).split())
    assert told.count("The same holds for") == 1
    assert told.count("What would mend it") == 2
    assert all(Path(i.path).name in told for i in doctor.inputs)
    assert max(map(cell_len, doctor_text(doctor).splitlines())) <= WIDTH


def test_a_healthy_capture_answers_what_a_timing_pass_can(tmp_path: Path) -> None:
    doctor = examine(find_inputs([str(p) for p in simulate("data_parallel", tmp_path, ranks=2).exports]))
    assert [i.first for i in doctor.inputs] == [[], []]
    for place in (0, 1):
        told = verdicts(doctor, place)
        assert {told[c] for c in ("device time", "launch causes", "producers of event waits", "NVTX anchors")} == {
            "yes"
        }
        assert told["absence of device ops"] == "limited"  # in any capture
    assert "The same holds for" in doctor_text(doctor)


def test_an_unreadable_input_is_a_section_of_its_own(tmp_path: Path) -> None:
    (good,) = simulate("data_parallel", tmp_path / "good", ranks=1).exports
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(b"SQLite format 3\x00")
    doctor = examine(find_inputs([str(bad), str(good)]))
    assert [i.status for i in doctor.inputs] == ["failed", "ok"]
    assert "It can't be read" in doctor.inputs[0].headline
    with pytest.raises(InputError):
        examine(find_inputs([str(bad), str(good)]), strict=True)
    with pytest.raises(InputError):
        examine(find_inputs([str(bad)]))


def test_the_command_gives_text_or_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = simulate("data_parallel", tmp_path, ranks=1).exports
    assert run(["doctor", str(path)]) == 0
    assert "It tells" in capsys.readouterr().out
    assert run(["doctor", str(path), "--format", "json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["schema"] == "critpath.doctor/1"
    jsonschema.validate(values, doctor_schema())
    assert run(["doctor", str(tmp_path / "absent.sqlite")]) == 2


def test_a_name_that_would_move_the_cursor_is_shown_harmless(tmp_path: Path) -> None:
    (path,) = simulate("data_parallel", tmp_path, ranks=1).exports
    odd = path.rename(tmp_path / "a\x1b[31m训练.sqlite")
    told = doctor_text(examine(find_inputs([str(odd)])))
    assert "\x1b" not in told
    assert max(map(cell_len, told.splitlines())) <= WIDTH
