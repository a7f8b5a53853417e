"""What the user says of a job: how many ranks, what it trains, how it is split, which report is which rank.

None means that nobody said. Nothing here is measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "JobSection",
    "LogSection",
    "Manifest",
    "ModelSection",
    "ParallelSection",
    "ReportRow",
    "RunSection",
    "StepSection",
]


@dataclass(frozen=True, slots=True)
class JobSection:
    """The job as a whole.

    Attributes:
        ranks: ranks of the whole job, captured or not.
    """

    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class StepSection:
    """What one step is.

    Attributes:
        nvtx: expression that a range's whole text must match.
        window: one span of the report's axis [ns] instead.
        scope: `period` or `range`.
    """

    nvtx: re.Pattern[str] | None = None
    window: tuple[int, int] | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class ModelSection:
    """What is trained.

    Attributes:
        config: the model's configuration, Hugging Face's or Megatron's fields as JSON.
        name: name or family of the model, as the configuration tells it.
        precision: precision of the matrix multiplications.
        micro_batch, global_batch: sequences a micro-batch, and a step over the whole job.
        seq_length: tokens a sequence.
    """

    config: Path | None = None
    name: str | None = None
    precision: str | None = None
    micro_batch: int | None = None
    global_batch: int | None = None
    seq_length: int | None = None


@dataclass(frozen=True, slots=True)
class ParallelSection:
    """Sizes of the parallel dimensions: tensor, pipeline, virtual pipeline, context, expert, expert-tensor, data."""

    tp: int | None = None
    pp: int | None = None
    vpp: int | None = None
    cp: int | None = None
    ep: int | None = None
    etp: int | None = None
    dp: int | None = None


@dataclass(frozen=True, slots=True)
class RunSection:
    """What was run.

    Attributes:
        framework_revisions: revision by framework.
        container: container image.
    """

    framework_revisions: Mapping[str, str] = field(default_factory=dict)
    container: str | None = None


@dataclass(frozen=True, slots=True)
class LogSection:
    """The trainer's own log.

    Attributes:
        path: the log.
        profiled_steps: first and last step that ran under the profiler, as the log numbers them.
    """

    path: Path | None = None
    profiled_steps: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What is said of one input, or of one process or device in it.

    Attributes:
        path: the input.
        place: where in the manifest it is said, for messages.
        pid, device: limit the row to units of that process and of that CUDA ordinal.
        rank, part, host: what is said of those units.
    """

    path: Path
    place: str
    pid: int | None = None
    device: int | None = None
    rank: int | None = None
    part: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A job's manifest, one attribute a section; paths are those of the file system, not of the manifest's folder."""

    path: Path
    job: JobSection = JobSection()
    step: StepSection = StepSection()
    model: ModelSection = ModelSection()
    parallel: ParallelSection = ParallelSection()
    run: RunSection = field(default_factory=RunSection)
    log: LogSection = LogSection()
    reports: tuple[ReportRow, ...] = ()
