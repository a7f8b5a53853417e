"""Time and memory of `critpath analyze` on a large export.

    python benchmarks/large_export.py [EXPORT.sqlite]

Without an export, one is simulated: 1 M kernels, 2 M API calls. What is printed holds for this machine at this moment;
compare ratios of one run.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("export", nargs="?", type=Path)
    chosen = cli.parse_args().export
    with tempfile.TemporaryDirectory() as folder:
        export = chosen if chosen is not None else _simulated(Path(folder))
        read_s = _read_s(export)
        start = time.perf_counter()
        command = [sys.executable, "-m", "critpath.adapters.cli", "analyze", str(export), "--format", "json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took_s = time.perf_counter() - start
    peak_gb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    print(f"{export.name}: {export_gb(export):.2f} GB" if chosen else "simulated export")
    print(f"analyze     {took_s:8.1f} s  {peak_gb:.2f} GB at its peak")
    print(f"read bytes  {read_s:8.2f} s  analyze takes {took_s / max(read_s, 1e-3):,.0f} times as long")


def export_gb(export: Path) -> float:
    return export.stat().st_size / 1e9


def _read_s(export: Path) -> float:
    start = time.perf_counter()
    with export.open("rb") as file:
        while file.read(1 << 24):
            pass
    return time.perf_counter() - start


def _simulated(folder: Path) -> Path:
    from critpath.sim import simulate  # noqa: PLC0415

    return simulate("data_parallel", folder, ranks=1, steps=600, layers=96).exports[0]


if __name__ == "__main__":
    main()
