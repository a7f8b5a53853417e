"""What an op waited for: its producers, the chain behind them, and who owned the time in which it could not start.

I                     P.end
│ D  (class of D) ░ C ├──── K        from K back: C is K's latest producer, D is C's;
└─────────────────────┘              between them nobody ran: a stall, or a late launch of C
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from critpath.sim.executed import Edge, EdgeKind, Op, OpKind
from critpath.sim.instructions import Copy, Kernel
from critpath.sim.traced import shown_as

__all__ = ["Bucket", "Dependencies", "Part", "latest", "op_class"]

_KNOWN_EDGES = (
    EdgeKind.STREAM_ORDER,
    EdgeKind.EVENT_WAIT,
    EdgeKind.LEGACY_STREAM,
    EdgeKind.GRAPH_ORDER,
    EdgeKind.PROGRAMMATIC,
)
"""Kinds of edges that an analysis can know of. An early start is a matter of stream order too."""
_SEEN_THROUGH = (EdgeKind.HOST_CALLBACK, EdgeKind.UVM)
"""Kinds of which an analysis sees the stream order but not what happens behind the producer."""
_COPIES = {1: "copy_h2d", 2: "copy_d2h", 8: "copy_d2d", 10: "copy_p2p", 11: "uvm", 12: "uvm", 13: "uvm"}
"""By the export's copy kinds."""


class Bucket(StrEnum):
    """What a moment without compute is booked under."""

    LAUNCH_STARVED = "launch_starved"
    BLOCKING = "blocking"
    DEPENDENCY_STALLED = "dependency_stalled"
    OPAQUE_GRAPH = "opaque_graph"


class Part(NamedTuple):
    """Part of an interval without compute, in true time [ns].

    `label` is the part of launch-starved time, the class of blocking time, or the reason of dependency-stalled time;
    empty for opaque graphs. `op` ran meanwhile: the op of the chain, or the one that blocked. `cause` is what the
    launching thread did, and `waits_on` the class of the op that held it inside a call; both only when launch-starved.
    """

    start_ns: int
    end_ns: int
    bucket: Bucket
    label: str
    op: Op | None = None
    cause: str | None = None
    waits_on: str | None = None


def latest(edges: Sequence[Edge]) -> Op | None:
    """The producer that ended last; of several the one whose edge comes first."""
    return max((edge.producer for edge in edges), key=attrgetter("end_ns"), default=None)


def op_class(op: Op) -> str:
    """The class that an op's running time has as a cause.

    Communication is classed by its collective's backend, whatever its kernel is called.
    """
    if op.kind is OpKind.COMMUNICATION:
        if op.collective is not None:
            return op.collective.collective.communicator.backend
        return (op.what.communication if isinstance(op.what, Kernel) else None) or "other"
    if op.kind is OpKind.COPY:
        return _COPIES[op.what.direction] if isinstance(op.what, Copy) else "other:host_callback"
    return op.kind.name.lower()


