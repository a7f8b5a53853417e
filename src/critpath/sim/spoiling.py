"""Spoils the rows of an export, between what the profiler saw and what the file holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict

from critpath.sim.errors import OptionValueError
from critpath.sim.ids import GLOBAL_VID
from critpath.sim.sheets import Capture, Row, Sheet
from critpath.sim.spoils import (
    DEVICE_TABLES,
    Damage,
    DamagedTimes,
    Diagnostic,
    LostProcess,
    LostRows,
    LostTable,
    Slice,
    Spoil,
)

__all__ = ["spoil_record", "spoiled"]

_ISSUED = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS", "OSRT_API")
"""Tables whose rows a cut takes by their start."""
_FAR_NS = 100_000_000_000_000
_MINIMUM = -(1 << 63)


def spoil_record(spoils: Sequence[Spoil]) -> list[dict[str, object]]:
    """What `truth.json` says was spoiled."""
    return [{"kind": type(spoil).__name__, **asdict(spoil)} for spoil in spoils]


def spoiled(sheets: Sequence[Sheet], spoils: Sequence[Spoil], capture: Capture) -> list[Sheet]:
    """The sheets after everything in `spoils` happened to them, in turn; tables left without rows are absent."""
    found = list(sheets)
    for spoil in spoils:
        if not isinstance(spoil, Diagnostic):
            before = {sheet.table for sheet in found if sheet.rows}
            found = [_spoiled(sheet, spoil, capture) for sheet in found]
            found = [sheet for sheet in found if sheet.rows or sheet.table not in before]
    return found


def _spoiled(sheet: Sheet, spoil: Spoil, capture: Capture) -> Sheet:
    match spoil:
        case LostRows() if sheet.table in spoil.tables:
            chance = random.Random(f"{spoil.seed}:{sheet.table}:{capture.runs[0].report.name}")  # noqa: S311 - no secret
            return _kept(sheet, lambda _: chance.random() >= spoil.share)
        case LostTable() if sheet.table == spoil.table:
            return sheet._replace(rows=[])
        case LostProcess() if sheet.table in DEVICE_TABLES and capture.runs[0].report.name == spoil.report:
            process, column = GLOBAL_VID | spoil.pid << 24, sheet.columns.index("globalPid")
            return _kept(sheet, lambda row: row[column] != process)
        case Slice():
            return _cut(sheet, _cut_ns(spoil, capture))
        case DamagedTimes() if sheet.table == spoil.table:
            return _damaged(sheet, spoil)
    return sheet


def _kept(sheet: Sheet, wanted: Callable[[Row], bool]) -> Sheet:
    return sheet._replace(rows=[row for row in sheet.rows if wanted(row)])


def _cut_ns(spoil: Slice, capture: Capture) -> int:
    """Where the slice begins, on the report's axis: behind the beginning of its step in the first process.

    Raises:
        OptionValueError: when no step has that number.
    """
    for step in capture.runs[0].ranges:
        if step.step == spoil.step:
            return capture.clock.at(step.start_ns) + spoil.after_ns
    raise OptionValueError(f"no step {spoil.step} to cut at in {capture.runs[0].report.name}")


def _cut(sheet: Sheet, cut_ns: int) -> Sheet:
    if sheet.table in _ISSUED:
        start = sheet.columns.index("start")
        # Domains are opened before any capture begins and stay.
        domain = sheet.columns.index("eventType") if "eventType" in sheet.columns else start
        return _kept(sheet, lambda row: _number(row[start]) >= cut_ns or row[domain] == 75)
    if sheet.table in DEVICE_TABLES:
        end = sheet.columns.index("end")
        return _kept(sheet, lambda row: _number(row[end]) >= cut_ns)
    return sheet


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _damaged(sheet: Sheet, spoil: DamagedTimes) -> Sheet:
    start, end = sheet.columns.index("start"), sheet.columns.index("end")
    rows = list(sheet.rows)
    for place in range(spoil.every - 1, len(rows), spoil.every):
        row = list(rows[place])
        first, last = _number(row[start]), _number(row[end])
        row[start], row[end] = {
            Damage.ZERO: (0, 0),
            Damage.REVERSED: (last, first),
            Damage.MINIMUM: (_MINIMUM, _MINIMUM),
            Damage.FAR: (first + _FAR_NS, last + _FAR_NS),
        }[spoil.damage]
        rows[place] = tuple(row)
    return sheet._replace(rows=rows)
