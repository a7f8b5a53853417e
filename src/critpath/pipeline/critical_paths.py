"""The critical path in the report's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from critpath.model.report import LIST_LIMIT, REST, CriticalPath, NearCritical, PathPart, cut
from critpath.model.report.critical_path import EdgeGrade, LinkKind
from critpath.model.values import NS_PER_MS
from critpath.rank.path_totals import PathLink, PathTotals

__all__ = ["report_critical_path"]


def report_critical_path(found: PathTotals, windows: int) -> CriticalPath:
    """The report's section.

    Args:
        found: totals over all windows.
        windows: number of windows.
    """
    whole_ns = sum(link.ns for link in found.links)

    def ms(total_ns: int) -> float:
        return total_ns / windows / NS_PER_MS

    def by(key: Callable[[PathLink], str]) -> dict[str, float]:
        return {name: ms(ns) for name, ns in _largest(found.links, key)}

    return CriticalPath(
        by_kind=cast("dict[LinkKind, float]", by(lambda link: link.kind)),
        by_class=by(lambda link: f"{link.kind}:{link.class_}"),
        by_place=by(lambda link: link.nvtx or "") if found.has_places else None,
        by_grade=cast("dict[EdgeGrade, float]", by(lambda link: link.grade)),
        top=cut([_part(link, ms, whole_ns) for link in found.links], _rest_of_parts),
        near=cut(
            [
                NearCritical(
                    kind=cast("LinkKind", n.kind),  # type: ignore[arg-type]
                    name=n.name,
                    class_=n.class_,
                    holds=n.holds,
                    slack_us=n.slack_ns / 1e3,
                    count=n.count,
                    windows=n.windows,
                )
                for n in found.near
            ],
            _rest_of_near,
        ),
    )


def _largest(links: Iterable[PathLink], key: Callable[[PathLink], str]) -> list[tuple[str, int]]:
    """(name, ns), largest first; the smallest of many are one `rest`."""
    total: dict[str, int] = {}
    for link in links:
        total[key(link)] = total.get(key(link), 0) + link.ns
    rows = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(rows) <= LIST_LIMIT:
        return rows
    # What is itself called `rest` would stand where the others are told.
    kept = [row for row in rows[:LIST_LIMIT] if row[0] != REST]
    return [*kept, (REST, sum(total.values()) - sum(ns for _, ns in kept))]


def _part(link: PathLink, ms: Callable[[int], float], whole_ns: int) -> PathPart:
    return PathPart(
        kind=cast("LinkKind", link.kind),
        class_=link.class_,
        name=link.name,
        nvtx=link.nvtx,
        grade=cast("EdgeGrade", link.grade),
        ms=ms(link.ns),
        share=link.ns / whole_ns,
        count=link.count,
    )


def _rest_of_parts(rest: Sequence[PathPart]) -> PathPart:
    return PathPart(
        kind="rest",
        class_=REST,
        name=REST,
        grade="rest",
        ms=sum(r.ms for r in rest),
        share=sum(r.share for r in rest),
        count=sum(r.count for r in rest),
    )


def _rest_of_near(rest: Sequence[NearCritical]) -> NearCritical:
    return NearCritical(
        kind="rest",
        name=REST,
        class_=REST,
        holds=REST,
        slack_us=min(r.slack_us for r in rest),
        count=sum(r.count for r in rest),
        windows=max(r.windows for r in rest),
    )
