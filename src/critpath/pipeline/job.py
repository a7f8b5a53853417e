"""What the user says of units: ranks, parts and hosts from the manifest, ranks from names where that was asked for.

A rank is believed in this order: the manifest, the user's expression over names, then what the capture itself states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from critpath.base.errors import OptionError
from critpath.ingest.label import identity
from critpath.ingest.source import InputFile
from critpath.model.identity import pid_of
from critpath.model.manifest import ReportRow
from critpath.model.report import Unit
from critpath.model.report.words import RankSource
from critpath.model.values import Unavailable
from critpath.pipeline.summaries import InputSummary, UnitSummary

__all__ = ["ranks_in_names", "with_named_rank", "with_nccl_ranks", "with_rows", "without_duplicate_ranks"]

T = TypeVar("T", int, str)

_MOST_RANKS = 10_000_000
_BY_TRUST: tuple[RankSource, ...] = ("manifest", "rank-regex", "nccl-nvtx", "mpi", "jax", "environment", "unknown")


def ranks_in_names(files: Sequence[InputFile], pattern: re.Pattern[str]) -> list[int | None]:
    """The rank in the name of each input, None where the expression doesn't match.

    Raises:
        OptionError: it matches no name, or what it finds is no rank.
    """
    found = [_rank_in_name(file.path.name, pattern) for file in files]
    if all(rank is None for rank in found):
        raise OptionError(
            f"{pattern.pattern!r} matches no input's name",
            where="--rank-regex",
            meaning="No rank could be read from a name, so nothing was analysed.",
            remedy=f"Names are: {', '.join(file.path.name for file in files[:5])}{', …' if len(files) > 5 else ''}",
        )
    return found


def with_named_rank(source: InputSummary, rank: int | None) -> InputSummary:
    """An input whose only unit has the rank of the input's name; one rank says nothing of several units."""
    if rank is None or len(source.units) != 1:
        return source
    return replace(source, units=(replace(source.units[0], rank=rank, rank_source="rank-regex"),))


def with_rows(source: InputSummary, path: Path, rows: Sequence[ReportRow]) -> InputSummary:
    """An input with what the manifest says of its path.

    Raises:
        OptionError: a row names what isn't there, or one rank for several units, or contradicts another.
    """
    resolved = identity(path)
    mine = [row for row in rows if identity(row.path) == resolved]
    if source.error is not None or not mine:
        return source
    for row in mine:
        _check_selection(source, row)
    return replace(source, units=tuple(_with_rows(unit, mine) for unit in source.units))


def with_nccl_ranks(sources: Sequence[InputSummary], ranks: int | None) -> list[InputSummary]:
    """Inputs whose units have the rank that NCCL's initialization gave them in the job's own communicator.

    That is the one communicator of the job's size; where nobody told the size, the largest of all, if there is just one
    of that size. A smaller one numbers the ranks of a part.

    Args:
        sources: with what users say of ranks, which is believed more.
        ranks: of the job, as its manifest declares.
    """
    sizes = {m.communicator: m.ranks for source in sources for unit in source.units for m in unit.memberships}
    told = {int(v) for s in sources for k, v in s.environment if k == "WORLD_SIZE" and v.isdigit()}
    size = ranks or (told.pop() if len(told) == 1 else max(sizes.values(), default=0))
    world = [key for key, ranks_there in sizes.items() if ranks_there == size]
    if len(world) != 1 or len(told) > 1:
        return list(sources)

    def named(unit: UnitSummary) -> UnitSummary:
        mine = [m.rank for m in unit.memberships if m.communicator == world[0]]
        if len(mine) != 1 or unit.rank_source in ("manifest", "rank-regex"):
            return unit
        return replace(unit, rank=mine[0], rank_source="nccl-nvtx")

    return [replace(source, units=tuple(named(unit) for unit in source.units)) for source in sources]