def _migrates(op: Op) -> bool:
    """Whether the op moves managed memory: rows of such ops name no stream, so no analysis can order them."""
    return op.kind is OpKind.COPY and op_class(op) == "uvm"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What ops wait for, as the capture shows them ("node" or "graph" for CUDA graphs)."""

    graph_trace: str

    def edges(self, op: Op) -> tuple[Edge, ...]:
        """The edges that an analysis can know of.

        A graph launch as producer is the op that stands for it, a migration is what it waited for itself.
        """
        found: list[Edge] = []
        for edge in op.edges:
            kind = edge.kind
            if kind not in _KNOWN_EDGES and kind not in _SEEN_THROUGH:
                continue
            producer = shown_as(edge.producer, self.graph_trace)
            if _migrates(producer):
                found += self.edges(producer)
            elif producer is edge.producer and kind in _KNOWN_EDGES:
                found.append(edge)
            else:
                found.append(edge._replace(producer=producer, delay_ns=edge.delay_ns if kind in _KNOWN_EDGES else 0))
        return tuple(found)

    def latest(self, op: Op) -> Op | None:
        """The op's producer that ended last."""
        return latest(self.edges(op))

    def running(self, op: Op | None, begin_ns: int, end_ns: int) -> list[tuple[int, int, Op]]:
        """When `op` or an op of its chain ran between two instants: spans in time order that don't overlap."""
        found: list[tuple[int, int, Op]] = []
        while op is not None and op.end_ns > begin_ns:
            start_ns, until_ns = max(begin_ns, op.start_ns), min(end_ns, op.end_ns)
            if start_ns < until_ns:
                found.append((start_ns, until_ns, op))
                end_ns = start_ns
            op = self.latest(op)
        return found[::-1]

    def blocking(self, producer: Op, begin_ns: int, end_ns: int) -> list[Part]:
        """Who owned the time from `begin_ns` to the end of `producer` at `end_ns`: the walk back, in time order."""
        parts: list[Part] = []
        op: Op | None = producer
        now_ns = end_ns
        while op is not None and now_ns > begin_ns:
            start_ns = max(begin_ns, op.start_ns)
            if start_ns < now_ns:
                parts.append(Part(start_ns, now_ns, Bucket.BLOCKING, op_class(op), op))
            now_ns = min(now_ns, start_ns)
            before = self.latest(op)
            free_ns = begin_ns if before is None else max(begin_ns, min(before.end_ns, now_ns))
            ready_ns = max(free_ns, min(op.ready_ns, now_ns))
            stalled = self.unexplained(op, ready_ns, now_ns)
            for held_ns, until_ns, label, by in reversed(stalled):
                found = "other:uvm" if label == "uvm" else label or "stall"
                parts.append(Part(held_ns, until_ns, Bucket.BLOCKING, found, by or op))
            if free_ns < ready_ns:
                parts.append(Part(free_ns, ready_ns, Bucket.BLOCKING, "late_launch", op))
            op, now_ns = before, free_ns
        return parts[::-1]

    def stalled(self, op: Op, begin_ns: int, end_ns: int) -> list[Part]:
        """Why `op` had not started though it was issued and its producers had ended."""
        settled_ns = max((e.producer.end_ns + e.delay_ns for e in self.edges(op)), default=begin_ns)
        settled_ns = max(begin_ns, min(settled_ns, end_ns))
        usual = [Part(begin_ns, settled_ns, Bucket.DEPENDENCY_STALLED, "back_to_back")] if begin_ns < settled_ns else []
        rest = self.unexplained(op, settled_ns, end_ns)
        return usual + [Part(s, e, Bucket.DEPENDENCY_STALLED, label or "unknown", by) for s, e, label, by in rest]

    def unexplained(self, op: Op, begin_ns: int, end_ns: int) -> list[tuple[int, int, str | None, Op | None]]:
        """Time in which neither a producer nor its launch held `op`, by the mechanism that did.

        Earlier copies on a copy's engine own the time in which they ran. None stands for the machine's own gaps.
        """
        spans = [*_engine_spans(op, begin_ns, end_ns), *_mechanism_spans(op, begin_ns, end_ns)]
        found: list[tuple[int, int, str | None, Op | None]] = []
        now_ns = begin_ns
        for start_ns, until_ns, label, by in sorted(spans, key=lambda span: span[:2]):
            first_ns = max(now_ns, start_ns)
            if first_ns >= until_ns:
                continue
            if now_ns < first_ns:
                found.append((now_ns, first_ns, None, None))
            found.append((first_ns, until_ns, label, by))
            now_ns = until_ns
        if now_ns < end_ns:
            found.append((now_ns, end_ns, None, None))
        return found


_Span = tuple[int, int, str, Op]


def _span(begin_ns: int, end_ns: int, by: Op, held: tuple[int, int], label: str) -> Iterator[_Span]:
    """The part of `held` between two instants, if any, with its label and the op that caused it."""
    start_ns, until_ns = max(begin_ns, held[0]), min(end_ns, held[1])
    if start_ns < until_ns:
        yield start_ns, until_ns, label, by


def _engine_spans(op: Op, begin_ns: int, end_ns: int) -> Iterator[_Span]:
    """When earlier copies held the engine that `op` needed."""
    holder: Op | None = op
    while holder is not None and holder.start_ns > begin_ns:
        holder = next((edge.producer for edge in holder.edges if edge.kind is EdgeKind.COPY_ENGINE), None)
        if holder is not None:
            yield from _span(begin_ns, end_ns, holder, (holder.start_ns, holder.end_ns), op_class(holder))


def _mechanism_spans(op: Op, begin_ns: int, end_ns: int) -> Iterator[_Span]:
    """When mechanisms outside the analysis's model held `op`; the one that let go first is named first.

    What an analysis sees through counts from its producer's end, a migration while it ran, any other mechanism from the
    moment when nothing else held the op.
    """
    for edge in op.edges:
        kind, producer = edge.kind, edge.producer
        if kind in _KNOWN_EDGES or kind in _SEEN_THROUGH:
            if _migrates(producer):
                yield from _span(begin_ns, end_ns, producer, (producer.start_ns, producer.end_ns), "uvm")
                yield from _mechanism_spans(producer, begin_ns, end_ns)
            elif kind in _SEEN_THROUGH:
                let_go_ns = edge.freed_ns + edge.delay_ns
                yield from _span(begin_ns, end_ns, producer, (edge.freed_ns, let_go_ns), f"other:{kind.value}")
        elif kind is not EdgeKind.COPY_ENGINE:
            let_go_ns = edge.freed_ns + edge.delay_ns
            yield from _span(begin_ns, end_ns, producer, (begin_ns, let_go_ns), f"other:{kind.value}")
