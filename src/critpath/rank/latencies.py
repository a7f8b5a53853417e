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
_USUAL_MEDIANS = 3.0


@dataclass(frozen=True, slots=True)
class LaunchLatency:
    """From the start of a launch call to the start of its op [ns].

    Attributes:
        low_ns, high_ns: 5th and 95th percentile; assumed where there are fewer than 30 samples.
        samples: ops it was measured on.
        long_call_ns: a call longer than this was held up.
    """

    low_ns: int
    high_ns: int
    samples: int
    long_call_ns: int


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of one unit.

    Attributes:
        launch: of ordinary launches.
        graph: of graph launches, to their first op: one call hands over many nodes.
        back_to_back_ns: 95th percentile of the gap between dependent ops of a stream.
        across_ns: the same between an op and a producer on another stream, which an event tells it of.
        gap_samples: gaps either was measured on.
    """

    launch: LaunchLatency
    graph: LaunchLatency
    back_to_back_ns: int
    across_ns: int
    gap_samples: tuple[int, int]

    def of(self, by_graph: npt.NDArray[np.bool_], field: str) -> I64:
        """A field of the launch latency that applies to each op, by whether a graph launched it."""
        chosen: I64 = np.where(by_graph, getattr(self.graph, field), getattr(self.launch, field)).astype(np.int64)
        return chosen

    def usual_gap_ns(self, ops: ProcessOps, waiting: I64, producer: I64) -> I64:
        """The usual gap between each op and its producer [ns], by whether they share a stream."""
        across = ops.queue[np.maximum(waiting, 0)] != ops.queue[np.maximum(producer, 0)]
        return np.where(across, self.across_ns, self.back_to_back_ns).astype(np.int64)


def latencies(ops: ProcessOps, mine: npt.NDArray[np.bool_], latest: I64) -> Latencies:
    """The latencies of the ops of one unit.

    Args:
        ops: all ops of the process.
        mine: which of them are this unit's.
        latest: the producer of each op with the latest end, -1 without one.
    """
    linked = mine & (ops.call >= 0)
    alone = linked & ~ops.by_graph
    first_of_graph = linked & ops.by_graph & ~ops.later_node
    launch = _launch(ops, alone, latest)
    same, other = _dependent_gaps(ops, alone, latest, launch.low_ns)
    return Latencies(
        launch=launch,
        graph=_launch(ops, first_of_graph, latest),
        back_to_back_ns=_usual(same),
        across_ns=_usual(other),
        gap_samples=(int(same.size), int(other.size)),
    )


def _launch(ops: ProcessOps, rows: npt.NDArray[np.bool_], latest: I64) -> LaunchLatency:
    """Measured on ops whose producers had all ended before the call began, and whose call was not held up."""
    called, returned = ops.called_ns()[rows], ops.returned_ns()[rows]
    lengths = returned - called
    long_call = int(LONG_CALL * float(np.median(lengths))) if lengths.size else ASSUMED_HIGH_NS
    producer = latest[rows]
    done = np.where(producer >= 0, ops.end_ns[np.maximum(producer, 0)], NULL) if producer.size else producer
    delays = (ops.start_ns[rows] - called)[(done < called) & (lengths <= long_call)]
    delays = delays[delays >= 0]
    enough = delays.size >= _ENOUGH
    low = int(np.quantile(delays, 0.05)) if enough else ASSUMED_LOW_NS
    high = int(np.quantile(delays, 0.95)) if enough else ASSUMED_HIGH_NS
    return LaunchLatency(low, high, int(delays.size), long_call)


def _usual(gaps_ns: I64) -> int:
    """The usual gap [ns]: what holds more than one op in twenty, a shared GPU or queue, must not pass for usual."""
    if gaps_ns.size < _ENOUGH:
        return ASSUMED_HIGH_NS
    middle, high = np.quantile(gaps_ns, [0.5, 0.95])
    return int(min(high, max(ASSUMED_HIGH_NS, _USUAL_MEDIANS * middle)))


def _dependent_gaps(ops: ProcessOps, linked: npt.NDArray[np.bool_], latest: I64, low_ns: int) -> tuple[I64, I64]:
    """Gaps from the latest producer's end of ops that were ready before it: (same stream, another stream)."""
    rows = np.flatnonzero(linked & (latest >= 0))
    producer = latest[rows]
    done = ops.end_ns[producer]
    gap = ops.start_ns[rows] - done
    dependent = (ops.called_ns()[rows] + low_ns <= done) & (gap >= 0)
    same = ops.queue[rows] == ops.queue[producer]
    return gap[dependent & same], gap[dependent & ~same]
