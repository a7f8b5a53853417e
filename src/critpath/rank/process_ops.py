"""All device ops of one process in one table: what dependencies are resolved over.

Edges cross devices within a process, so one process is resolved as a whole and its units are analysed from that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from critpath.base.grouping import group_rows
from critpath.base.intervals import I64, Intervals
from critpath.model.identity import NULL, join_index
from critpath.model.tables import Copies, CopyKind, DeviceOps, GraphLaunches, Kernels, Memsets, RuntimeCalls
from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import Strings, Trace
from critpath.rank.copy_collectives import collective_copies
from critpath.rank.copy_groups import CopyGroup, copy_groups
from critpath.rank.occupancy import KernelClasses, kernel_classes

__all__ = ["COMPUTE", "GRAPH", "MEMSET", "ProcessOps", "process_ops"]

COMPUTE, MEMSET, GRAPH = "compute", "memset", "graph"

_COPY_CLASSES = {
    CopyKind.H2D: "copy_h2d",
    CopyKind.D2H: "copy_d2h",
    CopyKind.D2D: "copy_d2d",
    CopyKind.P2P: "copy_p2p",
    3: "copy_h2d",
    4: "copy_d2h",
    5: "copy_d2d",
    6: "copy_d2d",
    7: "copy_d2d",
}
"""Class of a copy by its kind; arrays live on the device."""


@dataclass(frozen=True, slots=True)
class ProcessOps:
    """Device ops of a process, ordered by (stream, start), each array of shape (n,). Migrations are left out.

    Attributes:
        start_ns, end_ns: device time.
        device, context, stream: where it ran.
        queue: dense number of (context, stream), in [0, len(queues)).
        queues: (context, stream) of each queue.
        correlation: correlation id; 0 or NULL without one.
        call: row of `calls` that issued it, -1 where that is not captured.
        class_index: entry of `classes`.
        classes: classes of operations, as the report names them; `compute` is entry 0.
        component: entry of `components`: what a communication kernel does; 0 for others.
        components: component of each code, `` first.
        compute: whether it is a compute op.
        communication: whether it is a kernel of the communication taxonomy.
        graph_node: whether it ran inside a graph that was traced by node.
        first_node: the first op to start of the launch that a graph node belongs to; the op itself for others.
        name: string id of a kernel's name, NULL for others.
        grid, block: blocks in a kernel's grid and threads a block; NULL for others, and where the export doesn't tell.
        copy_group: entry of `copy_groups`, -1 for what is no copy.
        copy_groups: the groups of copies that are listed together.
        migrations: when unified-memory migrations ran, by device.
        calls: API calls of the process.
    """

    start_ns: I64
    end_ns: I64
    device: I64
    context: I64
    stream: I64
    queue: I64
    queues: tuple[tuple[int, int], ...]
    correlation: I64
    call: I64
    class_index: I64
    classes: tuple[str, ...]
    component: I64
    components: tuple[str, ...]
    compute: npt.NDArray[np.bool_]
    communication: npt.NDArray[np.bool_]
    graph_node: npt.NDArray[np.bool_]
    first_node: I64
    name: I64
    grid: I64
    block: I64
    copy_group: I64
    copy_groups: tuple[CopyGroup, ...]
    migrations: dict[int, Intervals]
    calls: RuntimeCalls
    strings: Strings

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def by_graph(self) -> npt.NDArray[np.bool_]:
        """Whether a graph launch issued it: as a node, or as a graph that was traced whole."""
        whole: npt.NDArray[np.bool_] = self.class_index == self.class_of(GRAPH)
        return self.graph_node | whole

    @property
    def later_node(self) -> npt.NDArray[np.bool_]:
        """Whether it is a graph node of a launch whose first node started earlier."""
        later: npt.NDArray[np.bool_] = self.first_node != np.arange(len(self))
        return later & (self.start_ns > self.start_ns[self.first_node]) if len(self) else later

    def class_of(self, label: str) -> int:
        """Entry of a class, -1 where the process has no op of it."""
        return self.classes.index(label) if label in self.classes else -1

    def called_ns(self) -> I64:
        """Start of each op's API call [ns], NULL where that is not captured."""
        return self._of_call(self.calls.start_ns)

    def returned_ns(self) -> I64:
        """End of each op's API call [ns], NULL where that is not captured."""
        return self._of_call(self.calls.end_ns)

    def launching_thread(self) -> I64:
        """Thread of each op's API call, NULL where that is not captured."""
        return self._of_call(self.calls.thread)

    def _of_call(self, column: I64) -> I64:
        if not column.size:
            return np.full(len(self), NULL, np.int64)
        return np.where(self.call >= 0, column[np.maximum(self.call, 0)], NULL)


