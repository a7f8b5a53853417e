"""Time and memory of `critpath analyze` on an export of millions of nested NVTX ranges.

    python benchmarks/nvtx_ranges.py [--ranges 6000000] [--out FOLDER]

The export is made here: 20 steps, four threads, ranges five deep (step, phase, layer, module, operator with
`, seq = N, op_id = N`), half of them with registered names, half with texts of their own, and one kernel for every
twelfth operator. With --out the frames are written too.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from critpath.sim import simulate

STEPS, THREADS, PHASES, LAYERS, MODULES, KERNEL_EVERY = 20, 4, 3, 36, 26, 12
OPERATOR_NS = 1_300
PUSH_POP = 59


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--ranges", type=int, default=6_000_000)
    cli.add_argument("--out", action="store_true", help="write the frames too")
    chosen = cli.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        export = simulate("data_parallel", Path(folder), ranks=1, steps=2, layers=1).exports[0]
        operators = max(1, chosen.ranges // (STEPS * THREADS * PHASES * LAYERS * MODULES))
        ranges, kernels = fill(export, operators)
        start = time.perf_counter()
        command = [sys.executable, "-m", "critpath.adapters.cli", "analyze", str(export), "--format", "json"]
        command += ["--out", f"{folder}/out"] if chosen.out else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took_s = time.perf_counter() - start
        size_gb = export.stat().st_size / 1e9
    peak_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    print(f"{ranges / 1e6:.2f} M ranges, {kernels / 1e3:.0f} k kernels, {size_gb:.2f} GB")
    print(f"analyze     {took_s:8.1f} s  {peak_gb:.2f} GB at its peak{', frames written' * chosen.out}")


def fill(export: Path, operators: int) -> tuple[int, int]:
    """Replace the export's ranges, calls and kernels; (ranges, kernels) written.

    Args:
        export: a simulated one of one rank; its schema and identities stay.
        operators: ranges of the deepest level in each module.
    """
    database = sqlite3.connect(export)
    tables = ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL")
    nvtx, call, kernel = (_template(database, table) for table in tables)
    for (table,) in database.execute(
        "SELECT name FROM sqlite_master WHERE name LIKE 'CUPTI_ACTIVITY_KIND_%'"
    ).fetchall():
        database.execute(f'DELETE FROM "{table}"')  # noqa: S608
    database.execute("DELETE FROM NVTX_EVENTS")
    names = _names(database, operators)
    ranges = kernels = 0
    for step in range(STEPS):
        for thread in range(THREADS):
            tid = (int(nvtx["globalTid"]) & ~0xFFFFFF) | (100 + thread)
            rows = list(_step(step, thread, operators, names))
            _insert(database, "NVTX_EVENTS", nvtx, [{**row, "globalTid": tid} for row in rows])
            ranges += len(rows)
            called = [row["start"] for row in rows if row.get("leaf", -1) % KERNEL_EVERY == 0]
            ids = [kernels + 1 + k for k in range(len(called))]
            _insert(database, tables[1], call, [
                {"start": at + 100, "end": at + 600, "globalTid": tid, "correlationId": i}
                for at, i in zip(called, ids, strict=True)
            ])  # fmt: skip
            _insert(database, tables[2], kernel, [
                {"start": at + 5_000, "end": at + 9_000, "streamId": 7 + thread, "correlationId": i}
                for at, i in zip(called, ids, strict=True)
            ])  # fmt: skip
            kernels += len(ids)
    database.commit()
    database.close()
    return ranges, kernels


def _template(database: sqlite3.Connection, table: str) -> dict[str, object]:
    cursor = database.execute(f'SELECT * FROM "{table}" WHERE "end" IS NOT NULL LIMIT 1')  # noqa: S608
    return dict(zip([c[0] for c in cursor.description], cursor.fetchone(), strict=True))


def _names(database: sqlite3.Connection, operators: int) -> dict[str, int]:
    """Registered names and their string ids."""
    texts = [*(f"phase {'abc'[k]}" for k in range(PHASES)), *(f"layers.{k}" for k in range(LAYERS))]
    texts += [*(f"module_{'abcdefghijklmnopqrstuvwxyz'[k]}" for k in range(MODULES))]
    texts += [f"aten::op_{chr(97 + k % 26)}{chr(97 + k // 26 % 26)}" for k in range(operators)]
    first = 1 + int(database.execute("SELECT max(id) FROM StringIds").fetchone()[0])
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(first + k, text) for k, text in enumerate(texts)])
    return {text: first + k for k, text in enumerate(texts)}


def _step(step: int, thread: int, operators: int, names: dict[str, int]) -> Iterator[dict[str, object]]:
    """Ranges of one step and thread, outermost first."""
    module_ns = OPERATOR_NS * operators + 200
    layer_ns = MODULES * module_ns + 200
    phase_ns = LAYERS * layer_ns + 200
    whole_ns = PHASES * phase_ns + 200
    zero = 10**9 + step * (whole_ns + 50_000) + 37 * thread
    yield {"start": zero, "end": zero + whole_ns, "text": f"iteration {step}", "textId": None}
    registered = list(names)
    leaf = 0
    for p in range(PHASES):
        phase = zero + 100 + p * phase_ns
        yield {"start": phase, "end": phase + phase_ns - 20, "text": None, "textId": names[registered[p]]}
        for n in range(LAYERS):
            layer = phase + 50 + n * layer_ns
            yield {"start": layer, "end": layer + layer_ns - 20, "text": None, "textId": names[f"layers.{n}"]}
            for m in range(MODULES):
                module = layer + 50 + m * module_ns
                name = registered[PHASES + LAYERS + m]
                yield {"start": module, "end": module + module_ns - 20, "text": None, "textId": names[name]}
                for k in range(operators):
                    at = module + 50 + k * OPERATOR_NS
                    text = registered[PHASES + LAYERS + MODULES + k]
                    leaf += 1
                    own = f"{text}, seq = {leaf}, op_id = {leaf}" if k % 2 else None
                    yield {
                        "start": at, "end": at + OPERATOR_NS - 100, "text": own, "leaf": leaf,
                        "textId": None if k % 2 else names[text],
                    }  # fmt: skip


def _insert(
    database: sqlite3.Connection, table: str, template: dict[str, object], rows: list[dict[str, object]]
) -> None:
    if table == "NVTX_EVENTS":
        template = {**template, "eventType": PUSH_POP, "domainId": 0}
    columns = list(template)
    marks = ", ".join("?" * len(columns))
    database.executemany(
        f'INSERT INTO "{table}" ({", ".join(map(repr, columns))}) VALUES ({marks})',  # noqa: S608
        ([row.get(c, template[c]) for c in columns] for row in rows),
    )


if __name__ == "__main__":
    main()
