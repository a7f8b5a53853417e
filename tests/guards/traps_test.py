"""Every guard that says anything of a report has a trap test, and no other guard counts as held."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.guards.outcome import NOT_ANALYSED_YET
from critpath.guards.registry import guards
from critpath.pipeline.analyze import analyze
from critpath.sim import simulate

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    report = analyze(simulate("data_parallel", tmp_path_factory.mktemp("job"), ranks=2).exports)
    return {row.id: (row.outcome, row.evidence) for row in report.guards}


def test_every_guard_is_in_the_report(rows: dict[str, tuple[str, str]]) -> None:
    assert list(rows) == [f"P{n:02d}" for n in range(1, 33)]


@pytest.mark.parametrize("guard", [g.id for g in guards()])
def test_a_guard_without_a_trap_claims_nothing(guard: str, rows: dict[str, tuple[str, str]]) -> None:
    if (HERE / f"{guard.lower()}_trap_test.py").exists():
        assert rows[guard][1] != NOT_ANALYSED_YET.evidence
    else:
        assert rows[guard] == (NOT_ANALYSED_YET.outcome, NOT_ANALYSED_YET.evidence)
