"""What happens between the profiler and the file, and that the truth stays the execution's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from critpath.sim import OptionValueError, simulate, write_job
from critpath.sim.host_instructions import OsCall
from critpath.sim.instructions import Instruction
from critpath.sim.program import Job
from critpath.sim.recording import Recording
from critpath.sim.spoils import Damage, DamagedTimes, Diagnostic, LostProcess, LostRows, LostTable, Slice, Spoil
from sim.tiny import A, job_of, kernel, process, step, sync, thread

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(query).fetchall()


def tables(path: Path) -> set[str]:
    return {name for (name,) in select(path, "SELECT name FROM sqlite_master")}


def ten_kernels() -> Job:
    return job_of(
        process(thread(*step(0, *(kernel(A, 5) for _ in range(5))), *step(1, *(kernel(A, 5) for _ in range(5)))))
    )


def spoiled(out: Path, *spoils: Spoil, **options: Any) -> Path:
    return write_job(replace(ten_kernels(), spoils=spoils), out, **options).exports[0]


@pytest.mark.parametrize(
    ("damage", "times"),
    [
        (Damage.ZERO, (0, 0)),
        (Damage.REVERSED, (15, 10)),
        (Damage.MINIMUM, (-(2**63), -(2**63))),
        (Damage.FAR, (10 + 10**14, 15 + 10**14)),
    ],
)
def test_every_so_many_rows_have_wrong_times(tmp_path: Path, damage: Damage, times: tuple[int, int]) -> None:
    path = spoiled(tmp_path, DamagedTimes(damage=damage, every=1))
    assert select(path, f'SELECT start, "end" FROM {KERNELS} ORDER BY correlationId')[0] == times
    some = spoiled(tmp_path / "some", DamagedTimes(damage=damage, every=4))
    sound = select(spoiled(tmp_path / "sound"), f'SELECT start, "end" FROM {KERNELS}')
    assert sum(row not in sound for row in select(some, f'SELECT start, "end" FROM {KERNELS}')) == 2


def test_lost_rows_are_lost_by_chance_and_the_same_every_time(tmp_path: Path) -> None:
    counts = [
        len(select(spoiled(tmp_path / str(i), LostRows(share=0.5, seed=3)), f"SELECT 1 FROM {KERNELS}"))
        for i in range(2)
    ]
    assert counts[0] == counts[1] < 10


def test_a_lost_table_is_absent(tmp_path: Path) -> None:
    assert KERNELS not in tables(spoiled(tmp_path, LostTable(table=KERNELS)))
    assert KERNELS not in tables(spoiled(tmp_path, LostRows(share=1.0)))


def test_an_uncaptured_process_keeps_its_calls(tmp_path: Path) -> None:
    path = spoiled(tmp_path, LostProcess(report="rank0", pid=100))
    assert KERNELS not in tables(path)
    assert select(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME") == [(10,)]


def test_a_slice_begins_in_the_middle_of_a_step(tmp_path: Path) -> None:
    # calls at 0-9, kernels 10-15, 15-20 ... 55-60; step 1 begins at 5; cut at 7: calls 7, 8, 9 stay, and all kernels
    path = spoiled(tmp_path, Slice(step=1, after_ns=2))
    assert select(path, "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start") == [(7,), (8,), (9,)]
    assert select(path, f"SELECT count(*) FROM {KERNELS}") == [(10,)]
    later = spoiled(tmp_path / "later", Slice(step=1, after_ns=20))
    # cut at 25: kernels that end before it are gone
    assert select(later, f'SELECT min("end"), count(*) FROM {KERNELS}') == [(25, 8)]


def test_a_cut_at_a_step_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionValueError, match="no step 7"):
        spoiled(tmp_path, Slice(step=7))


def test_messages_say_what_they_are_told_to(tmp_path: Path) -> None:
    path = spoiled(tmp_path, Diagnostic(text="Number of incomplete CUPTI events dropped: 12", severity=1, scope="none"))
    query = "SELECT severity, globalPid < 0 FROM DIAGNOSTIC_EVENT WHERE text LIKE '%incomplete%'"
    assert select(path, query) == [(1, 1)]
    own = spoiled(tmp_path / "own", Diagnostic(text="incomplete"))
    assert select(own, query) == [(2, 0)]


def test_the_truth_does_not_change(tmp_path: Path) -> None:
    whole = write_job(ten_kernels(), tmp_path / "whole").truth
    cut = write_job(replace(ten_kernels(), spoils=(LostRows(share=0.9),)), tmp_path / "cut").truth
    assert cut["units"] == whole["units"]
    assert whole["spoiled"] == []
    assert cut["spoiled"][0]["kind"] == "LostRows"
    assert cut["spoiled"][0]["share"] == 0.9


@pytest.mark.parametrize("scenario", ["damaged", "zero_timestamps"])
@pytest.mark.parametrize("generation", ["2022.1", "2026.2"])
def test_damaged_scenarios_lack_rows_that_the_truth_has(tmp_path: Path, scenario: str, generation: str) -> None:
    simulation = simulate(scenario, tmp_path, generation=generation)
    sound = select(simulation.exports[0], f'SELECT 1 FROM {KERNELS} WHERE 0 < start AND start < "end" AND "end" < 1e13')
    assert 0 < len(sound) < sum(op.kind == 0 for op in simulation.execution.runs[0].ops)


def host_rows(out: Path, *instructions: Instruction, **options: Any) -> Path:
    job = replace(job_of(process(thread(*instructions))), recording=Recording(scheduling=True))
    return write_job(job, out, **options).exports[0]


def test_operating_system_calls_have_rows_above_the_threshold(tmp_path: Path) -> None:
    path = host_rows(tmp_path, kernel(A, 5), OsCall("read", 1_000), OsCall("mmap64", 5_000), sync(A))
    rows = select(path, 'SELECT start, "end", eventClass, value FROM OSRT_API JOIN StringIds ON StringIds.id = nameId')
    assert rows == [(1_001, 6_001, 27, "mmap64")]
    switches = select(path, "SELECT start, isSchedIn, threadState FROM SCHED_EVENTS ORDER BY start")
    assert switches == [(0, 1, None), (2_501, 0, 2), (4_501, 1, None)]


def test_older_generations_say_less_of_threads_that_leave_their_cpu(tmp_path: Path) -> None:
    path = host_rows(tmp_path, OsCall("read", 9_000), generation="2022.1")
    columns = [name for _, name, *_ in select(path, "PRAGMA table_info(SCHED_EVENTS)")]
    assert columns == ["start", "cpu", "isSchedIn", "globalTid"]
    assert len(select(path, "SELECT 1 FROM SCHED_EVENTS")) == 3
