"""What is wrong with the inputs and the capture, as lines: the same in the terminal and on a page.

Equal messages are told once. What constrains nothing that a reader would miss is left out: messages of helper
processes, known harmless ones, and data that a timing pass doesn't record on purpose. report.json holds them all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from critpath.model.report import CaptureWarning, Report
from critpath.render.words import count

__all__ = ["capture_problems"]

_RANK = re.compile(r"units\[(\d+)\]\.rank")
_LEFT_OUT_ANYWAY = frozenset(
    {
        "boundary steps",  # dropped from every report (P26)
        "host causes (CPU samples)",
        "host causes (scheduling)",
        "library calls (cuBLAS, cuDNN)",
        "metrics",
        "source attribution",
    }
)
"""Claims that the figures of a page don't rest on."""


def capture_problems(report: Report) -> list[str]:
    """One line a problem, what weighs most first."""
    capture = report.capture
    # An error begins with the place it happened in, and has one line a part.
    lines = [". ".join(part.rstrip(".") for part in i.error.splitlines()) for i in report.inputs if i.error]
    lines += [f"{u.id}: {u.error}" for u in report.units if u.error]
    lines += [f"rank of {_unit_at(e.path, report)}: {e.reason}" for e in report.unavailable if _RANK.fullmatch(e.path)]
    told = sorted(filter(_is_told, capture.warnings), key=_weight)
    lines += _repeated(f"{w.severity}: {' '.join(w.text.split())}" for w in told)
    lines += _repeated(f"{f.function} failed: {f.name}" for f in capture.api_failures if f.fatal)
    lines += _partial(report)
    lines += _missing(report)
    return lines


def _is_told(warning: CaptureWarning) -> bool:
    if warning.scope == "helper":
        return False
    unknown = warning.source == "critpath" or warning.id == "unclassified"
    return unknown or not set(warning.constrains) <= _LEFT_OUT_ANYWAY


def _unit_at(path: str, report: Report) -> str:
    match = _RANK.fullmatch(path)
    return report.units[int(match[1])].id if match else path


def _weight(warning: CaptureWarning) -> int:
    """What was left out of the figures comes first, what only informs last."""
    if warning.source == "critpath":
        return 0
    return 1 if warning.severity in ("error", "warning") or warning.constrains else 2


def _repeated(lines: Iterable[str]) -> list[str]:
    """Each line once, with how often it came: ranks of one job give the same messages."""
    return [line if n == 1 else f"({count(n)} ×) {line}" for line, n in Counter(lines).items()]


def _missing(report: Report) -> list[str]:
    """The absent tables, once for all inputs that lack the same ones."""
    by_input: dict[int, list[str]] = {}
    for row in report.capture.missing:
        by_input.setdefault(row.input, []).append(row.table.removeprefix("CUPTI_ACTIVITY_KIND_"))
    alike: dict[str, list[int]] = {}
    for i, tables in by_input.items():
        alike.setdefault(", ".join(tables), []).append(i)
    return [f"absent from input {found[0]}{_more(found)}: {tables}" for tables, found in alike.items()]


def _partial(report: Report) -> list[str]:
    """What is there in part, a kind once; the numbers are those of the first input that has it."""
    alike: dict[str, list[int]] = {}
    sentences: dict[str, str] = {}
    for row in report.capture.partial:
        if not row.optional:
            alike.setdefault(row.id, []).append(row.input)
            sentences.setdefault(row.id, row.what)
    named = len(report.inputs) > 1
    return [(f"input {found[0]}{_more(found)}: " if named else "") + sentences[lack] for lack, found in alike.items()]


def _more(inputs: list[int]) -> str:
    return f" and {count(len(inputs) - 1)} more" if inputs[1:] else ""