def process_ops(trace: Trace, process: int, taxonomy: Taxonomy) -> ProcessOps:
    """The ops of one process, classified and joined to their calls.

    Args:
        trace: without damaged records.
        process: process key.
        taxonomy: how kernel names are read.
    """
    calls = trace.runtime_calls.where(trace.runtime_calls.process == process)
    copies = trace.copies.where(trace.copies.process == process)
    moved = np.isin(copies.kind, CopyKind.UVM)
    migrations = {d: copies.where(moved & (copies.device == d)).union() for d in set(copies.device[moved].tolist())}
    copies = copies.where(~moved)
    kernels = trace.kernels.where(trace.kernels.process == process)
    memsets = trace.memsets.where(trace.memsets.process == process)
    graphs = trace.graph_launches.where(trace.graph_launches.process == process)
    codes = _codes(trace, (kernels, copies, memsets, graphs), calls, taxonomy)
    groups, of_copy = copy_groups(copies)
    tables: tuple[DeviceOps, ...] = (kernels, copies, memsets, graphs)

    def column(name: str) -> I64:
        return np.concatenate([getattr(table, name) for table in tables])

    def only(values: I64, table: int) -> I64:
        """Values of one table, NULL for the rows of the others."""
        return np.concatenate([values if i == table else np.full(len(t), NULL, np.int64) for i, t in enumerate(tables)])

    start, context, stream = column("start_ns"), column("context"), column("stream")
    first, queue = group_rows(context, stream)
    order = np.lexsort((column("correlation"), start, queue))
    correlation = column("correlation")[order]
    nodes = (column("graph_node") != NULL)[order]
    return ProcessOps(
        start_ns=start[order],
        end_ns=column("end_ns")[order],
        device=column("device")[order],
        context=context[order],
        stream=stream[order],
        queue=queue[order].astype(np.int64),
        queues=tuple(zip(context[first].tolist(), stream[first].tolist(), strict=True)),
        correlation=correlation,
        call=join_index((correlation,), (calls.correlation,)),
        class_index=codes.class_index[order],
        classes=codes.classes,
        component=codes.component[order],
        components=codes.components,
        compute=codes.compute[order],
        communication=codes.communication[order],
        graph_node=nodes,
        first_node=_first_nodes(nodes, correlation, start[order]),
        name=only(kernels.name, 0)[order],
        grid=only(kernels.grid, 0)[order],
        block=only(kernels.block, 0)[order],
        copy_group=np.maximum(only(of_copy, 1), -1)[order],
        copy_groups=groups,
        migrations=migrations,
        calls=calls,
        strings=trace.strings,
    )


@dataclass(frozen=True, slots=True)
class _Codes:
    """What each op is, in the order of the tables."""

    classes: tuple[str, ...]
    class_index: I64
    components: tuple[str, ...]
    component: I64
    compute: npt.NDArray[np.bool_]
    communication: npt.NDArray[np.bool_]


def _codes(
    trace: Trace, tables: tuple[Kernels, Copies, Memsets, GraphLaunches], calls: RuntimeCalls, taxonomy: Taxonomy
) -> _Codes:
    kernels, copies, memsets, graphs = tables
    found = kernel_classes(kernels, trace.strings, taxonomy)
    classes, kernel_index = _kernel_index(found)
    components, kernel_component = _components(found)
    called = join_index((copies.correlation,), (calls.correlation,))
    ranges = trace.nvtx_ranges.where(trace.nvtx_ranges.process == calls.process[0]) if len(calls) else trace.nvtx_ranges
    collective = collective_copies(copies, called, calls, ranges, trace.strings)
    copy_index = _copy_index(copies, classes)
    copy_component = np.zeros(len(copies), np.int64)
    if collective.any():
        copy_index[collective] = _entry(classes, "copy_engine")
        copy_component[collective] = _entry(components, "collective")
    fills = np.full(len(memsets), _entry(classes, MEMSET), np.int64)
    whole = np.full(len(graphs), _entry(classes, GRAPH), np.int64)
    neither = np.zeros(len(copies) + len(memsets) + len(graphs), np.bool_)
    return _Codes(
        classes=tuple(classes),
        class_index=np.concatenate([kernel_index, copy_index, fills, whole]),
        components=tuple(components),
        component=np.concatenate([kernel_component, copy_component, 0 * fills, 0 * whole]),
        compute=np.concatenate([~found.communication, neither]),
        communication=np.concatenate([found.communication, neither]),
    )


def _first_nodes(is_node: npt.NDArray[np.bool_], correlation: I64, start_ns: I64) -> I64:
    first = np.arange(start_ns.size)
    nodes = np.flatnonzero(is_node & (correlation != NULL) & (correlation != 0))
    if nodes.size:
        order = nodes[np.lexsort((start_ns[nodes], correlation[nodes]))]
        head = np.concatenate([[True], correlation[order][1:] != correlation[order][:-1]])
        first[order] = order[np.maximum.accumulate(np.where(head, np.arange(order.size), 0))]
    return first


def _entry(classes: list[str], label: str) -> int:
    if label not in classes:
        classes.append(label)
    return classes.index(label)


def _kernel_index(found: KernelClasses) -> tuple[list[str], I64]:
    """(classes, class of each kernel); fused kernels are compute."""
    classes = [COMPUTE]
    labels = [(c.backend or "other") if c.is_communication else COMPUTE for c in found.classes]
    entries = np.array([_entry(classes, label) for label in labels], np.int64)
    return classes, entries[found.index] if found.index.size else np.empty(0, np.int64)


def _components(found: KernelClasses) -> tuple[list[str], I64]:
    """(components, component of each kernel)."""
    components = [""]
    labels = [(c.component or "collective") if c.is_communication else "" for c in found.classes]
    entries = np.array([_entry(components, label) for label in labels], np.int64)
    return components, entries[found.index] if found.index.size else np.empty(0, np.int64)


def _copy_index(copies: Copies, classes: list[str]) -> I64:
    index = np.empty(len(copies), np.int64)
    for kind in set(copies.kind.tolist()):
        index[copies.kind == kind] = _entry(classes, _COPY_CLASSES.get(kind, "other"))
    return index
