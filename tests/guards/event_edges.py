"""Dependencies that event waits bring: those of the execution, and those that the analysis resolves."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

from critpath.ingest.trace import read_trace
from critpath.model.identity import pid_of
from critpath.model.taxonomy import Taxonomy
from critpath.rank.edges import EDGE_KINDS, edges
from critpath.rank.process_facts import process_facts
from critpath.sim import Simulation

__all__ = ["EventEdges", "found_edges", "true_edges"]

EventEdges = dict[tuple[int, int], set[tuple[int, int, int, int]]]
"""By (place of the report, pid): (op, producer, wait on the op's own stream, its record), all as correlation ids."""


def true_edges(simulation: Simulation) -> EventEdges:
    """What each op really waited for through an event, relays resolved."""
    told = json.loads(simulation.causes_path.read_text(encoding="utf-8"))
    ops, rows = told["ops"], told["edges"]
    found: EventEdges = defaultdict(set)
    for kind, op, producer, path in zip(rows["kind"], rows["op"], rows["producer"], rows["path"], strict=True):
        if kind == "event_wait":
            ids = ops["correlation_id"]
            found[ops["report"][op], ops["pid"][op]].add((ids[op], ids[producer], *path[0]))
    return dict(found)


def found_edges(simulation: Simulation) -> EventEdges:
    """What the analysis says each op waited for through an event."""
    found: EventEdges = {}
    for report, path in enumerate(simulation.exports):
        trace = read_trace(path)
        for process in sorted(set(trace.kernels.process.tolist())):
            facts = process_facts(trace, process, Taxonomy.bundled())
            table = edges(facts)
            rows = np.flatnonzero(table.kind == EDGE_KINDS.index("event_wait"))
            ids = facts.ops.correlation
            columns = (ids[table.op[rows]], ids[table.producer[rows]], table.wait[rows], table.record[rows])
            found[report, pid_of(process)] = set(zip(*(c.tolist() for c in columns), strict=True))
    return found
