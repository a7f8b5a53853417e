"""What interval sweeps and joins cost, as ratios within one run.

    python benchmarks/intervals_and_joins.py --kernels 2000000 --calls 5000000 --rounds 3

Sweeps are told against sorting as many shuffled numbers, joins against sorting the calls' ids: absolute times drift
from machine to machine, ratios hold. Every round runs all cases in turn; the figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from critpath.base.intervals import I64, Intervals, clip_spans, union
from critpath.model.identity import NULL, join_index

Case = Callable[[], object]
PROCESSES = np.array([1 << 24 | 55_072, 3 << 24 | 101])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=2_000_000)
    parser.add_argument("--calls", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    scattered, ids = rng.permutation(options.kernels), rng.permutation(options.calls)
    told(
        f"{options.kernels} spans, 1 = sorting as many numbers", sweeps(rng, options.kernels), scattered, options.rounds
    )
    told(
        f"{options.kernels} kernels joined to {options.calls} calls of two processes, 1 = sorting as many ids as calls",
        joins(rng, options.kernels, options.calls),
        ids,
        options.rounds,
    )


def told(title: str, cases: dict[str, Case], unit: I64, rounds: int) -> None:
    print(f"\n{title}")
    seconds: dict[str, list[float]] = {name: [] for name in ("unit", *cases)}
    for _ in range(rounds):
        for name, case in {"unit": lambda: np.argsort(unit, kind="stable"), **cases}.items():
            began = time.perf_counter()
            case()
            seconds[name].append(time.perf_counter() - began)
    unit_s = statistics.median(seconds["unit"])
    for name, taken in seconds.items():
        middle_s = statistics.median(taken)
        print(f"  {name:44} {middle_s / unit_s:7.3f}  {middle_s * 1e3:8.1f} ms")


def sweeps(rng: np.random.Generator, n: int) -> dict[str, Case]:
    starts = np.cumsum(rng.integers(1, 2_000, n))
    ends = starts + rng.integers(1, 4_000, n)
    orders = {
        "sorted": np.arange(n),
        "6 sorted runs": np.argsort(rng.integers(0, 6, n), kind="stable"),
        "nearly sorted": np.argsort(starts + rng.integers(0, 20_000, n), kind="stable"),
        "shuffled": rng.permutation(n),
    }
    cases: dict[str, Case] = {}
    for name, rows in orders.items():
        cases[f"union, {name}"] = lambda a=starts[rows], b=ends[rows]: union(a, b)  # type: ignore[misc]
    busy = union(starts * 2, starts * 2 + 1)
    other = Intervals(busy.starts_ns + 1, busy.ends_ns + 1)
    last = int(busy.ends_ns[-1])
    edges = np.linspace(0, last, 101).astype(np.int64)
    cases |= {
        "intersect": lambda: busy.intersect(other),
        "subtract": lambda: busy.subtract(other),
        "gaps of a hundredth": lambda: busy.gaps(int(edges[50]), int(edges[51])),
        "clip to 100 windows": lambda: busy.clip(edges[:-1], edges[1:]),
        "clip to as many windows as spans": lambda: busy.clip(starts, ends),
        "contains, as many instants, shuffled": lambda: busy.contains(starts[orders["shuffled"]]),
        "clip_spans": lambda: clip_spans(starts, ends, last // 4, last // 3),
    }
    return cases


def joins(rng: np.random.Generator, n: int, m: int) -> dict[str, Case]:
    # Calls come in blocks of a process, or those of both in turn; either way nearly in the order of their ids.
    process = np.repeat(PROCESSES, [m // 2, m - m // 2])
    ids = np.concatenate([np.arange(1, m // 2 + 1), np.arange(1, m - m // 2 + 1)])
    jitter = rng.integers(0, 50, m)
    orders = {
        "blocks of a process": np.argsort(np.arange(m) + jitter, kind="stable"),
        "processes woven": np.argsort(ids + jitter, kind="stable"),
        "shuffled": rng.permutation(m),
    }
    cases: dict[str, Case] = {}
    for name, rows in orders.items():
        launched = rng.choice(m, n, replace=n > m)
        launched = launched if name == "shuffled" else np.sort(launched)
        calls = process[rows], ids[rows]
        kernels = calls[0][launched], calls[1][launched]
        cases[f"join, {name}"] = joined(kernels, calls)
        without = kernels[0], np.where(np.arange(n) % 7 == 0, NULL, kernels[1])
        cases[f"join, {name}, some without an id"] = joined(without, calls)
        cases[f"join, {name}, ids 400 apart"] = joined((kernels[0], kernels[1] * 400), (calls[0], calls[1] * 400))
    return cases


def joined(kernels: tuple[I64, I64], calls: tuple[I64, I64]) -> Case:
    return lambda: join_index(kernels, calls)


if __name__ == "__main__":
    main()
