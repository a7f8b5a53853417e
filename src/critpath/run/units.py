"""What the run layer knows of each unit: its summary's parts that only several units together can explain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64
from critpath.rank.collective_ops import CollectiveOps, Membership
from critpath.rank.path_segments import PathSegments
from critpath.rank.windows import Windows

__all__ = ["CLOCK_ERROR_NS", "JobSteps", "RunUnit", "job_steps"]

CLOCK_ERROR_NS = 150_000_000
"""How far UTC of two hosts is taken to be apart at most: three times what NTP does badly."""


@dataclass(frozen=True, slots=True)
class RunUnit:
    """One analysed unit among others.

    Attributes:
        id: as in the report.
        place: its place among all units of the report.
        rank: its rank in the job; None = unknown.
        part: declared part of the model.
        host: key of its host, see `hosts`.
        zero_ns: UTC of its axis' zero after the rebase [ns]; None where the export tells no time.
        shared_clock: whether its zero was told by the monotonic clock of its host.
        windows: its steps.
        collectives: its kernels in which ranks meet, on its own axis.
        memberships: its communicators where they are told.
        counts: how often each kernel name and copy group ran a window: its fingerprint.
        totals: per window [ns]: compute busy, launch-starved and others; see `stragglers`.
        path: its critical path between the collectives on it.
        kernels: kernel name to (executions, work [ns]) over all windows, compute only.
    """

    id: str
    place: int
    rank: int | None
    part: str | None
    host: str
    zero_ns: int | None
    shared_clock: bool
    windows: Windows
    collectives: CollectiveOps
    memberships: tuple[Membership, ...]
    counts: dict[str, float]
    totals: dict[str, I64]
    kernels: dict[str, tuple[int, int]]
    path: PathSegments | None = None

    @property
    def step_texts(self) -> tuple[str, ...] | None:
        """Texts of all its steps where the host marks them and all differ: then they name a step of the job."""
        told = self.windows.host_steps
        if told is None or len(told.labels) < 2 or len(set(told.labels)) < len(told.labels):
            return None
        return told.labels

    @property
    def name(self) -> str:
        """How people call it."""
        return f"rank {self.rank}" if self.rank is not None else f"unit {self.id}"


@dataclass(frozen=True, slots=True)
class JobSteps:
    """Steps of the job, each with the window of every unit that has it.

    Attributes:
        labels: text of each step, shape (s,).
        window: place of the unit's window, -1 where it has none, shape (units, s).
        by_label: whether steps were matched by their text, which all units share; by their place otherwise.
    """

    labels: tuple[str, ...]
    window: I64
    by_label: bool

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def common(self) -> I64:
        """Steps that every unit has, shape (c,)."""
        return np.flatnonzero((self.window >= 0).all(axis=0)).astype(np.int64)


def job_steps(units: Sequence[RunUnit]) -> JobSteps:
    """The steps of all units side by side.

    Texts decide where each unit's are all different, as `iteration 12`; where they are not, the place among all steps
    that the unit's capture holds does, which is right as far as captures began together.
    """
    by_label = all(u.step_texts is not None for u in units) and _share_labels(units)
    found: dict[object, dict[int, int]] = {}
    order: dict[object, tuple[int, str]] = {}
    for place, unit in enumerate(units):
        for window, (index, label) in enumerate(zip(unit.windows.index.tolist(), unit.windows.labels, strict=True)):
            key = label if by_label else index
            found.setdefault(key, {})[place] = window
            order.setdefault(key, (index, label))
    keys = sorted(found, key=lambda key: (_first_start(units, found[key]), order[key]) if by_label else (order[key],))
    table = np.full((len(units), len(keys)), -1, np.int64)
    for step, key in enumerate(keys):
        for place, window in found[key].items():
            table[place, step] = window
    return JobSteps(tuple(order[key][1] for key in keys), table, by_label)


def _share_labels(units: Sequence[RunUnit]) -> bool:
    """Whether texts recur between units: texts that no two units share can't match their steps."""
    seen = Counter(label for unit in units for label in unit.windows.labels)
    return len(units) < 2 or any(n > 1 for n in seen.values())


def _first_start(units: Sequence[RunUnit], windows: dict[int, int]) -> int:
    return min(int(units[place].windows.index[window]) for place, window in windows.items())
