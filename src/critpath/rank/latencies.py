"""Latencies of a unit, measured: from a launch call to its op, and between dependent ops of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.rank.process_ops import ProcessOps

__all__ = ["Latencies", "latencies"]

ASSUMED_LOW_NS, ASSUMED_HIGH_NS = 5_000, 15_000
"""Launch latency and usual gap where too few samples tell them; grade `assumed`."""

LONG_CALL = 3.0
"""A launch call of more than this many medians was held up."""

_ENOUGH = 30


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of one unit [ns].

    Attributes:
        low_ns, high_ns: 5th and 95th percentile of the launch latency.
        launch_samples: ops it was measured on; the values are assumed below 30.
        back_to_back_ns: 95th percentile of the gap between dependent ops of a stream.
        gap_samples: gaps it was measured on.
        long_call_ns: a launch call longer than this was held up.
    """

    low_ns: int
    high_ns: int
    launch_samples: int
    back_to_back_ns: int
    gap_samples: int
    long_call_ns: int


def latencies(ops: ProcessOps, mine: npt.NDArray[np.bool_], latest: I64) -> Latencies:
    """The latencies of the ops of one unit.

    Args:
        ops: all ops of the process.
        mine: which of them are this unit's.
        latest: the producer of each op with the latest end, -1 without one.
    """
    called, returned = ops.called_ns(), ops.returned_ns()
    linked = mine & (called != NULL) & ~ops.graph_node
    lengths = (returned - called)[linked]
    long_call = int(LONG_CALL * float(np.median(lengths))) if lengths.size else ASSUMED_HIGH_NS
    done = np.where(latest >= 0, ops.end_ns[np.maximum(latest, 0)], NULL)
    sample = linked & (done < called) & (returned - called <= long_call)
    delays = (ops.start_ns - called)[sample]
    delays = delays[delays >= 0]
    enough = delays.size >= _ENOUGH
    low, high = (
        (int(np.quantile(delays, 0.05)), int(np.quantile(delays, 0.95)))
        if enough
        else (ASSUMED_LOW_NS, ASSUMED_HIGH_NS)
    )
    gaps = _dependent_gaps(ops, linked, low)
    return Latencies(
        low_ns=low,
        high_ns=high,
        launch_samples=int(delays.size),
        back_to_back_ns=int(np.quantile(gaps, 0.95)) if gaps.size >= _ENOUGH else ASSUMED_HIGH_NS,
        gap_samples=int(gaps.size),
        long_call_ns=long_call,
    )


def _dependent_gaps(ops: ProcessOps, linked: npt.NDArray[np.bool_], low_ns: int) -> I64:
    """Gaps between neighbours on a stream where the later one was ready before the earlier one ended."""
    ready = ops.called_ns() + low_ns
    gap = ops.start_ns[1:] - ops.end_ns[:-1]
    dependent = linked[1:] & (ops.queue[1:] == ops.queue[:-1]) & (ready[1:] <= ops.end_ns[:-1]) & (gap >= 0)
    found: I64 = gap[dependent]
    return found
