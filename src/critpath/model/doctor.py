"""What a capture supports and what would mend it: the document of `critpath doctor`.

    doctor.inputs[0].answers[0].verdict       # "limited"
    doctor.inputs[0].remedies[0].options      # "--cuda-event-trace=true"

It speaks of captures only; what a run did is the report's.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import JsonSchemaValue

from critpath.model.report.inputs import Tool
from critpath.model.report.part import Count, Part, null_means
from critpath.model.report.words import Completeness, Instrumentation, MessageScope, ResultStatus

__all__ = ["Answer", "Doctor", "ExaminedInput", "ExaminedProcess", "Pass", "Remedy", "doctor_schema"]

RemedyStep = Literal["capture", "export", "system", "program"]
Support = Literal["yes", "limited", "no"]


class ExaminedProcess(Part):
    """A process with CUDA rows, and how complete its records can be called."""

    pid: int
    """Process number of the operating system."""
    name: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Name of its executable, folders hidden."""
    scope: MessageScope
    """`unit` with device rows, else `api-only`."""
    device_rows: Count
    """Kernels, copies, memsets and graphs recorded for it."""
    api_rows: Count
    """CUDA API calls recorded for it."""
    instrumentation: Instrumentation
    """How its device times were taken."""
    completeness: Completeness
    """How complete its records can be called; nothing proves that none was lost."""
    reasons: list[str]
    """Why, a sentence each, the strongest first."""


class Answer(Part):
    """Whether the capture supports one claim."""

    claim: str
    """Name of the claim, as `constrains` of a report spells it."""
    asks: str
    """What it answers."""
    verdict: Support
    """`limited`: for a part, or as a bound."""
    because: list[str] = Field(default_factory=list)
    """Why it can't be made, or not without a limit, the strongest first."""
    optional: bool = False
    """Whether it lacks only data that a timing pass leaves out on purpose."""
    inherent: bool = False
    """Whether it is limited only by what limits it in any capture."""
    remedies: list[str] = Field(default_factory=list)
    """Ids of the remedies that would mend it; empty where none is known."""


class Remedy(Part):
    """Something that would mend a lack."""

    id: str
    """Its id, as `answers[].remedies` has it."""
    step: RemedyStep
    """Where it is done: options of `nsys profile` or of `nsys export`, a setting of the system, a change of the
    program."""
    options: str
    """Exactly what to give or set; empty where there is nothing to type."""
    note: str
    """What it does, and what it costs."""
    claims: list[str]
    """Claims that it would mend."""


class ExaminedInput(Part):
    """One input, readable or not."""

    path: str
    """Path as the user gave it."""
    status: ResultStatus = "ok"
    """Whether it could be read."""
    error: str | None = Field(default=None, json_schema_extra=null_means("the input could be read"))
    """What went wrong, in four parts: what, where, what it means, what to do."""
    nsys_version: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Version of Nsight Systems that captured it."""
    hostname: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Host name recorded in the capture."""
    headline: str
    """One paragraph: what it holds, and how much of what is asked it can answer."""
    first: list[str] = Field(default_factory=list)
    """What to know before anything else, most telling first: waits without records before all."""
    processes: list[ExaminedProcess] = Field(default_factory=list)
    """Processes with CUDA rows, those with device rows first."""
    answers: list[Answer] = Field(default_factory=list)
    """Every claim, what matters most first."""
    remedies: list[Remedy] = Field(default_factory=list)
    """What would mend its lacks, what costs least first; without any device row, only what may bring them."""
    unknown_messages: list[str] = Field(default_factory=list)
    """Warnings of the profiler that nobody knows here, verbatim but without folders, people and secrets; those of
    helper processes are left out."""


class Pass(Part):
    """A way to capture again; figures of one pass must not be mixed with another's."""

    id: str
    """`timing` or `dependency`."""
    purpose: str
    """What it is for, and of which ranks."""
    command: str
    """One command line, with the program as `python train.py`."""
    notes: list[str]
    """What to do beside it."""


class Doctor(Part):
    """What each input supports, and how to capture again."""

    schema_: Literal["critpath.doctor/1"] = Field(
        default="critpath.doctor/1", validation_alias="schema", serialization_alias="schema"
    )
    """Name and number of this schema."""
    tool: Tool
    """What made it."""
    inputs: list[ExaminedInput]
    """Every input."""
    passes: list[Pass]
    """The timing pass and the dependency pass."""
    export_command: str
    """How to export a report so that nothing of it is left out."""

    def to_json(self) -> str:
        """The document as JSON text, one line a key, ending in a line feed."""
        values: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def doctor_schema() -> JsonSchemaValue:
    """The JSON Schema of the document as it is written."""
    schema = Doctor.model_json_schema(mode="serialization", by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "critpath.doctor/1"}
