"""Generations and their tables."""

from __future__ import annotations

import pytest

from critpath.sim.errors import UnknownNameError
from critpath.sim.schema import GENERATIONS, generation_named

SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"


@pytest.mark.parametrize(
    ("table", "column", "first"),
    [
        (EVENT, "timestamp", "2025.6"),
        (EVENT, "eventSyncId", "2025.3"),
        (SYNC, "eventSyncId", "2025.3"),
        (SYNC, "deprecatedSyncType", "2025.3"),
        (SYNC, "greenContextId", "2024.6"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "greenContextId", "2024.6"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "graphId", "2025.6"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "tensorSizeMinusOneElements", "2026.2"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "copyCount", "2025.3"),
        ("CUPTI_ACTIVITY_KIND_MEMSET", "greenContextId", "2025.3"),
        ("PROFILER_OVERHEAD", "overheadType", "2025.6"),
        ("TARGET_INFO_SESSION_START_TIME", "systemClockNs", "2025.6"),
        ("TARGET_INFO_CUDA_DEVICE", "uuid", "2025.6"),
        ("TARGET_INFO_CUDA_CONTEXT_INFO", "tpcMask", "2026.2"),
        ("NVTX_EVENTS", "binaryData", "2025.3"),
    ],
)
def test_a_column_is_there_from_its_first_generation_on(table: str, column: str, first: str) -> None:
    assert [g for g in GENERATIONS if column in GENERATIONS[g].columns(table)] == [g for g in GENERATIONS if g >= first]


def test_a_column_that_went_away() -> None:
    there = [g for g in GENERATIONS if "returnValue" in GENERATIONS[g].columns("PROFILER_OVERHEAD")]
    assert there == ["2022.1", "2024.6", "2025.3"]


def test_a_statement_declares_types_and_not_null() -> None:
    assert GENERATIONS["2022.1"].statement("ThreadNames") == (
        'CREATE TABLE "ThreadNames" ("nameId" INTEGER NOT NULL, "priority" INTEGER, "globalTid" INTEGER)'
    )
    assert '"id" INTEGER NOT NULL PRIMARY KEY' in GENERATIONS["2026.2"].statement("StringIds")


def test_nullability_may_change_between_generations() -> None:
    old, new = (GENERATIONS[g].statement("TARGET_INFO_SYSTEM_ENV") for g in ("2022.1", "2025.3"))
    assert '"globalVid" INTEGER NOT NULL' in old
    assert '"globalVid" INTEGER,' in new


def test_an_unknown_generation_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"2025\.6, 2026\.2"):
        generation_named("2027.1")
