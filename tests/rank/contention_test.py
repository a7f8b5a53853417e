"""Kernels alone and beside others: synthetic truth, brute force, and the naive figures that are wrong."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import numpy as np
import pytest

from critpath.base.intervals import Intervals
from critpath.model.identity import NULL
from critpath.model.tables import Copies, CopyKind, Kernels, Memsets
from critpath.model.taxonomy import Taxonomy
from critpath.rank.contention import ContendedKernel, Contentions, contention
from critpath.rank.process_ops import process_ops
from critpath.rank.windows import Windows, span_window
from critpath.sim.kernels import ALL_REDUCE
from rank.traces import RANK, TraceBuilder

NOWHERE = Intervals.empty()
GEMM, GELU, ROPE = "gemm_kernel", "gelu_kernel", "rope_kernel"


@dataclass
class Device:
    """A device whose compute runs one after another; what runs beside it is put there by hand."""

    rng: np.random.Generator
    noise: float = 0.02
    now: int = 0
    builder: TraceBuilder = field(default_factory=TraceBuilder)
    edges: list[int] = field(default_factory=list)

    def step(self) -> None:
        self.edges.append(self.now)

    def compute(self, name: str, ns: float, grid: int = 128, block: int = 256) -> tuple[int, int]:
        length = round(ns * float(np.exp(self.rng.normal(0, self.noise))))
        span = (self.now, self.now + length)
        self._kernel(name, span, 7, grid, block)
        self.now += length + 1_000
        return span

    def communicate(self, start: int, end: int) -> None:
        self._kernel(ALL_REDUCE.demangled, (start, end), 20, 24, 512)

    def copy(self, start: int, end: int) -> None:
        row = {"device": 0, "context": 1, "stream": 30, "bytes": 1, "kind": CopyKind.H2D, "correlation": 0}
        self.builder.add(Copies, process=RANK, start_ns=start, end_ns=end, **row)

    def memset(self, start: int, end: int) -> None:
        row = {"device": 0, "context": 1, "stream": 31, "bytes": 1, "correlation": 0}
        self.builder.add(Memsets, process=RANK, start_ns=start, end_ns=end, **row)

    def _kernel(self, name: str, span: tuple[int, int], stream: int, grid: int, block: int) -> None:
        row = {"device": 0, "context": 1, "stream": stream, "grid": grid, "block": block, "correlation": 0}
        text = self.builder.strings.intern(name)
        self.builder.add(Kernels, process=RANK, start_ns=span[0], end_ns=span[1], name=text, **row)

    def windows(self) -> Windows:
        edges = np.array([*self.edges, self.now], np.int64)
        return iterations(edges[:-1], edges[1:])

    def found(self, foreign: Intervals = NOWHERE, windows: Windows | None = None) -> Contentions:
        ops = process_ops(self.builder.build(), RANK, Taxonomy.bundled())
        return contention(ops, 0, windows or self.windows(), foreign)


def iterations(starts: np.ndarray, ends: np.ndarray) -> Windows:
    n = starts.size
    return Windows("nvtx", "it", "period", tuple(map(str, range(n))), np.arange(n), starts, ends, np.zeros(n, np.int64))


def training(seed: int, factor: float, *, steps: int = 9, layers: int = 8, warm: float = 1.0) -> Device:
    """Steps whose even layers run beside an all-reduce, gemms by `factor` longer; gelus don't mind it.

    Decoys: the gemm of another grid runs alone only; every fourth overlapped gemm is covered in half; the first step
    takes `warm` times as long.
    """
    device = Device(np.random.default_rng(seed))
    for step in range(steps):
        device.step()
        pace = warm if step == 0 else 1.0
        for layer in range(layers):
            slow = factor if layer % 2 == 0 else 1.0
            start = device.now
            for _ in range(3):
                device.compute(GEMM, 200_000 * slow * pace)
                device.compute(GELU, 40_000 * pace)
            if layer % 2 == 0:
                device.communicate(start, device.now)
                span = device.compute(GEMM, 200_000 * (1 + (slow - 1) / 2) * pace)
                device.communicate(span[0], (span[0] + span[1]) // 2)
            device.compute(GEMM, 500_000 * pace, grid=512)
    return device


def row(found: Contentions, name: str, by: str = "communication", grid: int = 128) -> ContendedKernel:
    (one,) = [k for k in found.kernels if (k.name, k.by, k.grid) == (name, by, grid)]
    return one


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [1.05, 1.15, 1.4])
def test_injected_slowdown_is_found(seed: int, factor: float) -> None:
    found = training(seed, factor).found()
    gemm = row(found, GEMM)
    assert gemm.slowdown == pytest.approx(factor - 1, abs=0.03)
    assert 0 < gemm.low <= gemm.slowdown <= gemm.high
    assert gemm.low <= factor - 1 <= gemm.high
    assert gemm.phase == "interleaved"
    assert gemm.n == (8 * 4 * 3, 8 * 4 * 3)
    assert gemm.partly == 9 * 4


@pytest.mark.parametrize("seed", range(5))
def test_kernel_that_runs_no_longer_is_not_called_slower(seed: int) -> None:
    gelu = row(training(seed, 1.15).found(), GELU)
    assert abs(gelu.slowdown) < 0.02
    assert gelu.low < 0 < gelu.high


def test_the_interval_says_slower_by_chance_in_few_of_many_captures() -> None:
    wrong = 0
    for seed in range(60):
        gelu = row(training(100 + seed, 1.0, steps=4, layers=4).found(), GELU)
        wrong += not gelu.low <= 0 <= gelu.high
    assert wrong <= 5


def test_another_grid_is_another_kernel() -> None:
    found = training(1, 1.15).found()
    assert {k.grid for k in found.kernels if k.name == GEMM} == {128}


def test_mean_of_overlapped_over_mean_of_all_is_wrong_by_far() -> None:
    # The naive figure takes the name for the kernel, the mean of all for what it takes alone, any touch for overlap.
    device = training(2, 1.15, warm=1.3)
    ops = process_ops(device.builder.build(), RANK, Taxonomy.bundled())
    gemm = ops.compute & (ops.name == device.builder.strings.intern(GEMM))
    length = ops.end_ns - ops.start_ns
    comm = [(s, e) for s, e, c in zip(ops.start_ns, ops.end_ns, ops.communication, strict=True) if c]
    touched = np.array(
        [any(s < e1 and s1 < e for s1, e1 in comm) for s, e in zip(ops.start_ns, ops.end_ns, strict=True)]
    )
    naive = length[gemm & touched].mean() / length[gemm].mean() - 1
    assert abs(naive - 0.15) > 0.1
    assert row(device.found(), GEMM).slowdown == pytest.approx(0.15, abs=0.01)


def test_first_step_is_set_aside_from_medians_but_not_from_cost() -> None:
    # Alone only in the first step and the last: a slow first step would hide the slowdown.
    device = Device(np.random.default_rng(3), noise=0.001)
    for step in range(4):
        device.step()
        for _ in range(9):
            start = device.now
            span = device.compute(GEMM, 100_000 * (2.0 if step == 0 else 1.1))
            device.communicate(start, span[1])
            device.compute(GEMM, 100_000 * (2.0 if step == 0 else 1.0))
    gemm = row(device.found(), GEMM)
    assert gemm.n == (27, 27)
    assert gemm.costly == 36
    assert gemm.slowdown == pytest.approx(0.1, abs=0.002)
    assert gemm.cost_ns == pytest.approx(36 * 10_000, rel=0.02)


def test_first_execution_is_set_aside_where_there_is_one_window() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    device.compute(GEMM, 5_000_000)
    for _ in range(8):
        device.compute(GEMM, 100_000)
        span = device.compute(GEMM, 120_000)
        device.communicate(*span)
    gemm = row(device.found(windows=span_window(0, device.now, kind="capture", text="")), GEMM)
    assert gemm.n == (8, 8)
    assert (gemm.alone_ns, gemm.overlapped_ns) == (100_000, 120_000)


def test_too_few_executions_make_no_row() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    device.step()
    device.compute(GEMM, 100_000)
    for i in range(7):
        device.compute(GEMM, 100_000)
        if i:
            device.communicate(*device.compute(GEMM, 150_000))
    found = device.found()
    assert found.kernels == ()
    comm, copies = found.overlaps
    assert comm.overlap_ns == 6 * 150_000
    assert (comm.measured_ns, comm.cost_ns) == (0, 0)
    assert comm.executions == {"alone": 8, "overlapped": 6, "partly": 0, "mixed": 0, "beside_others": 0}
    assert copies.overlap_ns == 0


def test_covered_by_nine_tenths_is_overlapped_and_less_is_not() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    device.step()
    for _ in range(10):
        device.compute(GEMM, 100_000)
        start, _ = device.compute(GEMM, 110_000)
        device.communicate(start, start + 99_000)
        start, _ = device.compute(GEMM, 130_000)
        device.communicate(start, start + 116_999)
    gemm = row(device.found(), GEMM)
    assert gemm.overlapped_ns == 110_000
    assert gemm.n == (9, 10)
    assert gemm.partly == 10
    assert gemm.measured_ns == 990_000


def test_copies_are_told_apart_from_communication_and_both_at_once_count_for_neither() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    device.step()
    for _ in range(10):
        device.compute(GEMM, 100_000)
        device.communicate(*device.compute(GEMM, 120_000))
        device.copy(*device.compute(GEMM, 105_000))
        start, end = device.compute(GEMM, 300_000)
        device.communicate(start, end)
        device.copy(end - 10_000, end)
    found = device.found()
    assert row(found, GEMM).overlapped_ns == 120_000
    assert row(found, GEMM, "copies").overlapped_ns == 105_000
    assert {k.mixed for k in found.kernels} == {10}
    assert [o.executions["mixed"] for o in found.overlaps] == [10, 10]


def test_beside_other_work_nothing_is_compared() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    device.step()
    elsewhere = []
    for _ in range(10):
        device.compute(GEMM, 100_000)
        device.communicate(*device.compute(GEMM, 120_000))
        start, end = device.compute(GEMM, 900_000)
        device._kernel(GELU, (end - 1, end + 50), 9, 1, 32)
        start, end = device.compute(GEMM, 900_000)
        device.memset(start + 5, start + 6)
        elsewhere.append(device.compute(GEMM, 900_000))
    gemm = row(device.found(Intervals.of(*[(s + 1, s + 2) for s, _ in elsewhere])), GEMM)
    assert (gemm.alone_ns, gemm.overlapped_ns, gemm.beside_others) == (100_000, 120_000, 30)


def test_executions_outside_the_windows_count_for_nothing() -> None:
    device = Device(np.random.default_rng(3), noise=0.0)
    for length in (100_000, 500_000):
        start = device.now
        for _ in range(10):
            device.compute(GEMM, length)
            device.communicate(*device.compute(GEMM, 1.2 * length))
        if length == 100_000:
            first = span_window(start, device.now, kind="explicit", text="")
    gemm = row(device.found(windows=first), GEMM)
    assert (gemm.n, gemm.costly, gemm.alone_ns) == ((9, 10), 10, 100_000)


def test_kinds_that_lie_apart_in_time_are_told() -> None:
    # One kernel alone in the first half of the capture, one in the forward half of every step, one that takes turns.
    device = Device(np.random.default_rng(3), noise=0.0)
    for step in range(8):
        device.step()
        for beside in (False, True):
            for _ in range(4):
                span = device.compute(GEMM, 100_000)
                if beside:
                    device.communicate(*span)
                device.compute(GELU, 10_000)
                device.communicate(*device.compute(GELU, 10_000))
                span = device.compute(ROPE, 20_000)
                if step >= 4:
                    device.communicate(*span)
    phases = {k.name: k.phase for k in device.found().kernels}
    assert phases == {GEMM: "apart_in_iteration", GELU: "interleaved", ROPE: "apart_in_capture"}


def test_unknown_launch_shape_is_not_compared() -> None:
    device = training(4, 1.15, steps=3, layers=4)
    for kernel in device.builder.tables[Kernels]:
        kernel["grid"] = NULL
    found = device.found()
    assert found.kernels == ()
    assert found.overlaps[0].unknown_shape == sum(found.overlaps[0].executions.values()) > 0


def test_what_overlap_hid_and_cost_is_that_of_the_same_executions() -> None:
    device = training(5, 1.25)
    comm = device.found().overlaps[0]
    rows = [k for k in device.found().kernels if k.by == "communication"]
    assert comm.cost_ns == sum(k.cost_ns for k in rows)
    assert comm.measured_ns == sum(k.measured_ns for k in rows)
    # 9 steps of 4 overlapped layers of 3 gemms; the half-covered ones are in the overlap and not measured.
    assert comm.cost_ns == pytest.approx(9 * 4 * 3 * 50_000, rel=0.1)
    assert comm.measured_ns == pytest.approx(9 * 4 * 3 * 290_000, rel=0.03)
    assert comm.overlap_ns - comm.measured_ns == pytest.approx(9 * 4 * 112_500, rel=0.05)


def brute(device: Device, windows: Windows, foreign: Intervals) -> dict[tuple[str, str, int], tuple[float, ...]]:
    """The same by loops over pairs of rows."""
    tables = device.builder.tables
    names = device.builder.strings
    kernels = [
        (k["start_ns"], k["end_ns"], names[k["name"]], k["grid"])
        for k in sorted(tables[Kernels], key=lambda k: (k["start_ns"], k["end_ns"]))
    ]
    comm = [k[:2] for k in kernels if k[2] == ALL_REDUCE.demangled]
    compute = [k for k in kernels if k[2] != ALL_REDUCE.demangled]
    copies = [(c["start_ns"], c["end_ns"]) for c in tables.get(Copies, ())]
    other = [(c["start_ns"], c["end_ns"]) for c in tables.get(Memsets, ())] + foreign.pairs()

    def covered(k: tuple[int, ...], spans: list[tuple[int, int]]) -> int:
        return len(set().union(*[range(max(k[0], s), min(k[1], e)) for s, e in spans]))

    seen: set[tuple[str, int]] = set()
    groups: dict[tuple[str, int], dict[str, list[int]]] = {}
    for i, k in enumerate(compute):
        first = (k[2], k[3]) not in seen
        seen.add((k[2], k[3]))
        window = [w for w, (s, e) in enumerate(zip(windows.starts_ns, windows.ends_ns, strict=True)) if s <= k[0] < e]
        if not window:
            continue
        others = [c for j, c in enumerate(compute) if j != i and c[0] < k[1] and k[0] < c[1]]
        a, b = covered(k, comm), covered(k, copies)
        kind = (
            "beside" if others or covered(k, other)
            else "alone" if not a and not b
            else "mixed" if a and b
            else f"{'communication' if a else 'copies'} {'over' if 10 * (a or b) >= 9 * (k[1] - k[0]) else 'partly'}"
        )  # fmt: skip
        group = groups.setdefault((k[2], k[3]), {})
        group.setdefault("all " + kind, []).append(k[1] - k[0])
        if not first and window[0] != 0:
            group.setdefault(kind, []).append(k[1] - k[0])
    found = {}
    for (name, grid), group in groups.items():
        for by in ("communication", "copies"):
            alone, over = group.get("alone", []), group.get(f"{by} over", [])
            if len(alone) >= 7 and len(over) >= 7:
                counts = [
                    len(group.get(f"all {kind}", [])) for kind in (f"{by} over", f"{by} partly", "mixed", "beside")
                ]
                found[name, by, grid] = (
                    statistics.median(alone), statistics.median(over), len(alone), len(over), *counts,
                )  # fmt: skip
    return found


@pytest.mark.parametrize("seed", range(8))
def test_random_captures_equal_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    device = Device(rng)
    for _ in range(400):
        start = int(rng.integers(0, 24_000))
        kind = rng.integers(0, 20)
        length = int(rng.integers(1, 30))
        if kind < 16:
            device._kernel((GEMM, GELU)[kind % 2], (start, start + length), 7, int(rng.integers(1, 3)), 32)
        elif kind < 18:
            device.communicate(start, start + 12 * length)
        elif kind < 19:
            device.copy(start, start + 4 * length)
        else:
            device.memset(start, start + length)
    foreign = Intervals.of((3_000, 3_100), (8_000, 8_050))
    edges = np.array([500, 3_500, 9_000, 15_000, 23_000])
    windows = iterations(edges[:-1], edges[1:] - np.array([0, 100, 0, 7]))
    expected = brute(device, windows, foreign)
    found = {
        (k.name, k.by, k.grid): (k.alone_ns, k.overlapped_ns, *k.n, k.costly, k.partly, k.mixed, k.beside_others)
        for k in device.found(foreign, windows).kernels
    }
    assert found == expected
    assert found
