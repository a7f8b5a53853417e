"""The job's manifest: every key, and what is refused with the place it stands in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from critpath.base.errors import OptionError
from critpath.ingest.manifest import manifest_inputs, read_manifest
from critpath.ingest.source import InputFile
from critpath.model.manifest import LogSection, Manifest, ParallelSection

WHOLE = """\
[job]
ranks = 16
[step]
nvtx = "iteration .*"
scope = "range"
[model]
config = "config.json"
precision = "bf16"
global_batch = 1024
micro_batch = 2
seq_length = 4096
[parallel]
tp = 1
pp = 4
vpp = 2
cp = 1
ep = 16
etp = 1
dp = 4
[run]
framework_revisions = {megatron_core = "0123abc", torch = "2.9"}
container = "registry/train:26.01"
[log]
path = "logs/trainer.log"
profiled_steps = "10-12"
[[report]]
path = "node0.sqlite"
rank = 0
part = "stage0"
host = "node0"
[[report]]
path = "both.sqlite"
pid = 1234
device = 3
rank = 1
[[report]]
path = "both.sqlite"
pid = 1235
rank = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("node0.sqlite", "both.sqlite"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}')
    return tmp_path


def read(folder: Path, text: str) -> Manifest:
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return read_manifest(path)


def refused(folder: Path, text: str) -> OptionError:
    with pytest.raises(OptionError) as told:
        read(folder, text)
    return told.value


def test_every_key_is_read(folder: Path) -> None:
    manifest = read(folder, WHOLE)
    assert manifest.job.ranks == 16
    assert manifest.step.nvtx is not None
    assert (manifest.step.nvtx.pattern, manifest.step.scope, manifest.step.window) == ("iteration .*", "range", None)
    model = manifest.model
    assert (model.config, model.name, model.precision) == (folder / "config.json", "llama", "bf16")
    assert (model.global_batch, model.micro_batch, model.seq_length) == (1024, 2, 4096)
    assert manifest.parallel == ParallelSection(tp=1, pp=4, vpp=2, cp=1, ep=16, etp=1, dp=4)
    assert manifest.run.framework_revisions == {"megatron_core": "0123abc", "torch": "2.9"}
    assert manifest.run.container == "registry/train:26.01"
    assert manifest.log == LogSection(folder / "logs" / "trainer.log", (10, 12))
    rows = [(r.path.name, r.pid, r.device, r.rank, r.part, r.host) for r in manifest.reports]
    assert rows == [
        ("node0.sqlite", None, None, 0, "stage0", "node0"),
        ("both.sqlite", 1234, 3, 1, None, None),
        ("both.sqlite", 1235, None, 2, None, None),
    ]


def test_an_empty_manifest_says_nothing(folder: Path) -> None:
    assert read(folder, "") == Manifest(folder / "job.toml")


def test_a_window_is_a_span_of_time(folder: Path) -> None:
    assert read(folder, "[step]\nwindow = [1_500, 2_500]").step.window == (1500, 2500)


def test_paths_are_relative_to_the_manifest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert read(folder, '[[report]]\npath = "node0.sqlite"').reports[0].path == folder / "node0.sqlite"


def test_an_absolute_path_stays(folder: Path) -> None:
    path = folder / "both.sqlite"
    assert read(folder, f"[[report]]\npath = {json.dumps(str(path))}").reports[0].path == path


def test_the_inputs_are_its_reports_each_once(folder: Path) -> None:
    assert manifest_inputs(read(folder, WHOLE)) == [
        InputFile(folder / "node0.sqlite", "sqlite"),
        InputFile(folder / "both.sqlite", "sqlite"),
    ]


def test_without_reports_there_are_no_inputs(folder: Path) -> None:
    with pytest.raises(OptionError, match=r"the manifest has no \[\[report\]\]"):
        manifest_inputs(read(folder, "[job]\nranks = 2"))


UNKNOWN = [
    ("[jobs]\nranks = 2", "unknown section 'jobs'", "line 1, jobs", "Did you mean job?"),
    ("[job]\n\nrank = 2", "unknown key of [job] 'rank'", "line 3, [job] rank", "Did you mean ranks?"),
    ("[step]\nnvtxx = 'a'", "unknown key of [step] 'nvtxx'", "line 2, [step] nvtxx", "Did you mean nvtx?"),
    ("[model]\nname = 'x'", "unknown key of [model] 'name'", "line 2, [model] name", "Known: "),
    ("[parallel]\ntpp = 2", "unknown key of [parallel] 'tpp'", "line 2, [parallel] tpp", "tp or pp or vpp"),
    ("[run]\ncontainers = 'x'", "unknown key of [run] 'containers'", "line 2, [run] containers", "container?"),
    ("[log]\nfile = 'x'", "unknown key of [log] 'file'", "line 2, [log] file", "Known: "),
    (
        "[[report]]\npath = 'node0.sqlite'\n[[report]]\npath = 'both.sqlite'\nranks = 2",
        "unknown key of [report] 'ranks'",
        "line 5, [[report]] ranks",
        "Did you mean rank?",
    ),
    ("job.rank = 2", "unknown key of [job] 'rank'", "[job] rank", "Did you mean ranks?"),
    ("[step]\nscope = 'rang'", "unknown scope 'rang'", "line 2, [step] scope", "Did you mean range?"),
]


@pytest.mark.parametrize(("text", "what", "place", "remedy"), UNKNOWN)
def test_an_unknown_word_is_told_with_its_place_and_the_nearest_known_one(
    text: str, what: str, place: str, remedy: str, folder: Path
) -> None:
    fault = refused(folder, text)
    assert fault.what == what
    assert fault.where == f"{folder / 'job.toml'}, {place}"
    assert remedy in fault.remedy


