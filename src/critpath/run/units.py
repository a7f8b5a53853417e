"""What the run layer knows of each unit: its summary's parts that only several units together can explain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from critpath.base.intervals import I64
from critpath.rank.collective_ops import CollectiveOps, Membership
from critpath.rank.path_segments import PathSegments
from critpath.rank.windows import Windows

__all__ = ["CLOCK_ERROR_NS", "JobSteps", "RunUnit", "job_steps"]

_NUMBER = re.compile(r"\d+")

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
    def step_keys(self) -> tuple[str, ...] | None:
        """What names each of its steps on all units: its text, without numbers that stay the same on this one.

        `rank 3 step 12` and `rank 4 step 12` are one step. None where the host marks no steps, or texts recur.
        """
        told = self.windows.host_steps
        if told is None or len(told.labels) < 2 or len(set(told.labels)) < len(told.labels):
            return None
        numbers = [_NUMBER.findall(text) for text in told.labels]
        if len({_NUMBER.sub("#", text) for text in told.labels}) > 1:
            return told.labels
        vary = [len(set(column)) > 1 for column in zip(*numbers, strict=True)]
        pattern = _NUMBER.sub("#", told.labels[0])
        return tuple(
            f"{pattern} {' '.join(n for n, varies in zip(row, vary, strict=True) if varies)}" for row in numbers
        )

    @property
    def name(self) -> str:
        """How people call it."""
        return f"rank {self.rank}" if self.rank is not None else f"unit {self.id}"


@dataclass(frozen=True, slots=True)
class JobSteps:
    """Steps of the job, each with the window of every unit that has it.

    Attributes:
        labels: text of each step, as the first unit that has it says, shape (s,).
        keys: what names each step on all units; see `RunUnit.step_keys`.
        window: place of the unit's window, -1 where it has none, shape (units, s).
        by_key: whether steps were matched by what their texts name; by their place otherwise.
    """

    labels: tuple[str, ...]
    keys: tuple[str, ...]
    window: I64
    by_key: bool

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def common(self) -> I64:
        """Steps that every unit has, shape (c,)."""
        return np.flatnonzero((self.window >= 0).all(axis=0)).astype(np.int64)


def job_steps(units: Sequence[RunUnit]) -> JobSteps:
    """The steps of all units side by side.

    What their texts name decides where each unit's are all different, as `iteration 12`; where they are not, the place
    among all steps that the unit's capture holds does, which is right as far as captures began together.
    """
    named = [u.step_keys for u in units]
    by_key = all(keys is not None for keys in named)
    found: dict[str, dict[int, int]] = {}
    order: dict[str, tuple[int, str]] = {}
    for place, (unit, keys) in enumerate(zip(units, named, strict=True)):
        for window, (index, label) in enumerate(zip(unit.windows.index.tolist(), unit.windows.labels, strict=True)):
            key = keys[index] if by_key and keys is not None else str(index)
            found.setdefault(key, {})[place] = window
            order.setdefault(key, (index, label))
    keys_in_order = _in_order(units, found) if by_key else sorted(found, key=int)
    table = np.full((len(units), len(found)), -1, np.int64)
    for step, key in enumerate(keys_in_order):
        for place, window in found[key].items():
            table[place, step] = window
    return JobSteps(tuple(order[key][1] for key in keys_in_order), tuple(keys_in_order), table, by_key)


def _in_order(units: Sequence[RunUnit], found: dict[str, dict[int, int]]) -> list[str]:
    """Keys so that every unit's windows follow each other; units that share no step come one after the other."""
    numbers = {key: tuple(int(n) for n in _NUMBER.findall(key)) for key in found}
    first = {key: min(int(units[i].windows.index[w]) for i, w in at.items()) for key, at in found.items()}
    return sorted(found, key=lambda key: (numbers[key], first[key]))
