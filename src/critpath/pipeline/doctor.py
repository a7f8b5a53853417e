"""From inputs to what each of them supports, without analysing any step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from critpath import __version__
from critpath.base.errors import CritpathError
from critpath.ingest.label import label
from critpath.ingest.source import InputFile
from critpath.ingest.trace import read_trace
from critpath.model.doctor import Answer, Doctor, ExaminedInput, ExaminedProcess, Pass, Remedy
from critpath.model.report import Tool
from critpath.model.trace import Source
from critpath.pipeline.mapping import Progress
from critpath.rank.capture import CaptureQuality, ProcessQuality, capture_quality
from critpath.rank.capture_advice import Advice, capture_advice, export_command, recaptures
from critpath.rank.diagnostics import Reach

__all__ = ["examine"]

_DEVICE_CLAIMS = ("device time", "absence of device ops")
"""What comes before all else: without device rows only their remedies are told."""

_STEPS = ("export", "system", "program", "capture")
"""What costs least comes first: an export again needs no new run."""


def examine(
    inputs: Sequence[InputFile], *, strict: bool = False, progress: Callable[[Progress], None] | None = None
) -> Doctor:
    """What each input supports, and what would mend it.

    Args:
        inputs: existing inputs, as `ingest.source.find_inputs` gives them.
        strict: whether an unreadable input stops everything, instead of being a row.
        progress: called after each input.

    Raises:
        CritpathError: no input could be read, or one couldn't and `strict` is set.
    """
    examined, faults = [], []
    for i, given in enumerate(inputs):
        try:
            trace = read_trace(given)
        except CritpathError as error:
            if strict:
                raise
            faults.append(error)
            examined.append(_unreadable(label(given.path), error))
        else:
            examined.append(_examined(label(given.path), trace.source, capture_quality(trace)))
        if progress is not None:
            progress(Progress(i + 1, len(faults), len(inputs)))
    if faults and len(faults) == len(inputs):
        raise faults[0]
    return Doctor(
        tool=Tool(version=__version__),
        inputs=examined,
        passes=[Pass(id=r.id, purpose=r.purpose, command=r.command, notes=list(r.notes)) for r in recaptures()],
        export_command=export_command(),
    )


def _unreadable(path: str, error: CritpathError) -> ExaminedInput:
    return ExaminedInput(path=path, status="failed", error=str(error), headline="It can't be read.")


def _examined(path: str, source: Source, quality: CaptureQuality) -> ExaminedInput:
    advice = capture_advice(quality)
    return ExaminedInput(
        path=path,
        nsys_version=source.nsys_version,
        hostname=source.hostname,
        headline=_headline(quality, advice),
        first=[gap.text for gap in quality.gaps if not gap.optional and gap.id != "no-device-rows"],
        processes=[_process(p) for p in quality.processes],
        answers=[
            Answer(
                claim=a.claim,
                asks=a.asks,
                verdict=a.verdict,
                because=list(a.because),
                optional=a.optional,
                inherent=a.inherent,
                remedies=[m.id for m in a.mend],
            )
            for a in advice
        ],
        remedies=_remedies(advice if _has_device_rows(quality) else [a for a in advice if a.claim in _DEVICE_CLAIMS]),
        unknown_messages=list(
            dict.fromkeys(m.text for m in quality.messages if m.id == "unclassified" and m.reach is not Reach.HELPER)
        ),
    )


def _has_device_rows(quality: CaptureQuality) -> bool:
    return any(p.rows.device_rows for p in quality.processes)


def _headline(quality: CaptureQuality, advice: Sequence[Advice]) -> str:
    api = sum(p.rows.api_rows for p in quality.processes)
    device = sum(p.rows.device_rows for p in quality.processes)
    if not quality.processes:
        return (
            "No CUDA activity was captured: neither API calls nor device ops. CUDA was not traced, or not used; "
            "nothing is said of any device, and none was thereby idle."
        )
    if not device:
        return (
            f"CUDA API calls were captured ({api:,}), and not one device op: whether a device worked is unknown, "
            "and none was thereby idle."
        )
    captured = sum(p.rows.reach is Reach.UNIT for p in quality.processes)
    told = {verdict: sum(a.verdict == verdict for a in advice) for verdict in ("yes", "limited", "no")}
    return (
        f"{captured} of {len(quality.processes)} processes with CUDA calls left device rows: {device:,} device ops, "
        f"{api:,} API calls. Of {len(advice)} things to ask, it answers {told['yes']}, {told['limited']} with limits, "
        f"{told['no']} not. {_completeness(quality)}"
    )


def _completeness(quality: CaptureQuality) -> str:
    return {
        "contradicted": "Records are missing for certain.",
        "possible loss": "Records may be missing.",
        "no adverse evidence": "Nothing says that records are missing; nothing can prove it.",
    }[(quality.completeness or quality.processes[0].completeness).value]


def _process(process: ProcessQuality) -> ExaminedProcess:
    return ExaminedProcess(
        pid=process.rows.pid,
        name=process.rows.name,
        scope=process.rows.reach.value,
        device_rows=process.rows.device_rows,
        api_rows=process.rows.api_rows,
        instrumentation=process.instrumentation,
        completeness=process.completeness.value,
        reasons=list(process.reasons),
    )


def _remedies(advice: Sequence[Advice]) -> list[Remedy]:
    """Each remedy once with all claims it mends: what costs least first, then by the claims' order."""
    claims: dict[str, list[str]] = {}
    mends = {}
    for each in advice:
        for mend in each.mend:
            mends[mend.id] = mend
            claims.setdefault(mend.id, []).append(each.claim)
    ordered = sorted(mends.values(), key=lambda mend: _STEPS.index(mend.step))
    return [Remedy(id=m.id, step=m.step, options=m.options, note=m.note, claims=claims[m.id]) for m in ordered]
