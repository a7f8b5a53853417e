"""Unit traces written like a training script: host calls, ranges and kernels in order, on a simple queue a stream.

    script = UnitScript(seed=3)
    for i in range(6):
        with script.range(f"step {i}"):
            script.kernels((GEMM, 400), (GELU, 80), (ADAM, 120))
    unit = script.unit()

Only what anchors are found in is modelled: which kernel ran when, and which call on which thread issued it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from critpath.model.identity import NULL, UnitKey
from critpath.model.tables import (
    Copies,
    GraphLaunches,
    Kernels,
    Memsets,
    NvtxRanges,
    Overheads,
    RuntimeCalls,
    SyncWaits,
)
from critpath.model.taxonomy import Taxonomy
from critpath.model.trace import Strings, UnitTrace
from critpath.rank.anchors.choose import anchored_windows
from critpath.rank.anchors.sequence import KernelSequence, kernel_sequence
from critpath.rank.launches import unit_launches
from critpath.rank.occupancy import kernel_classes
from critpath.rank.windows import Windows
from critpath.sim import kernels as named

GEMM = named.GEMM_NVJET.demangled
GEMM_OTHER = named.GEMM_CUTLASS.demangled
WGRAD = named.GEMM_WGRAD.demangled
GELU = named.GELU.demangled
NORM = named.LAYER_NORM.demangled
NORM_BACKWARD = named.LAYER_NORM_BACKWARD.demangled
ATTENTION = named.ATTENTION_FORWARD.demangled
ATTENTION_BACKWARD = named.ATTENTION_BACKWARD.demangled
EMBEDDING = named.EMBEDDING.demangled
LOSS = named.LOSS.demangled
LOSS_BACKWARD = named.LOSS_BACKWARD.demangled
ADAM = named.ADAM.demangled
ADD = named.ELEMENTWISE_ADD.demangled
COPY = named.COPY_KERNEL.demangled
ALL_REDUCE = named.ALL_REDUCE.demangled
ALL_GATHER = named.ALL_GATHER.demangled
REDUCE_SCATTER = named.REDUCE_SCATTER.demangled

PROCESS = (1 << 24) | 4242
MAIN = (PROCESS << 24) | 4242
AUTOGRAD = (PROCESS << 24) | 4243

FORWARD_LAYER = (
    (NORM, 40),
    (GEMM, 180),
    (ATTENTION, 150),
    (GEMM, 90),
    (NORM, 40),
    (GEMM, 240),
    (GELU, 60),
    (GEMM, 240),
)
BACKWARD_LAYER = (
    (GEMM, 240), (WGRAD, 240), (GELU, 70), (GEMM, 180), (WGRAD, 180), (NORM_BACKWARD, 60), (ATTENTION_BACKWARD, 320),
    (GEMM, 120), (WGRAD, 120), (NORM_BACKWARD, 60), (ADD, 30),
)  # fmt: skip


class UnitScript:
    """Collects one device's kernels, their launches and the host's ranges.

    Args:
        seed: of the durations' spread.
        spread: relative standard deviation of a kernel's duration.
        dispatch_us: host time a launch takes.
    """

    def __init__(self, seed: int = 0, spread: float = 0.0, dispatch_us: float = 4.0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - spread of durations, no secret
        self._spread = spread
        self._dispatch_ns = round(dispatch_us * 1_000)
        self._ids: dict[str, int] = {}
        self._free: dict[int, int] = {}
        self._kernels: list[tuple[int, int, int, int, int, int]] = []
        self._calls: list[tuple[int, int, int, int, int]] = []
        self._ranges: list[tuple[int, int, int, int, int, int, int]] = []
        self.now_ns = 1_000_000
        self.thread = MAIN

    def kernel(self, name: str, us: float, *, stream: int = 7, grid: int = 64) -> None:
        """Issue a kernel of about `us` microseconds."""
        length = max(500, round(us * 1_000 * self._random.gauss(1.0, self._spread)))
        correlation = len(self._calls) + 1
        self._call("cudaLaunchKernel_v7000", correlation)
        start = max(self.now_ns + 3_000, self._free.get(stream, 0) + 1_000)
        self._free[stream] = start + length
        self._kernels.append((start, start + length, self._id(name), stream, correlation, grid))

    def kernels(self, *sequence: tuple[str, float], stream: int = 7) -> None:
        """Issue kernels in a row."""
        for name, us in sequence:
            self.kernel(name, us, stream=stream)

    def api(self, name: str) -> None:
        """Call the API without issuing anything."""
        self._call(name, len(self._calls) + 1)

    def wait_for(self, stream: int, other: int) -> None:
        """Later kernels of `stream` start after those of `other` so far."""
        self._free[stream] = max(self._free.get(stream, 0), self._free.get(other, 0))

    def synchronize(self) -> None:
        """The host waits for the device."""
        self.now_ns = max(self.now_ns, *self._free.values()) + 5_000

    def idle(self, us: float) -> None:
        """The host does something else."""
        self.now_ns += round(us * 1_000)

    @contextmanager
    def on(self, thread: int) -> Iterator[None]:
        """Calls and ranges inside belong to another thread."""
        before, self.thread = self.thread, thread
        yield
        self.thread = before

    @contextmanager
    def range(
        self, text: str, *, domain: int = 0, kind: int = 59, closed: bool = True, ends_on: int = NULL
    ) -> Iterator[None]:
        """An NVTX range around what is written inside."""
        start, thread = self.now_ns, self.thread
        yield
        self.add_range(text, start, self.now_ns if closed else NULL, thread, domain=domain, kind=kind, ends_on=ends_on)

    def add_range(
        self,
        text: str,
        start_ns: int,
        end_ns: int,
        thread: int,
        *,
        domain: int = 0,
        kind: int = 59,
        ends_on: int = NULL,
    ) -> None:
        """An NVTX range at a time of its own."""
        self._ranges.append((start_ns, end_ns, thread, ends_on, self._id(text), domain, kind))

    def unit(self, **changes: object) -> UnitTrace:
        """What was written, as a trace."""
        starts, ends, names, streams, correlations, grids = _columns(self._kernels, 6)
        kernels = Kernels.of(
            start_ns=starts, end_ns=ends, process=[PROCESS] * len(starts), device=[0] * len(starts),
            context=[1] * len(starts), stream=streams, correlation=correlations, name=names, short_name=names,
            grid=grids, block=[128] * len(starts),
        )  # fmt: skip
        starts, ends, threads, correlations, names = _columns(self._calls, 5)
        calls = RuntimeCalls.of(
            start_ns=starts, end_ns=ends, process=[PROCESS] * len(starts), thread=threads, correlation=correlations,
            name=names, result=[0] * len(starts),
        )  # fmt: skip
        starts, ends, threads, end_threads, names, domains, kinds = _columns(self._ranges, 7)
        ranges = NvtxRanges.of(
            start_ns=starts, end_ns=ends, process=[PROCESS] * len(starts), thread=threads, end_thread=end_threads,
            name=names, domain=domains, kind=kinds,
        )  # fmt: skip
        parts: dict[str, object] = {
            "key": UnitKey(0, PROCESS, 0),
            "strings": Strings({i: text for text, i in self._ids.items()}),
            "kernels": kernels,
            "copies": Copies.empty(),
            "memsets": Memsets.empty(),
            "graph_launches": GraphLaunches.empty(),
            "runtime_calls": calls,
            "sync_waits": SyncWaits.empty(),
            "nvtx_ranges": ranges,
            "overheads": Overheads.empty(),
        }
        return UnitTrace(**(parts | changes))  # type: ignore[arg-type]

    def _call(self, name: str, correlation: int) -> None:
        begin = self.now_ns
        self.now_ns += self._dispatch_ns
        self._calls.append((begin, begin + self._dispatch_ns // 2, self.thread, correlation, self._id(name)))

    def _id(self, text: str) -> int:
        return self._ids.setdefault(text, len(self._ids) + 1)


def windows_of(unit: UnitTrace, scope: str = "period") -> Windows | None:
    """Windows of a unit without a declared step."""
    classes = kernel_classes(unit.kernels, unit.strings, Taxonomy.bundled())
    return anchored_windows(unit, unit_launches(unit), classes, None, scope)


def sequence_of(unit: UnitTrace) -> KernelSequence:
    """Kernels of a unit in order."""
    classes = kernel_classes(unit.kernels, unit.strings, Taxonomy.bundled())
    return kernel_sequence(unit, unit_launches(unit), classes)


def _columns(rows: list[tuple[int, ...]], count: int) -> list[list[int]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]
