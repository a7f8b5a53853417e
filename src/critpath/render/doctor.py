"""What captures support and what would mend them, in a terminal: at most 80 columns, what matters most first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from critpath.model.doctor import Answer, Doctor, ExaminedInput, Pass, Remedy
from critpath.render.plain import WIDTH, plain
from critpath.render.words import count, printable, shortened

__all__ = ["doctor_rendering", "doctor_text"]

_FIRST_TOLD = 4
_REASONS_TOLD = 3
_PATHS_TOLD = 4

_VERDICTS = (
    ("no", "It can't tell"),
    ("limited", "It tells with limits"),
    ("yes", "It tells"),
)
_STEPS = {
    "export": "export again, without a new run",
    "system": "set on the system",
    "program": "change in the program",
    "capture": "give to nsys profile",
}


def doctor_text(doctor: Doctor) -> str:
    """The document as plain text, without colours or control characters."""
    return plain(doctor_rendering(doctor))


def doctor_rendering(doctor: Doctor) -> RenderableType:
    """The document for a rich console of `WIDTH` columns."""
    parts: list[RenderableType] = []
    for _, alike in groupby(sorted(doctor.inputs, key=_answered), key=_answered):
        members = list(alike)
        parts += [*_section(members, reasons=len(doctor.inputs) == 1), Text("")]
    parts += _passes(doctor)
    return Group(*parts)


def _answered(given: ExaminedInput) -> tuple[str, ...]:
    """Inputs with the same answers are told once; of unreadable ones each has its own."""
    if given.error is not None:
        return ("failed", given.path)
    return ("ok", *(f"{a.claim}: {a.verdict}" for a in given.answers), *(p.completeness for p in given.processes))


def _section(inputs: list[ExaminedInput], *, reasons: bool) -> Iterator[RenderableType]:
    shown, others = inputs[0], inputs[1:]
    yield Text(shortened(shown.path, WIDTH), style="bold")
    if others:
        named = ", ".join(printable(o.path) for o in others[:_PATHS_TOLD])
        more = f" and {len(others) - _PATHS_TOLD} more" if len(others) > _PATHS_TOLD else ""
        yield _indented(f"The same holds for {named}{more}; numbers below are the first one's.")
    if shown.error is not None:
        yield _indented(printable(shown.error.partition(": ")[2] or shown.error))
        return
    captured = f"captured with nsys {shown.nsys_version}" if shown.nsys_version else "by an nsys of unknown version"
    yield _indented(printable(captured + (f" on {shown.hostname}" if shown.hostname else "")))
    yield _indented(shown.headline, style="bold")
    yield from _first(shown)
    yield from _processes(shown)
    yield from _answers(shown, reasons=reasons)
    yield from _remedies(shown, notes=reasons)


def _indented(text: str, by: int = 2, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, by))


def _heading(text: str) -> Iterator[RenderableType]:
    yield Text("")
    yield _indented(text, style="bold")


def _first(shown: ExaminedInput) -> Iterator[RenderableType]:
    if shown.first:
        yield from _heading("Know first")
        yield from (_item(sentence) for sentence in shown.first[:_FIRST_TOLD])
        if len(shown.first) > _FIRST_TOLD:
            yield _indented(f"and {len(shown.first) - _FIRST_TOLD} more below", by=4)
    if shown.unknown_messages:
        yield from _heading("Warnings of the profiler that aren't known here")
        yield from (_item(shortened(text, 300)) for text in shown.unknown_messages[:_FIRST_TOLD])


def _item(text: str) -> RenderableType:
    """A sentence behind a dash, its further lines set below the first."""
    return Padding(_Hanging(text), (0, 0, 0, 2))


class _Hanging:
    """Text whose lines after the first are indented by two."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Its lines, wrapped to what is left of the width."""
        lines = Text(self.text).wrap(console, options.max_width - 2)
        for n, line in enumerate(lines):
            yield Text("- " if n == 0 else "  ") + line


def _processes(shown: ExaminedInput) -> Iterator[RenderableType]:
    doubted = [p for p in shown.processes if p.completeness != "no adverse evidence"]
    if not doubted:
        return
    yield from _heading("Processes whose records may be incomplete")
    told = _REASONS_TOLD if len(doubted) > 1 else 2 * _REASONS_TOLD
    for process in doubted[:_FIRST_TOLD]:
        name = f" {shortened(process.name, 40)}" if process.name else ""
        rows = f"{count(process.device_rows)} device rows, {count(process.api_rows)} calls"
        reasons = " ".join(printable(reason) for reason in process.reasons[:told])
        yield _item(f"pid {process.pid}{name}: {process.completeness}; {rows}. {reasons}")
    if len(doubted) > _FIRST_TOLD:
        yield _indented(f"and {len(doubted) - _FIRST_TOLD} more", by=4)


