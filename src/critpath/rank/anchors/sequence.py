"""The kernels of a unit in the order in which they ran, with what their names say: what device anchors are found in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64
from critpath.model.trace import UnitTrace
from critpath.rank.anchors.spellings import Spellings
from critpath.rank.launches import Launches
from critpath.rank.occupancy import KernelClasses

__all__ = ["MATERIAL_UPDATE", "KernelSequence", "kernel_sequence", "packed_codes"]

MATERIAL_UPDATE = 5e-4
"""Share of a unit's work below which kernels with an optimizer's name are more likely something else."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KernelSequence:
    """Kernels of one unit in order of their starts, arrays of shape (n,).

    Attributes:
        row: row of the unit's kernels.
        start_ns, duration_ns: device time.
        launch_ns: start of the API call that issued each; NULL where it was not captured.
        name: dense id of the name in [0, names).
        shape: dense id of name, grid and block in [0, shapes).
        stream: dense id of (context, stream).
        communication, backward: what the name says; see `Spellings.is_backward`.
        optimizer: whether it updates parameters, by its name; none where such kernels do next to no work (P20).
        span_ns: from the first start to the last end.
    """

    row: I64
    start_ns: I64
    duration_ns: I64
    launch_ns: I64
    name: I64
    shape: I64
    stream: I64
    communication: Mask
    optimizer: Mask
    backward: Mask
    names: int
    span_ns: int

    def __len__(self) -> int:
        return int(self.start_ns.size)

    def compute_before(self) -> I64:
        """Compute kernels before each kernel, and at the end all of them; shape (n + 1,).

        Distances counted in kernels are blind to jitter, waits and warm-up, which distances in time are not.
        """
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(~self.communication)])


def kernel_sequence(unit: UnitTrace, launched: Launches, classes: KernelClasses) -> KernelSequence:
    """The kernels of a unit in order."""
    kernels = unit.kernels
    starts = kernels.start_ns
    order = np.arange(len(kernels)) if (starts[1:] >= starts[:-1]).all() else np.argsort(starts, kind="stable")
    first, name = group_rows(kernels.name)
    spellings = Spellings.bundled()
    backward = np.array([spellings.is_backward(unit.strings[i]) for i in kernels.name[first].tolist()], np.bool_)
    optimizer = classes.rows_where(lambda c: c.family == "optimizer")
    work = kernels.durations_ns
    if work[optimizer].sum() < MATERIAL_UPDATE * work.sum():
        optimizer = np.zeros_like(optimizer)
    name = name.astype(np.int64)[order]
    ends = kernels.end_ns[order]
    starts = starts[order]
    return KernelSequence(
        row=order.astype(np.int64),
        start_ns=starts,
        duration_ns=ends - starts,
        launch_ns=launched.times_ns(launched.kernels)[order],
        name=name,
        shape=packed_codes(name, kernels.grid[order], kernels.block[order]),
        stream=packed_codes(kernels.context[order], kernels.stream[order]),
        communication=classes.communication[order],
        optimizer=optimizer[order],
        backward=backward[name] if backward.size else np.zeros(0, np.bool_),
        names=first.size,
        span_ns=int(ends.max() - starts[0]) if starts.size else 0,
    )


def packed_codes(*columns: I64) -> I64:
    """Dense ids of rows that agree in all columns, shape (n,)."""
    _, code = group_rows(*columns)
    return code.astype(np.int64)
