"""The job's manifest, `job.toml`: read whole or refused, since half of what a user said is worse than none of it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from critpath.base.errors import OptionError
from critpath.ingest.label import identity, label
from critpath.ingest.model_config import read_model_name
from critpath.ingest.source import InputFile, known_input
from critpath.ingest.toml_section import TomlSection, read_toml
from critpath.model.manifest import (
    JobSection,
    LogSection,
    Manifest,
    ModelSection,
    ParallelSection,
    ReportRow,
    RunSection,
    StepSection,
)

__all__ = ["manifest_inputs", "read_manifest"]

_SECTIONS = ("job", "step", "model", "parallel", "run", "log", "report")
_SCOPES = ("period", "range")
_STEPS = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
_NOTHING = "Nothing was analysed."


def read_manifest(path: Path | str) -> Manifest:
    """What a manifest says of a job. Paths in it are relative to its folder.

    Raises:
        OptionError: it can't be read, holds a key or a value that can't be what was meant, names a file that isn't
            there, or contradicts itself.
    """
    file = read_toml(Path(path), option="--manifest", remedy="Give a TOML file as docs/method/inputs.md shows.")
    TomlSection(file, "", file.values).refuse_unknown(_SECTIONS)
    manifest = Manifest(
        path=file.path,
        job=_job(file.section("job")),
        step=_step(file.section("step")),
        model=_model(file.section("model")),
        parallel=_parallel(file.section("parallel")),
        run=_run(file.section("run")),
        log=_log(file.section("log")),
        reports=tuple(_report(section) for section in file.sections("report")),
    )
    _refuse_contradictions(manifest)
    return manifest


def manifest_inputs(manifest: Manifest) -> list[InputFile]:
    """The inputs that a manifest names, each once.

    Raises:
        OptionError: it names none.
    """
    unique: dict[Path, InputFile] = {}
    for row in manifest.reports:
        unique.setdefault(identity(row.path), _input(row))
    if not unique:
        raise OptionError(
            "no input was named, and the manifest has no [[report]]",
            where=label(manifest.path),
            meaning="Nothing was analysed; an empty selection says nothing about a run.",
            remedy='Name inputs on the command line, or add: [[report]] and path = "node0.sqlite"',
        )
    return list(unique.values())


def _job(section: TomlSection) -> JobSection:
    section.refuse_unknown(["ranks"])
    return JobSection(ranks=section.integer("ranks"))


def _step(section: TomlSection) -> StepSection:
    section.refuse_unknown(["nvtx", "window", "scope"])
    nvtx, scope = section.text("nvtx"), section.text("scope")
    if nvtx is not None and "window" in section.values:
        raise OptionError(
            "both nvtx and window are given",
            where=section.place("window"),
            meaning="They define different things: a recurring range, or one fixed span.",
            remedy="Leave one of them out.",
        )
    if scope is not None and scope not in _SCOPES:
        raise OptionError.unknown(scope, _SCOPES, kind="scope", where=section.place("scope"))
    try:
        pattern = None if nvtx is None else re.compile(nvtx)
    except re.error as fault:
        raise OptionError(
            f"{nvtx!r} is no regular expression: {fault}",
            where=section.place("nvtx"),
            meaning="No step could be looked for, so nothing was analysed.",
            remedy="It must match the range's whole text, as nvtx = 'iteration \\d+'; escape ( ) [ ] . * + ?",
        ) from fault
    return StepSection(nvtx=pattern, window=_window(section), scope=scope)


def _window(section: TomlSection) -> tuple[int, int] | None:
    value = section.values.get("window")
    if value is None:
        return None
    # TOML's true is no number, though Python's is.
    if isinstance(value, list) and [type(n) for n in value] == [int, int]:
        start, end = value
        if start < end and max(abs(start), abs(end)) < 2**62:
            return start, end
    form = "start and end in ns of the report's own axis, start first"
    raise section.wrong("window", form, "window = [1500000000, 2500000000]")


def _model(section: TomlSection) -> ModelSection:
    section.refuse_unknown(f.name for f in fields(ModelSection) if f.name != "name")
    config = section.path("config")
    return ModelSection(
        config=config,
        name=None if config is None else read_model_name(config, where=section.place("config")),
        precision=section.text("precision"),
        micro_batch=section.integer("micro_batch"),
        global_batch=section.integer("global_batch"),
        seq_length=section.integer("seq_length"),
    )


def _parallel(section: TomlSection) -> ParallelSection:
    names = [f.name for f in fields(ParallelSection)]
    section.refuse_unknown(names)
    return ParallelSection(**{name: section.integer(name) for name in names})


def _run(section: TomlSection) -> RunSection:
    section.refuse_unknown(["framework_revisions", "container"])
    return RunSection(framework_revisions=section.texts("framework_revisions"), container=section.text("container"))


def _log(section: TomlSection) -> LogSection:
    section.refuse_unknown(["path", "profiled_steps"])
    steps = section.text("profiled_steps")
    match = _STEPS.fullmatch(steps or "")
    if steps is None:
        return LogSection(path=section.path("path"))
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else -1
    if last < first:
        raise section.wrong("profiled_steps", "first and last step", 'profiled_steps = "10-12"')
    return LogSection(path=section.path("path"), profiled_steps=(first, last))


def _report(section: TomlSection) -> ReportRow:
    section.refuse_unknown(f.name for f in fields(ReportRow) if f.name != "place")
    path = section.path("path")
    if path is None:
        raise OptionError(
            "a report has no path",
            where=section.place(),
            meaning="What is said of it can't be told of any input, so nothing was analysed.",
            remedy='Add the file, relative to the manifest: path = "node0.sqlite"',
        )
    row = ReportRow(
        path=path,
        place=section.place("path"),
        pid=section.integer("pid", least=0),
        device=section.integer("device", least=0),
        rank=section.integer("rank", least=0),
        part=section.text("part"),
        host=section.text("host"),
    )
    _input(row)
    return row


def _input(row: ReportRow) -> InputFile:
    try:
        found = known_input(row.path)
        what = "the folder holds no export of its own" if row.path.exists() else "there is no such file"
    except OSError as fault:
        found, what = None, f"it can't be opened: {fault.strerror or fault}"
    if found is None:
        raise OptionError(
            f"{label(row.path)}: {what}",
            where=row.place,
            meaning="The manifest speaks of a report that can't be read, so nothing was analysed.",
            remedy="Correct the path, which is relative to the manifest's folder, or leave the report out.",
        )
    return found


def _refuse_contradictions(manifest: Manifest) -> None:
    ranks: dict[int, ReportRow] = {}
    selections: dict[tuple[Path, int | None, int | None], ReportRow] = {}
    for row in manifest.reports:
        selection = (identity(row.path), row.pid, row.device)
        if selection in selections:
            raise _contradiction(row, f"{label(row.path)} is told of twice, in {selections[selection].place} too")
        selections[selection] = row
        if row.rank is None:
            continue
        if row.rank in ranks:
            raise _contradiction(row, f"rank {row.rank} is given twice, in {ranks[row.rank].place} too")
        if manifest.job.ranks is not None and row.rank >= manifest.job.ranks:
            raise _contradiction(
                row, f"rank {row.rank} is none of the job's {manifest.job.ranks} ranks, 0 to {manifest.job.ranks - 1}"
            )
        ranks[row.rank] = row


def _contradiction(row: ReportRow, what: str) -> OptionError:
    return OptionError(
        what,
        where=row.place,
        meaning="Which unit is which rank would be a guess, so nothing was analysed.",
        remedy="Correct the report's rank, or tell its processes apart by pid = … or device = …",
    )
