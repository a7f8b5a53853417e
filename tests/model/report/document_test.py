from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from builders import absent, minimal_report, unit
from critpath.base.errors import InputError
from critpath.model import report as package
from critpath.model.report import Dominant, Input, Report, Transfer, Unit, load_report


def written(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(minimal_report().to_json())
    return values | changes


def test_a_report_comes_back_from_its_json_as_it_was():
    report = minimal_report(units=[unit(absent=absent())])
    assert Report.model_validate_json(report.to_json()) == report
    assert load_report(report.to_json()) == report


def test_equal_reports_have_equal_json():
    assert minimal_report().to_json() == minimal_report().to_json()


def test_json_has_the_contracts_keys_where_python_has_other_names():
    dominant = json.loads(minimal_report().to_json())["verdict"]["dominant"]
    assert "class" in dominant and "class_" not in dominant
    assert written()["schema"] == "critpath.report/1"


def test_a_part_may_be_built_by_either_name():
    assert Dominant(bucket="blocking", class_="nccl") == Dominant.model_validate(
        {"bucket": "blocking", "class": "nccl"}
    )


def test_foreign_names_survive():
    given = Input(path='we"ird \u2028\n<b>.sqlite', units=["u0"])
    assert load_report(minimal_report(inputs=[given]).to_json()).inputs == [given]


def test_a_number_slipped_in_past_the_checks_is_not_written():
    report = minimal_report()
    broken = report.model_copy(update={"capture": report.capture.model_copy(update={"runtime_link_rate": math.nan})})
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.to_json()


def test_a_report_is_frozen():
    with pytest.raises(ValidationError):
        minimal_report().units = []  # type: ignore[misc]


def test_a_unit_that_could_not_be_analysed_has_no_figures():
    failed = Unit(id="u0", input=0, pid=1, device=0, status="failed", error="unreadable")
    assert failed.window is None and failed.budget is None and failed.transfers == []


@pytest.mark.parametrize("name", ["nccl", "queue:compute", "copy_h2d", "late_launch"])
def test_a_class_of_the_contract_is_accepted(name: str):
    assert name in absent(blocking=package.Blocking(by_class={name: 20.0})).blocking.by_class  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["NCCL", "copy", "queue:", "queue:queue:nccl"])
def test_another_class_is_refused(name: str):
    with pytest.raises(ValidationError):
        package.Blocking(by_class={name: 20.0})


def test_a_negative_count_is_refused():
    with pytest.raises(ValidationError):
        Transfer(direction="H2D", count=-1, bytes=0, union_ms=0.0, occupancy=0.0)


def test_keys_of_a_later_version_are_passed_over():
    values = written(later={"x": 1})
    values["units"][0]["later"] = 2
    assert load_report(json.dumps(values)) == minimal_report()
    with pytest.raises(ValidationError):
        Report.model_validate(values)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "no JSON"),
        ("[]", "its schema is None"),
        ('"critpath.report/1"', "its schema is None"),
        (json.dumps({"schema": "critpath.report/2"}), "its schema is 'critpath.report/2'"),
        (json.dumps({"schema": "critpath.report/1"}), "tool: Field required"),
    ],
)
def test_text_that_is_no_report_is_told_in_four_parts(text: str, what: str):
    with pytest.raises(InputError) as caught:
        load_report(text, where="old/report.json")
    assert what in caught.value.what
    assert caught.value.where == "old/report.json"
    assert caught.value.meaning and caught.value.remedy


def test_a_fault_inside_is_told_with_its_place():
    values = written()
    values["units"][0]["window"]["n"] = "many"
    with pytest.raises(InputError, match=r"units\.0\.window\.n"):
        load_report(json.dumps(values))


def test_the_package_exports_what_it_lists():
    assert all(hasattr(package, name) for name in package.__all__)
