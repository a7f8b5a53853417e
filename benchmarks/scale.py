"""Time and memory over many ranks: is a worker's peak independent of their number, and time linear in it?

    python benchmarks/scale.py [--ranks 64] [--kernels 200000] [--small 1024] [--workers 2]

One job of `--ranks` ranks is simulated; each rank's rows are laid behind one another until it has `--kernels` kernels.
A quarter, a half and all of the ranks are analysed, each in a process of its own. Then `--small` ranks of a few hundred
kernels each are reduced to one report. What is printed holds for this machine at this moment: compare ratios.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from critpath.sim import simulate

STEPS = 6
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": ("timestamp",),
    "NVTX_EVENTS": ("start", "end"),
}

MEASURE = """
import json, resource, sys, time
from pathlib import Path
from critpath.adapters.executors import executor
from critpath.ingest.source import find_inputs
from critpath.pipeline.analyze import analysis
from critpath.pipeline.mapping import MapSettings, map_inputs
from critpath.pipeline.options import Options
from critpath.pipeline.reduce import report_of
if __name__ == "__main__":
    files = find_inputs([sys.argv[1]])[: int(sys.argv[3])]
    start = time.perf_counter()
    with executor(sys.argv[2], inputs=len(files)) as pool:
        summaries = map_inputs(files, Options(), MapSettings(executor=pool))
    mapped = time.perf_counter()
    report, _ = report_of(summaries, Options())
    report.to_json()
    reduced = time.perf_counter()
    kb = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({
        "map_s": mapped - start, "reduce_s": reduced - mapped, "parent_mb": kb[0] / 1e3, "worker_mb": kb[1] / 1e3,
        "matched": report.ranks.collectives.matched, "verdict": report.ranks.straggler.verdict,
        "units": sum(u.budget is not None for u in report.units),
    }))
"""


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--ranks", type=int, default=64)
    cli.add_argument("--kernels", type=int, default=200_000)
    cli.add_argument("--small", type=int, default=1_024)
    cli.add_argument("--workers", type=int, default=2)
    chosen = cli.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "measure.py").write_text(MEASURE, encoding="utf-8")
        made = simulate("data_parallel", folder / "large", ranks=chosen.ranks, steps=STEPS, causes=False)
        kernels = [laid_behind(export, chosen.kernels) for export in made.exports]
        size_gb = sum(export.stat().st_size for export in made.exports) / 1e9
        print(f"{chosen.ranks} ranks, {kernels[0]:,} kernels each, {size_gb:.1f} GB, {chosen.workers} workers")
        for ranks in sorted({max(2, chosen.ranks // 4), max(2, chosen.ranks // 2), chosen.ranks}):
            tell(ranks, measured(folder, "large", f"processes:{chosen.workers}", ranks))
        simulate("straggler", folder / "small", ranks=chosen.small, steps=4, layers=2, causes=False)
        tell(chosen.small, measured(folder, "small", f"processes:{chosen.workers}", chosen.small))


def tell(ranks: int, told: dict[str, float | str]) -> None:
    each = float(told["map_s"]) / ranks
    print(
        f"{ranks:6,} ranks  map {told['map_s']:7.1f} s ({each:.3f} a rank)  reduce {told['reduce_s']:5.1f} s  "
        f"worker {told['worker_mb']:5.0f} MB  parent {told['parent_mb']:5.0f} MB  "
        f"{told['units']} units, {told['matched']:,} matched, straggler {told['verdict']}",
        flush=True,
    )


def measured(folder: Path, job: str, executor: str, ranks: int) -> dict[str, float | str]:
    command = [sys.executable, str(folder / "measure.py"), str(folder / job), executor, str(ranks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def laid_behind(export: Path, kernels: int) -> int:
    """Lay an export's rows behind one another until it has so many kernels; how many it has then.

    Every rank's copies are as far apart, so that collectives meet in each of them as they did in the first.
    """
    database = sqlite3.connect(export)
    database.execute("PRAGMA journal_mode = OFF")
    (have,) = database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    highest = 1 + max(
        database.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0]  # noqa: S608
        for table, column in (
            ("CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"),
            ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventSyncId"),
        )
    )
    period = 40_000_000 * STEPS
    steps = [
        (start, end, thread, int(match[1]))
        for start, end, thread, text in database.execute(
            "SELECT start, end, globalTid, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId"
        )
        if (match := re.fullmatch(r"iteration (\d+)", text or ""))
    ]
    copies = -(-kernels // have)
    for copy in range(1, copies):
        for table, times in TABLES.items():
            _copied(database, table, times, copy * period, copy * highest)
        database.executemany(
            "UPDATE NVTX_EVENTS SET text = ?, textId = NULL WHERE start = ? AND end = ? AND globalTid = ?",
            [(f"iteration {n + copy * STEPS}", s + copy * period, e + copy * period, t) for s, e, t, n in steps],
        )
        if copy == 1:
            database.execute("CREATE INDEX steps ON NVTX_EVENTS (start)")
    database.execute("DROP INDEX IF EXISTS steps")
    database.commit()
    database.close()
    return have * copies


def _copied(database: sqlite3.Connection, table: str, times: tuple[str, ...], later_ns: int, ids: int) -> None:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    wanted = [
        f'"{c}" + {later_ns}' if c in times
        else f'CASE WHEN "{c}" > 0 THEN "{c}" + {ids} ELSE "{c}" END' if c in ("correlationId", "eventSyncId")
        else f'"{c}"'
        for c in columns
    ]  # fmt: skip
    end = f"(SELECT min({times[0]}) + {40_000_000 * STEPS} FROM {table})"  # noqa: S608
    database.execute(f'INSERT INTO {table} SELECT {", ".join(wanted)} FROM {table} WHERE "{times[0]}" < {end}')  # noqa: S608


if __name__ == "__main__":
    main()
