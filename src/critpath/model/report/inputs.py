"""What was read, and what the user said about it: the tool, the inputs, the workload."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Bytes, Count, Part, null_means
from critpath.model.report.words import InputKind, ResultStatus

__all__ = ["Input", "RuleFile", "TaxonomyUsed", "Tool", "Workload"]


class Tool(Part):
    """What made the report."""

    name: str = "critpath"
    """Always `critpath`."""
    version: str
    """Version of the tool."""


class RuleFile(Part):
    """A file of kernel-name rules."""

    name: str
    """Its name; a user's file comes first, and its rules win."""
    sha256: str
    """SHA-256 of its text."""


class TaxonomyUsed(Part):
    """The rules that told communication from compute; reports with equal hashes classify equally (P20)."""

    files: list[RuleFile]
    """Files of rules, in order of precedence."""
    sha256: str
    """One hash over all of them."""


class Input(Part):
    """One input file or folder, readable or not."""

    path: str
    """Path as the user gave it; a label, never a source of the rank."""
    status: ResultStatus = "ok"
    """Whether it could be read."""
    error: str | None = Field(default=None, json_schema_extra=null_means("the input could be read"))
    """What went wrong, in four parts: what, where, what it means, what to do."""
    kind: InputKind | None = Field(default=None, json_schema_extra=null_means("the input is of no known kind"))
    """What the input is, by its content."""
    bytes: Bytes | None = Field(default=None, json_schema_extra=null_means("the input could not be opened"))
    """Size of the input [bytes]."""
    nsys_version: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Version of Nsight Systems that captured it."""
    schema_version: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Version of the export's schema."""
    hostname: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Host name recorded in the capture; containers repeat names, so it identifies no host alone."""
    session_start_utc_ns: int | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """UTC time of the zero of the report's axis [ns since 1970]."""
    units: list[str] = Field(default_factory=list)
    """Ids of the units found in it."""


_UNSAID = null_means("nobody said")


class Workload(Part):
    """What the job trains and how it is split, as its manifest says; nothing here is measured or guessed."""

    model: str | None = Field(default=None, json_schema_extra=_UNSAID)
    """Name or family of the model."""
    task: str | None = Field(default=None, json_schema_extra=_UNSAID)
    """What is done with it, as pretraining or fine-tuning."""
    precision: str | None = Field(default=None, json_schema_extra=_UNSAID)
    """Precision of the matrix multiplications, as `bf16`."""
    seq_length: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Tokens a sequence."""
    micro_batch: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Sequences a micro-batch."""
    global_batch: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Sequences a step over the whole job."""
    framework_revisions: dict[str, str] = Field(default_factory=dict)
    """Revision of each framework."""
    container: str | None = Field(default=None, json_schema_extra=_UNSAID)
    """Container image the job ran in."""
    tp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Tensor-parallel size."""
    pp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Pipeline-parallel size."""
    vpp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Virtual pipeline stages a rank."""
    cp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Context-parallel size."""
    ep: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Expert-parallel size."""
    etp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Tensor-parallel size inside experts."""
    dp: Count | None = Field(default=None, json_schema_extra=_UNSAID)
    """Data-parallel size."""
    step_definition: str
    """What one step is in this report, in words: anchor, scope, and what lies outside."""
