"""Bus bandwidth of matched collectives: what each link must have carried over the shortest participant's time.

A lower bound, for the shortest participant may have waited too. None without all participants and all sizes: from one
rank's kernel no transfer can be told (P06). Source of the factors: the performance page of NVIDIA's nccl-tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.run.collectives import Matches
from critpath.run.units import RunUnit

__all__ = ["bus_bandwidths"]

_FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    # One rank's part, or one peer's, is what NCCL tells: n of them are the whole.
    "all_gather": lambda n: float(n - 1),
    "reduce_scatter": lambda n: float(n - 1),
    "all_to_all": lambda n: float(n - 1),
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
    "send_recv": lambda n: 1.0,
}


def bus_bandwidths(units: Sequence[RunUnit], matches: Matches, community: int, instances: I64) -> float | None:
    """GB/s of one communicator over some of its instances; None where sizes or participants are missing.

    Args:
        units: all units.
        matches: their collectives.
        community: entry of `matches.communicators`.
        instances: of that communicator.
    """
    told = matches.communicators[community]
    if told.ranks is None or told.ranks < 2 or not instances.size:
        return None
    whole = instances[matches.participants()[instances] == told.ranks]
    if not whole.size:
        return None
    first = np.searchsorted(matches.instance, whole)
    carried = 0.0
    for row, kind in zip(first.tolist(), matches.kind[whole].tolist(), strict=True):
        size = int(units[int(matches.unit[row])].collectives.bytes[matches.op[row]])
        factor = _FACTORS.get(matches.kinds[kind])
        if size == NULL or factor is None:
            return None
        carried += size * factor(told.ranks)
    time_ns = float(matches.proxy_ns[whole].sum())
    return carried / time_ns if time_ns > 0 and carried > 0 else None
