from __future__ import annotations

import pytest

from builders import absent, minimal_report, unit
from critpath.model.report import unexplained_nulls
from critpath.model.values import Unavailable


def explained(*paths: str) -> list[str]:
    entries = [Unavailable(path=path, reason="said so") for path in paths]
    return unexplained_nulls(minimal_report(unavailable=entries, units=[unit(), unit(id="u1")]))


def test_the_minimal_report_explains_every_null():
    assert unexplained_nulls(minimal_report()) == []


def test_a_null_without_an_entry_is_listed_with_its_path():
    assert {"capture.metrics", "ranks", "units[0].absent", "units[1].absent"} <= set(explained())


def test_a_null_that_is_an_answer_needs_no_entry():
    assert not {"capture.ranks_declared", "units[0].part", "workload.model"} & set(explained())


@pytest.mark.parametrize("path", ["units[1].mfu", "units[1]", "units[].mfu", "units"])
def test_an_entry_explains_its_path_and_all_below_it(path: str):
    assert "units[1].mfu" not in explained(path)


def test_an_entry_of_one_unit_says_nothing_of_another():
    assert "units[0].mfu" in explained("units[1].mfu")


def test_an_entry_explains_no_longer_name_that_begins_alike():
    assert "units[0].communication.blocking_transfer_ms" in explained("units[0].communication.blocking")


def test_an_open_index_may_stand_beside_a_fixed_one():
    report = minimal_report(units=[unit(absent=absent(unresolved_wait_share=None))], unavailable=[])
    assert "units[0].absent.unresolved_wait_share" in unexplained_nulls(report)
    entry = Unavailable(path="units[].absent.unresolved_wait_share", reason="no wait rows")
    assert "units[0].absent.unresolved_wait_share" not in unexplained_nulls(
        report.model_copy(update={"unavailable": [entry]})
    )
