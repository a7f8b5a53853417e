from dataclasses import replace

import numpy as np
import pytest

from critpath.run.collectives import Communicator
from critpath.run.dimensions import dimension_of, strides
from critpath.run.survey import groups, job_step, representatives, similarity
from critpath.run.units import RunUnit, job_steps
from run.made import collectives, unit, windows

NOTHING = np.empty(0, np.int64)


def made(place: int, lengths: list[int], labels: tuple[str, ...] | None = None, **more: object) -> RunUnit:
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    steps = windows(edges, labels)
    return unit(place, "node0", collectives(NOTHING, NOTHING, NOTHING, steps), steps, **more)


def test_the_jobs_step_is_the_longest_window_of_each_step_that_all_have() -> None:
    units = [
        made(0, [10, 30, 10], ("iteration 1", "iteration 2", "iteration 3")),
        made(1, [20, 20, 25], ("iteration 2", "iteration 3", "iteration 4")),
    ]
    steps = job_steps(units)
    assert steps.by_key
    assert [steps.labels[s] for s in steps.common] == ["iteration 2", "iteration 3"]
    found = job_step(units, steps)
    assert found is not None
    assert found.lengths_ns.tolist() == [30, 20]
    assert found.slowest_per_step == (0, 1)


def test_texts_that_recur_leave_the_place_to_decide() -> None:
    units = [made(i, [10, 20 + i, 10], ("train_step",) * 3) for i in range(2)]
    steps = job_steps(units)
    assert not steps.by_key
    assert steps.common.tolist() == [0, 1, 2]


def test_units_without_a_common_step_have_no_job_step() -> None:
    units = [made(0, [10, 10], ("iteration 1", "iteration 2")), made(1, [10, 10], ("iteration 7", "iteration 8"))]
    assert job_step(units, job_steps(units)) is None


def test_numbers_that_stay_the_same_on_a_unit_name_no_step() -> None:
    units = [made(i, [10, 20, 10], tuple(f"rank {i} step {n} of 90" for n in (7 + i, 8 + i, 9 + i))) for i in range(2)]
    steps = job_steps(units)
    assert steps.by_key
    assert steps.window.tolist() == [[0, 1, 2, -1], [-1, 0, 1, 2]]


@pytest.mark.parametrize(("other", "alike"), [(100.0, True), (98.0, True), (90.0, False)])
def test_units_are_alike_by_what_they_run(other: float, alike: bool) -> None:
    units = [made(0, [10] * 4, counts={"gemm": 100.0}), made(1, [10] * 4, counts={"gemm": other})]
    assert similarity(*units) == pytest.approx(other / 100)
    assert (len(groups(units, job_steps(units))) == 1) is alike


def test_declared_parts_are_groups_whatever_they_run() -> None:
    units = [made(i, [10] * 4, part="ab"[i % 2], counts={"gemm": 50.0 * (1 + i)}) for i in range(4)]
    found = groups(units, job_steps(units))
    assert [(g.part, g.units) for g in found] == [("a", (0, 2)), ("b", (1, 3))]
    assert found[0].similarity_min == pytest.approx(50 / 150)


@pytest.mark.parametrize(
    ("lengths", "pattern"),
    [
        ([[10, 10, 10, 10], [13, 13, 13, 13], [10, 10, 10, 10]], "persistent"),
        ([[14, 10, 10, 11], [10, 14, 10, 10], [10, 10, 14, 10]], "rotating"),
        ([[1000, 1001, 1000, 999], [1001, 1000, 1000, 1000], [1000, 1000, 1000, 1001]], "none"),
    ],
)
def test_the_pattern_of_a_group(lengths: list[list[int]], pattern: str) -> None:
    units = [made(i, row) for i, row in enumerate(lengths)]
    (found,) = groups(units, job_steps(units))
    if pattern == "rotating":
        assert found.pattern in ("rotating", "none")
    else:
        assert found.pattern == pattern


def test_the_late_one_the_slowest_and_each_other_group_are_shown() -> None:
    units = [made(i, [10 + i] * 4, counts={"gemm": 10.0, "head": 0.0 if i < 3 else 9.0}) for i in range(4)]
    found = groups(units, job_steps(units))
    chosen = representatives(units, found, slowest=2, late=0)
    assert [(r.unit, r.why) for r in chosen] == [
        (0, "the others wait for it"),
        (2, "the slowest of 4 captured units most often"),
        (3, "the slowest of 1 of units that do the same work"),
    ]


def test_a_dimension_is_told_only_where_one_alone_fits() -> None:
    units = [made(i, [10, 10]) for i in range(16)]
    known = strides({"tp": 4, "pp": 2}, 16)
    assert known == {"tp": (4, 1), "dp": (2, 4), "pp": (2, 8)}

    def told(*ranks: int, size: int | None = None, message: bool = False) -> str | None:
        return dimension_of(Communicator("c", ranks, False, size, message), units, known)

    assert told(0, 1, 2, 3) == "tp"
    assert told(0, 4, size=2) == "dp"
    assert told(1, 9, size=2) == "pp"
    assert told(2, 10, message=True) == "pp"
    assert told(0, 5) is None
    assert told(0, 1, 2, 3, 4) is None
    rankless = [replace(u, rank=None) for u in units]
    assert dimension_of(Communicator("c", (0, 1, 2, 3), False, 4), rankless, known) == "tp"
    assert dimension_of(Communicator("c", (0, 4), False, 2), rankless, known) is None
