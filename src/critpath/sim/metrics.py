"""GPU metrics sampled from an execution: what a whole device did in each interval, as percentages.

Values follow from what ran: a compute kernel issues instructions, a collective that waits only spins, and moves data in
the time its transfer takes. Ids differ from report to report and names from version to version, as in real exports.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from critpath.sim.executed import Op, OpKind, ProcessRun
from critpath.sim.instructions import Copy, CopyDirection, Kernel
from critpath.sim.sheets import Capture, Row, Sheet
from critpath.sim.traced import traced_ops

__all__ = ["metric_sheets"]

_FIRST_TYPE = 0x0001_0001_0000_0000
_MATRIX_KERNELS = ("nvjet", "gemm", "cutlass", "flash", "kernel2")


class _Load(NamedTuple):
    """What one op does to its device while it runs [%]."""

    active: int = 0
    issue: int = 0
    tensor: int = 0
    dram: int = 0
    warps: int = 0
    nvlink: int = 0
    pcie_in: int = 0
    pcie_out: int = 0


_GEMM = _Load(active=98, issue=46, tensor=71, dram=34, warps=19)
_POINTWISE = _Load(active=96, issue=28, dram=82, warps=61)
_SPINNING = _Load(active=100, issue=2, warps=27)
_MOVING = _Load(active=100, issue=5, dram=21, warps=27, nvlink=74)
_TO_DEVICE, _TO_HOST = _Load(dram=3, pcie_in=81), _Load(dram=3, pcie_out=79)
_ON_DEVICE = _Load(dram=88)

_REQUESTS_SHARE = 0.1
"""What request counters see of the data that responses carry."""

# Name, unit, and the place in `_Load` with a factor. Several units of one metric are several metrics.
_METRICS: tuple[tuple[str, str, str, float], ...] = (
    ("GR Active", "Throughput %", "active", 1.0),
    ("SMs Active", "Throughput %", "active", 1.0),
    ("SM Issue", "Throughput %", "issue", 1.0),
    ("Tensor Active", "Throughput %", "tensor", 1.0),
    ("Compute Warps in Flight", "Throughput %", "warps", 1.0),
    ("Compute Warps in Flight", "Avg", "warps", 84.0),
    ("Compute Warps in Flight", "Avg Warps per Cycle", "warps", 0.64),
    ("DRAM Read Bandwidth", "Throughput %", "dram", 0.6),
    ("DRAM Write Bandwidth", "Throughput %", "dram", 0.4),
    ("NVLink RX Requests Protocol Data", "Throughput %", "nvlink", 0.6 * _REQUESTS_SHARE),
    ("NVLink RX Requests User Data", "Throughput %", "nvlink", _REQUESTS_SHARE),
    ("NVLink RX Responses Protocol Data", "Throughput %", "nvlink", 0.12),
    ("NVLink RX Responses User Data", "Throughput %", "nvlink", 1.0),
    ("NVLink TX Requests Protocol Data", "Throughput %", "nvlink", 0.6 * _REQUESTS_SHARE),
    ("NVLink TX Requests User Data", "Throughput %", "nvlink", _REQUESTS_SHARE),
    ("NVLink TX Responses Protocol Data", "Throughput %", "nvlink", 0.12),
    ("NVLink TX Responses User Data", "Throughput %", "nvlink", 1.0),
    ("PCIe RX Throughput", "Throughput %", "pcie_in", 1.0),
    ("PCIe TX Throughput", "Throughput %", "pcie_out", 1.0),
)
_OLD_NAMES = {
    "SMs Active": "SM Active",
    "DRAM Read Bandwidth": "DRAM Read Throughput",
    "DRAM Write Bandwidth": "DRAM Write Throughput",
    "Compute Warps in Flight": "Compute Warps In Flight",
}
"""What versions before 2024.2 call some metrics."""


def metric_sheets(capture: Capture, gpu_ids: dict[int, int]) -> Iterator[Sheet]:
    """Names and samples of every GPU that the report's processes use, when metrics were recorded.

    Args:
        capture: what is written.
        gpu_ids: the profiler's own number of each GPU of the host.
    """
    if not capture.recording.metrics_period_ns:
        return
    ids = _ids(capture)
    by_gpu: dict[int, list[Op]] = {}
    for run in capture.runs:
        for op in traced_ops(run, "node"):
            by_gpu.setdefault(_gpu(run, op), []).append(op)
    names: list[Row] = []
    rows: list[Row] = []
    for gpu in sorted(by_gpu, key=gpu_ids.__getitem__):
        kind = _FIRST_TYPE + gpu_ids[gpu]
        names += [
            (kind, kind, f"GPU Metrics [{gpu_ids[gpu]}]", ids[place], _name(capture, place))
            for place in sorted(range(len(_METRICS)), key=ids.__getitem__)
        ]
        rows += _samples(capture, by_gpu[gpu], kind, ids)
    rows.sort(key=itemgetter(0))
    columns = ("timestamp", "typeId", "metricId", "value")
    if capture.generation.since("2024.6"):
        columns, rows = ("rawTimestamp", *columns), [(row[0], *row) for row in rows]  # type: ignore[assignment]
    yield Sheet("TARGET_INFO_GPU_METRICS", ("typeId", "sourceId", "typeName", "metricId", "metricName"), names, {})
    yield Sheet("GPU_METRICS", columns, rows, {})


def _ids(capture: Capture) -> list[int]:
    """Each metric's id in this report: an order of the report's own."""
    name = capture.runs[0].report.name
    order = sorted(range(len(_METRICS)), key=lambda place: zlib.crc32(f"{name}:{place}".encode()))
    ids = [0] * len(order)
    for number, place in enumerate(order, start=1):
        ids[place] = number
    return ids


def _name(capture: Capture, place: int) -> str:
    name, unit, *_ = _METRICS[place]
    if not capture.generation.since("2024.2"):
        name = _OLD_NAMES.get(name, name)
    return f"{name} [{unit}]"


def _gpu(run: ProcessRun, op: Op) -> int:
    return run.process.visible_gpus[op.stream.device]


def _loads(op: Op) -> Iterator[tuple[int, int, _Load]]:
    """What an op does to its device, from when to when."""
    if isinstance(op.what, Kernel):
        if op.kind is OpKind.COMPUTE:
            matrix = any(word in op.what.short.lower() for word in _MATRIX_KERNELS)
            yield op.start_ns, op.end_ns, _GEMM if matrix else _POINTWISE
        elif op.collective is None:
            yield op.start_ns, op.end_ns, _MOVING
        else:
            moves_ns = max(op.start_ns, op.end_ns - op.collective.transfer_ns)
            yield op.start_ns, moves_ns, _SPINNING
            yield moves_ns, op.end_ns, _MOVING
    elif isinstance(op.what, Copy):
        into = op.what.direction in (CopyDirection.HOST_TO_DEVICE, CopyDirection.MIGRATION_IN)
        local = op.what.direction is CopyDirection.DEVICE_TO_DEVICE
        yield op.start_ns, op.end_ns, _ON_DEVICE if local else _TO_DEVICE if into else _TO_HOST


def _samples(capture: Capture, ops: list[Op], kind: int, ids: list[int]) -> list[Row]:
    """One row a metric and interval; what overlaps adds up to no more than 100 %. A sample is told at its end."""
    period_ns, clock = capture.recording.metrics_period_ns, capture.clock
    first_ns = clock.session_start_ns + capture.recording.metrics_offset_ns - period_ns
    first_ns += max(0, min(op.start_ns for op in ops) - first_ns) // period_ns * period_ns
    count = (max(op.end_ns for op in ops) - first_ns) // period_ns + 1
    sums = [[0.0] * len(_Load._fields) for _ in range(count)]
    for op in ops:
        for start_ns, end_ns, load in _loads(op):
            for place in range(max(0, (start_ns - first_ns) // period_ns), (end_ns - 1 - first_ns) // period_ns + 1):
                begun_ns = first_ns + place * period_ns
                share = (min(end_ns, begun_ns + period_ns) - max(start_ns, begun_ns)) / period_ns
                for field, value in enumerate(load):
                    sums[place][field] += share * value
    fields = [_Load._fields.index(field) for _, _, field, _ in _METRICS]
    return [
        (clock.at(first_ns + (place + 1) * period_ns), kind, ids[metric], round(min(100.0, sample[field]) * factor))
        for place, sample in enumerate(sums)
        for metric, (field, (*_, factor)) in enumerate(zip(fields, _METRICS, strict=True))
    ]
