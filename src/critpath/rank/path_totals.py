"""Critical paths of all windows of a unit, added up; and what was close to being on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.rank.attribution import ProcessFacts
from critpath.rank.critical_path import LINK_KINDS, CriticalPath
from critpath.rank.edges import GRADES
from critpath.rank.latencies import Latencies
from critpath.rank.nvtx.places import Labels
from critpath.rank.windows import Windows

__all__ = ["NEAR_SHARE", "NearLink", "PathLink", "PathTotals", "path_totals"]

NEAR_SHARE = 0.01
"""A chain that would bind once the path is shorter by less than this share of its window is near-critical."""


@dataclass(frozen=True, slots=True)
class PathLink:
    """Links of one kind, class, name, place and grade, over all windows [ns]; None where there is no name or place."""

    kind: str
    class_: str
    name: str | None
    nvtx: str | None
    grade: str
    ns: int
    count: int


@dataclass(frozen=True, slots=True)
class NearLink:
    """What nearly held an op of the path: a producer, or the op's own launch.

    Attributes:
        kind: `op` for a producer, `launch` for the op's launch.
        name: of the producer; of the op itself for its launch.
        class_: class of that op.
        holds: name of the op on the path that it nearly held.
        slack_ns: least time by which something else held it longer.
        count: how often, over all windows.
        windows: in how many windows.
    """

    kind: str
    name: str
    class_: str
    holds: str
    slack_ns: int
    count: int
    windows: int


@dataclass(frozen=True, slots=True)
class PathTotals:
    """The critical paths of a unit; the links, and so each set of totals, add up to all windows [ns].

    Attributes:
        links: largest first.
        near: most frequent first.
    """

    links: tuple[PathLink, ...]
    near: tuple[NearLink, ...]
    has_places: bool


def path_totals(
    facts: ProcessFacts, path: CriticalPath, windows: Windows, measured: Latencies, places: Labels | None
) -> PathTotals:
    """Totals of the paths of one unit.

    Args:
        facts: ops and dependencies of the process.
        path: links of all windows.
        windows: the windows.
        measured: the unit's latencies.
        places: where ops were launched, None where the process has no NVTX range.
    """
    return PathTotals(_links(path, places), _near(facts, path, windows, measured), places is not None)


def _links(path: CriticalPath, places: Labels | None) -> tuple[PathLink, ...]:
    place = path.place(places)
    first, group = group_rows(path.kind, path.class_index, path.name, place, path.grade)
    total = np.zeros(first.size, np.int64)
    np.add.at(total, group, path.lengths_ns)
    count = np.bincount(group, minlength=first.size)
    rows = [
        PathLink(
            kind=LINK_KINDS[path.kind[row]],
            class_=path.classes[path.class_index[row]],
            name=path.names[path.name[row]] if path.name[row] >= 0 else None,
            nvtx=places.texts[place[row]] if places is not None and place[row] >= 0 else None,
            grade=GRADES[path.grade[row]],
            ns=int(total[i]),
            count=int(count[i]),
        )
        for i, row in enumerate(first.tolist())
    ]
    return tuple(sorted(rows, key=lambda r: (-r.ns, r.kind, r.name or "", r.nvtx or "", r.grade)))


def _near(facts: ProcessFacts, path: CriticalPath, windows: Windows, measured: Latencies) -> tuple[NearLink, ...]:
    """Edges and launches of ops on the path that something else outlasted by less than a share of the window."""
    ops, order = facts.ops, facts.known.order
    ran = np.flatnonzero((path.kind == LINK_KINDS.index("op")) & (path.op >= 0))
    if not ran.size:
        return ()
    # One row an op and window: a link is cut where the window ends, never twice inside one.
    op, window = path.op[ran], path.window[ran]
    called = ops.called_ns()[op]
    ready = np.where(called == NULL, NULL, called + measured.of(ops.by_graph[op], "low_ns"))
    latest = facts.known.latest[op]
    done = np.where(latest >= 0, ops.end_ns[np.maximum(latest, 0)], NULL)
    bound = np.maximum(ready, done)
    limit = (NEAR_SHARE * windows.lengths_ns[window]).astype(np.int64)
    # The first op of a window was held before it began: what held it there is not this window's.
    inside = bound > windows.starts_ns[window]
    launch = np.flatnonzero(inside & (ready != NULL) & (done > ready) & (done - ready < limit))
    edges = order.first[op + 1] - order.first[op]
    repeated = np.repeat(np.arange(op.size), edges)
    within = np.arange(repeated.size) - np.repeat(np.cumsum(edges) - edges, edges)
    producer = order.producer[order.first[op[repeated]] + within]
    slack = bound[repeated] - ops.end_ns[producer]
    on_path = np.isin(_pairs(window[repeated], producer, len(ops)), _pairs(window, op, len(ops)))
    close = inside[repeated] & ~on_path & (slack >= 0) & (slack < limit[repeated])
    by_edge = repeated[close]
    return _near_rows(
        facts,
        window=np.concatenate([window[launch], window[by_edge]]),
        held=np.concatenate([op[launch], op[by_edge]]),
        holder=np.concatenate([op[launch], producer[close]]),
        slack_ns=np.concatenate([(done - ready)[launch], slack[close]]),
    )


def _pairs(window: I64, op: I64, n: int) -> I64:
    return window * n + op


def _near_rows(facts: ProcessFacts, *, window: I64, held: I64, holder: I64, slack_ns: I64) -> tuple[NearLink, ...]:
    ops = facts.ops

    def named(rows: I64) -> I64:
        return np.where(ops.name[rows] >= 0, ops.name[rows], -2 - ops.class_index[rows])

    def spelled(code: int) -> str:
        return ops.strings[code] if code >= 0 else ops.classes[-2 - code]

    launch = (held == holder).astype(np.int64)
    names = named(holder), named(held)
    first, group = group_rows(launch, *names, ops.class_index[holder])
    least = np.full(first.size, np.iinfo(np.int64).max)
    np.minimum.at(least, group, slack_ns)
    count = np.bincount(group, minlength=first.size)
    pair, _ = group_rows(group.astype(np.int64), window)
    in_windows = np.bincount(group[pair], minlength=first.size)
    rows = [
        NearLink(
            kind="launch" if launch[row] else "op",
            name=spelled(int(names[0][row])),
            class_=ops.classes[ops.class_index[holder[row]]],
            holds=spelled(int(names[1][row])),
            slack_ns=int(least[i]),
            count=int(count[i]),
            windows=int(in_windows[i]),
        )
        for i, row in enumerate(first.tolist())
    ]
    return tuple(sorted(rows, key=lambda r: (-r.windows, -r.count, r.slack_ns, r.name, r.holds)))
