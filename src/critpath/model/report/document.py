"""The report itself: one typed, frozen, versioned value that every renderer only renders."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field, ValidationError

from critpath.base.errors import InputError
from critpath.model.report.capture import Capture
from critpath.model.report.inputs import Input, TaxonomyUsed, Tool, Workload
from critpath.model.report.opportunities import CombinedCeiling, Opportunity
from critpath.model.report.part import Part, null_means
from critpath.model.report.ranks import Ranks
from critpath.model.report.timeline import Timeline
from critpath.model.report.unit import Unit
from critpath.model.report.verdict import About, Claim, GuardRow, Verdict
from critpath.model.values import Unavailable

__all__ = ["SCHEMA", "Report", "load_report"]

SCHEMA = "critpath.report/1"
"""Name and number of the schema; the number rises when a key is renamed or takes another meaning."""


class Report(Part):
    """Everything `critpath analyze` found out.

        report = load_report(Path("report.json").read_text(encoding="utf-8"))
        report.units[0].budget.compute_busy.mean_ms

    Times are milliseconds per iteration unless a key says otherwise. Unknown is null, never 0, and `unavailable`
    says why.
    """

    schema_: Literal["critpath.report/1"] = Field(
        default="critpath.report/1", validation_alias="schema", serialization_alias="schema"
    )
    """Name and number of this schema."""
    tool: Tool
    """What made the report."""
    inputs: list[Input]
    """What was read."""
    verdict: Verdict
    """The answer."""
    capture: Capture
    """What the capture can and can't support."""
    workload: Workload
    """What the user said about the job."""
    taxonomy: TaxonomyUsed | None = Field(default=None, json_schema_extra=null_means("written before it was recorded"))
    """The kernel-name rules that were used."""
    units: list[Unit]
    """One entry a device and process."""
    ranks: Ranks | None = None
    """What only several units together can tell."""
    opportunities: list[Opportunity] = Field(default_factory=list)
    """Ceilings, largest first."""
    combined_ceiling: CombinedCeiling | None = None
    """Opportunities that may be added."""
    timelines: list[Timeline] = Field(default_factory=list)
    """Steps as they are drawn: at most 2 units, one step each."""
    unavailable: list[Unavailable] = Field(default_factory=list)
    """Why a null is null."""
    about: dict[str, About] = Field(default_factory=dict)
    """How quantities are to be read, by their path with `[]` for any index."""
    guards: list[GuardRow] = Field(default_factory=list)
    """All guards, in order."""
    claims: list[Claim] = Field(default_factory=list)
    """Sentences that the report stands for."""

    def to_json(self) -> str:
        """The report as JSON text: the same for equal reports, one line a key, ending in a line feed.

        Raises:
            ValueError: a number is inf or nan; `Unavailable` is the way to say that one can't be had.
        """
        values = self.model_dump(mode="json", by_alias=True)
        return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def load_report(text: str, *, where: str = "report.json") -> Report:
    """The report that JSON text holds; keys that a later version of the same schema added are passed over.

    Args:
        text: JSON text, as `Report.to_json` writes it.
        where: its origin, for messages.

    Raises:
        InputError: the text is no JSON, no report, or a report of another schema.
    """
    try:
        values = json.loads(text)
    except ValueError as error:
        raise _unusable(f"the text is no JSON ({error})", where) from error
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"its schema is {schema!r}, and this version reads {SCHEMA!r}",
            where=where,
            meaning="Keys of another schema may have another meaning, so nothing was read from it.",
            remedy="Run `critpath analyze` on the captures again, or use the version that wrote the file.",
        )
    try:
        return Report.model_validate_json(text, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _unusable(f"{place}: {first['msg']} ({error.error_count()} faults in all)", where) from error


def _unusable(what: str, where: str) -> InputError:
    return InputError(
        what,
        where=where,
        meaning="It can't be read as a critpath report, so nothing was taken from it.",
        remedy="Give the report.json of `critpath analyze --out DIR`, unchanged.",
    )
