"""What a capture supports, what it doesn't, and how to capture again: the values `critpath doctor` is made of.

for advice in capture_advice(quality):
    advice.asks, advice.verdict, advice.because, advice.mend
for recapture in recaptures():
    recapture.command
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from critpath.rank.capture import CaptureQuality, Lack
from critpath.rank.message_catalogue import Claim, claims

__all__ = ["Advice", "Mend", "Recapture", "Verdict", "capture_advice", "export_command", "mends", "recaptures"]

Verdict = Literal["yes", "limited", "no"]

_WAIT_TABLES = ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT")


@dataclass(frozen=True, slots=True)
class Mend:
    """What mends a lack.

    Attributes:
        step: where it is done: options of `nsys profile` (capture) or `nsys export`, a setting of the system, or a
            change of the program.
        options: exactly what to give or set; empty where there is nothing to type.
        note: what it does, and what it costs.
        unless_traced: kind of events; where the capture was asked for it already, this mends nothing.
    """

    id: str
    step: Literal["capture", "export", "system", "program"]
    options: str
    note: str
    unless_traced: str | None


@dataclass(frozen=True, slots=True)
class Advice:
    """Whether the capture supports one claim.

    Attributes:
        claim: its name on the list of claims.
        asks: what it answers, as a heading.
        verdict: `limited` where it holds for a part, or as a bound.
        because: sentences; empty where nothing limits it.
        mend: what would mend it, without repetition; empty where nothing does.
        optional: whether it lacks only data that a timing pass leaves out on purpose.
        inherent: whether only what limits it in any capture limits it here.
    """

    claim: str
    asks: str
    verdict: Verdict
    because: tuple[str, ...]
    mend: tuple[Mend, ...]
    optional: bool = False
    inherent: bool = False


@dataclass(frozen=True, slots=True)
class Recapture:
    """A way to capture again.

    Attributes:
        purpose: what it is for, and of which ranks.
        command: one command line, with the training program as `python train.py`.
        notes: what to do beside it.
    """

    id: str
    purpose: str
    command: str
    notes: tuple[str, ...]


@cache
def _document() -> dict[str, Any]:
    text = resources.files("critpath.data").joinpath("recapture.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def mends() -> dict[str, Mend]:
    """Every remedy by id."""
    return {
        row["id"]: Mend(row["id"], row["step"], row["options"], row["note"], row.get("unless_traced"))
        for row in _document()["mend"]
    }


def recaptures() -> tuple[Recapture, ...]:
    """The timing pass and the dependency pass; the figures of one must not be mixed with the other's."""
    return tuple(Recapture(row["id"], row["for"], row["command"], tuple(row["notes"])) for row in _document()["pass"])


def export_command() -> str:
    """How to export a report so that nothing of it is left out."""
    command: str = _document()["export"]["command"]
    return command


def capture_advice(quality: CaptureQuality) -> tuple[Advice, ...]:
    """Each claim of the list with whether the capture supports it, in the order of the list."""
    lacks = quality.constrained()
    return tuple(
        _advice(claim, _needed(claim, lacks.get(claim.name, ()), quality), quality.traced)
        for claim in claims().values()
    )


def _advice(claim: Claim, lacks: tuple[Lack, ...], traced: tuple[str, ...]) -> Advice:
    verdict: Verdict = "yes"
    if any(lack.takes_away for lack in lacks):
        verdict = "no"
    elif lacks or claim.best:
        verdict = "limited"
    # What takes the claim away is told before what would only limit it.
    ordered = sorted(lacks, key=lambda lack: not lack.takes_away)
    because = [lack.because for lack in ordered]
    if verdict == "limited" and claim.best:
        because.append(f"At best a limited claim: {claim.best}.")
    wanted = [mends()[name] for name in dict.fromkeys(name for lack in ordered for name in lack.mend)]
    mending = tuple(m for m in wanted if m.unless_traced is None or m.unless_traced not in traced)
    return Advice(
        claim=claim.name,
        asks=claim.asks,
        verdict=verdict,
        because=tuple(because),
        mend=mending,
        optional=bool(lacks) and all(lack.optional for lack in lacks),
        inherent=verdict == "limited" and not lacks,
    )


def _needed(claim: Claim, lacks: tuple[Lack, ...], quality: CaptureQuality) -> tuple[Lack, ...]:
    """The lacks that matter: without a wait for an event, no record of one is missed."""
    absent = {table.table: table for table in quality.missing}
    waits, records = _WAIT_TABLES
    if claim.name != "producers of event waits" or records not in absent or waits in absent:
        return lacks
    if any(p.rows.event_waits for p in quality.processes):
        return lacks
    return tuple(lack for lack in lacks if lack.because != absent[records].means)