def without_duplicate_ranks(units: Sequence[Unit]) -> tuple[list[Unit], list[Unavailable]]:
    """Units that state one rank contradict one another, and the report says so.

    The most trusted statement stays where it is alone; of equally trusted ones none is believed.
    """
    stated: dict[int, list[Unit]] = {}
    for unit in units:
        if unit.rank is not None:
            stated.setdefault(unit.rank, []).append(unit)
    kept, doubted = [], []
    for i, unit in enumerate(units):
        rivals = [u for u in stated.get(unit.rank, []) if u is not unit] if unit.rank is not None else []
        trust = [_BY_TRUST.index(rival.rank_source) for rival in rivals]
        mine = _BY_TRUST.index(unit.rank_source)
        if all(mine < theirs for theirs in trust):
            kept.append(unit)
            continue
        others = ", ".join(rival.id for rival in rivals)
        believed = "neither is believed" if mine <= min(trust) else "which is believed more"
        reason = f"{unit.rank_source} states rank {unit.rank}, which {others} states too; {believed}"
        doubted.append(Unavailable(path=f"units[{i}].rank", reason=reason))
        kept.append(unit.model_copy(update={"rank": None, "rank_source": "unknown"}))
    return kept, doubted


def _rank_in_name(name: str, pattern: re.Pattern[str]) -> int | None:
    match = pattern.search(name)
    if match is None:
        return None
    text = match["rank"] if "rank" in pattern.groupindex else match[1]
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]+", text) or int(text) >= _MOST_RANKS:
        raise OptionError(
            f"{pattern.pattern!r} finds {text!r} in {name}, which is no rank",
            where="--rank-regex",
            meaning="No rank could be read from a name, so nothing was analysed.",
            remedy="The group must match digits only, as '_rank(\\d+)'.",
        )
    return int(text)


def _selects(row: ReportRow, unit: UnitSummary) -> bool:
    return row.pid in (None, pid_of(unit.key.process)) and row.device in (None, unit.key.device)


def _check_selection(source: InputSummary, row: ReportRow) -> None:
    selected = [unit for unit in source.units if _selects(row, unit)]
    there = ", ".join(f"pid {pid_of(u.key.process)} device {u.key.device}" for u in source.units) or "none"
    if len(selected) > 1 and row.rank is not None:
        raise OptionError(
            f"rank {row.rank} is given to {len(selected)} units of {source.path}",
            where=row.place,
            meaning="Which of them has the rank would be a guess, so nothing was analysed.",
            remedy=f"Add pid = … or device = …; its units: {there}",
        )
    # A process without device rows has no unit, and what is said of it is not wrong.
    without_unit = {pid_of(p.process) for p in source.processes} - {pid_of(u.key.process) for u in source.units}
    if selected or (row.pid is None and row.device is None) or row.pid in without_unit:
        return
    named = " ".join(f"{k} {v}" for k, v in (("pid", row.pid), ("device", row.device)) if v is not None)
    raise OptionError(
        f"{source.path} holds no unit of {named}",
        where=row.place,
        meaning="What is said of it can't be told of any unit, so nothing was analysed.",
        remedy=f"Its units: {there}",
    )


def _with_rows(unit: UnitSummary, rows: Sequence[ReportRow]) -> UnitSummary:
    selecting = [row for row in rows if _selects(row, unit)]
    rank = _agreed(selecting, "rank", [row.rank for row in selecting])
    part = _agreed(selecting, "part", [row.part for row in selecting])
    host = _agreed(selecting, "host", [row.host for row in selecting])
    named = unit if rank is None else replace(unit, rank=rank, rank_source="manifest")
    return replace(named, part=part, host=host)


def _agreed(rows: Sequence[ReportRow], what: str, values: Sequence[T | None]) -> T | None:
    """The one value that rows give, None where none gives any."""
    said = {value: row.place for row, value in zip(rows, values, strict=True) if value is not None}
    if len(said) > 1:
        (first, place), (second, other), *_ = said.items()
        raise OptionError(
            f"{what} {second} contradicts {what} {first}, in {place}",
            where=other,
            meaning="Both speak of one unit, so nothing was analysed.",
            remedy="Leave one of them out, or tell the units apart by pid = … or device = …",
        )
    return next(iter(said), None)