def _answers(shown: ExaminedInput, *, reasons: bool) -> Iterator[RenderableType]:
    """Claims by verdict; those with one main reason stand together, and what nobody misses stands last."""
    specific = [a for a in shown.answers if not a.optional and not a.inherent]
    for verdict, heading in _VERDICTS:
        answers = [a for a in specific if a.verdict == verdict]
        if not answers:
            continue
        yield from _heading(heading)
        if verdict == "yes" or not reasons:
            yield _indented(_asked(answers), by=4)
        else:
            yield from _with_reasons(answers)
    for heading, answers in (
        ("It tells as far as any capture can", [a for a in shown.answers if a.inherent]),
        ("Left out, as a timing pass does on purpose", [a for a in shown.answers if a.optional]),
    ):
        if answers:
            yield from _heading(heading)
            yield _indented(_asked(answers), by=4)


def _asked(answers: Iterable[Answer]) -> str:
    return "; ".join(a.asks for a in answers) + "."


def _with_reasons(answers: list[Answer]) -> Iterator[RenderableType]:
    """Claims that share their main reason, then the reasons of all of them."""
    by_reason: dict[str, list[Answer]] = {}
    for answer in answers:
        by_reason.setdefault(answer.because[0], []).append(answer)
    for alike in by_reason.values():
        yield _item(_asked(alike))
        because = dict.fromkeys(reason for a in alike for reason in a.because)
        yield _indented(printable(" ".join(list(because)[:_REASONS_TOLD])), by=4, style="dim")


def _remedies(shown: ExaminedInput, *, notes: bool) -> Iterator[RenderableType]:
    """What would mend the lacks; what only brings back data left out on purpose comes last, in short."""
    left_out = {a.claim for a in shown.answers if a.optional}
    wanted = [r for r in shown.remedies if not set(r.claims) <= left_out]
    if wanted:
        yield from _heading("What would mend it")
    for step, alike in groupby(wanted, key=lambda r: r.step):
        yield _indented(f"{_STEPS[step]}:", by=4)
        for options, texts in _merged(alike):
            yield _indented(options, by=6, style="cyan")
            if options != texts and notes:
                yield _indented(texts, by=8)
    extra = [r for r in shown.remedies if set(r.claims) <= left_out and r.options]
    if extra and notes:
        yield _indented("for what was left out on purpose, in a pass of its own:", by=4)
        for remedy in extra:
            yield _indented(remedy.options, by=6, style="cyan")


def _merged(remedies: Iterable[Remedy]) -> list[tuple[str, str]]:
    """(options, notes): equal options once, with the notes of all that want them."""
    notes: dict[str, list[str]] = {}
    for remedy in remedies:
        key = remedy.options or remedy.note
        notes.setdefault(key, []).append(remedy.note)
    return [(options, "; ".join(texts)) for options, texts in notes.items()]


def _passes(doctor: Doctor) -> Iterator[RenderableType]:
    for each in doctor.passes:
        yield from _pass(each)
    yield Text("Export, with nothing left out", style="bold")
    yield from _command(doctor.export_command)


def _pass(each: Pass) -> Iterator[RenderableType]:
    yield Text(f"To capture again, the {each.id} pass: {each.purpose}", style="bold")
    yield from _command(each.command)
    yield from (_item(note) for note in each.notes)
    yield Text("")


def _command(command: str) -> Iterator[RenderableType]:
    """A command line to copy, broken between options, where the shell allows it."""
    lines, line = [], ""
    for part in _parts(command):
        if line and len(line) + len(part) + 1 > WIDTH - 8:
            lines.append(line)
            line = ""
        line = f"{line} {part}".strip()
    lines.append(line)
    for n, text in enumerate(lines):
        yield _indented(text + (" \\" if n < len(lines) - 1 else ""), by=2 if n == 0 else 6, style="cyan")


def _parts(command: str) -> list[str]:
    """The words of a command, each short option with its value."""
    parts: list[str] = []
    for word in command.split(" "):
        if parts and re.fullmatch(r"-\w", parts[-1]):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts
