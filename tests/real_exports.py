"""Where the real exports are, and their brute-force figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "real"

needs_real_exports = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the real exports (../shared/data/real) are not beside this checkout"
)


def expected_units() -> list[tuple[str, dict[str, Any]]]:
    """(file, figures) of every unit in every real export; empty without the exports."""
    if not FOLDER.is_dir():
        return []
    files = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    return [(entry["file"], unit) for entry in files for unit in entry["units"]]


def files_without_units() -> list[str]:
    """Real exports without any device row."""
    if not FOLDER.is_dir():
        return []
    files = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
    return [entry["file"] for entry in files if not entry["units"]]
