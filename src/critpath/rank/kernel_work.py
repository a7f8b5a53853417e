"""Kernels of a selection by name: how often each ran, and how long in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.rank.process_ops import ProcessOps

__all__ = ["KernelWork", "by_count", "by_work", "kernel_work"]


@dataclass(frozen=True, slots=True)
class KernelWork:
    """A kernel name: its executions, and their durations added up: a volume of work."""

    name: str
    count: int
    work_ns: int


def kernel_work(ops: ProcessOps, kernels: npt.NDArray[np.integer], work_ns: I64) -> list[KernelWork]:
    """Each kernel name once, in no order that means anything.

    Args:
        ops: of the process.
        kernels: rows of `ops`, kernels only.
        work_ns: what to count of each of them, shape of `kernels`.
    """
    ids, code = np.unique(ops.name[kernels], return_inverse=True)
    work = np.zeros(ids.size, np.int64)
    np.add.at(work, code, work_ns)
    counts = np.bincount(code, minlength=ids.size).tolist()
    found: dict[str, KernelWork] = {}
    for name, count, ns in zip((ops.strings[i] for i in ids.tolist()), counts, work.tolist(), strict=True):
        # An export may hold one text under several ids.
        known = found.get(name, KernelWork(name, 0, 0))
        found[name] = KernelWork(name, known.count + count, known.work_ns + ns)
    return list(found.values())


def by_work(row: KernelWork) -> tuple[int, str]:
    """Sorts the name with the most work first."""
    return -row.work_ns, row.name


def by_count(row: KernelWork) -> tuple[int, int, str]:
    """Sorts the name with the most executions first, of equally many the one with the most work."""
    return -row.count, -row.work_ns, row.name