WRONG = [
    ("[job]\nranks = '16'", "ranks must be a whole number of at least 1, not '16'"),
    ("[job]\nranks = 0", "ranks must be a whole number of at least 1, not 0"),
    ("[job]\nranks = true", "ranks must be a whole number of at least 1, not True"),
    ("[job]\nranks = 1.5", "ranks must be a whole number of at least 1, not 1.5"),
    ("[step]\nnvtx = 3", "nvtx must be a text, not 3"),
    ("[step]\nnvtx = ' '", "nvtx must be a text, not ' '"),
    ("[step]\nnvtx = '('", "'(' is no regular expression"),
    ("[step]\nwindow = 3", "window must be start and end in ns"),
    ("[step]\nwindow = [2, 1]", "window must be start and end in ns"),
    ("[step]\nwindow = [false, true]", "window must be start and end in ns"),
    ("[step]\nwindow = [1, 2, 3]", "window must be start and end in ns"),
    ("[step]\nwindow = [1, 9223372036854775807]", "window must be start and end in ns"),
    ("[step]\nnvtx = 'a'\nwindow = [1, 2]", "both nvtx and window are given"),
    ("[run]\nframework_revisions = ['a']", "framework_revisions must be a table of texts"),
    ("[run]\nframework_revisions = {a = 1}", "framework_revisions must be a table of texts"),
    ("[log]\nprofiled_steps = '12-10'", "profiled_steps must be first and last step"),
    ("[log]\nprofiled_steps = 'all'", "profiled_steps must be first and last step"),
    ("[[report]]\nrank = 1", "a report has no path"),
    ("[[report]]\npath = 'node0.sqlite'\nrank = -1", "rank must be a whole number of at least 0, not -1"),
    ("[[report]]\npath = 'node0.sqlite'\npid = 'x'", "pid must be a whole number of at least 0, not 'x'"),
    ("job = 3", "job must be a section, not 3"),
    ("[report]\npath = 'node0.sqlite'", "report must be a list of sections"),
    ("[job", "the file is no TOML"),
    ("[job]\nranks = 1\nranks = 2", "the file is no TOML"),
]


@pytest.mark.parametrize(("text", "what"), WRONG)
def test_a_value_that_cant_be_meant_is_refused(text: str, what: str, folder: Path) -> None:
    fault = refused(folder, text)
    assert fault.what.startswith(what)
    assert str(folder / "job.toml") in fault.where
    assert fault.meaning
    assert fault.remedy


CONTRADICTIONS = [
    ("[[report]]\npath = 'node1.sqlite'", "node1.sqlite: there is no such file", 2),
    ("[[report]]\npath = '.'", "the folder holds no export of its own", 2),
    (
        "[[report]]\npath = 'node0.sqlite'\nrank = 1\n[[report]]\npath = 'both.sqlite'\nrank = 1",
        "rank 1 is given twice",
        5,
    ),
    ("[job]\nranks = 4\n[[report]]\npath = 'node0.sqlite'\nrank = 4", "rank 4 is none of the job's 4 ranks, 0 to 3", 4),
    ("[[report]]\npath = 'node0.sqlite'\n[[report]]\npath = './node0.sqlite'", "is told of twice", 4),
]


@pytest.mark.parametrize(("text", "what", "line"), CONTRADICTIONS)
def test_what_cant_be_true_is_refused(text: str, what: str, line: int, folder: Path) -> None:
    fault = refused(folder, text)
    assert what in fault.what
    assert f"line {line}, [[report]] path" in fault.where


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_manifest_that_cant_be_read_says_so(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OptionError) as told:
        read_manifest(path)
    assert told.value.where == f"--manifest {path}"


CONFIGS = [
    ('{"model_type": "llama"}', "llama"),
    ('{"architectures": ["GPTModel"]}', "GPTModel"),
    ('{"_name_or_path": "/home/ada/models/tiny-8b/"}', "tiny-8b"),
    ('{"num_layers": 32, "hidden_size": 4096}', None),
    ('{"model_type": "ModelType.encoder_or_decoder", "model_name": "gpt3-175b"}', "gpt3-175b"),
    ('{"trainer": {}, "model": {"name": "nemotron"}}', "nemotron"),
    ('{"model_type": 3, "architectures": []}', None),
]


@pytest.mark.parametrize(("config", "name"), CONFIGS)
def test_the_models_name_is_its_configurations(config: str, name: str | None, folder: Path) -> None:
    (folder / "config.json").write_text(config)
    assert read(folder, "[model]\nconfig = 'config.json'").model.name == name


@pytest.mark.parametrize("config", [None, "num_layers: 32", "[1]", "\xff"])
def test_a_configuration_that_cant_be_read_is_refused(config: str | None, folder: Path) -> None:
    (folder / "config.json").unlink()
    if config is not None:
        (folder / "config.json").write_text(config, encoding="latin-1")
    fault = refused(folder, "[model]\nprecision = 'bf16'\nconfig = 'config.json'")
    assert "config.json" in fault.what
    assert fault.where.endswith("line 3, [model] config")


def test_the_manifest_of_the_documentation_is_one(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "method" / "inputs.md").read_text(encoding="utf-8")
    text = page.partition("<!-- manifest -->\n```toml\n")[2].partition("```")[0]
    (folder / "node1.sqlite").write_bytes(b"")
    manifest = read(folder, text)
    assert (manifest.job.ranks, manifest.parallel.ep, len(manifest.reports)) == (16, 16, 2)
