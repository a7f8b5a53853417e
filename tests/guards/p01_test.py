from __future__ import annotations

from builders import minimal_report, unit
from critpath.guards.outcome import NOT_ANALYSED_YET
from critpath.guards.p01_summed_kernel_time import check
from critpath.model.report import WorkVolume


def volume(sum_ms: float, union_ms: float) -> WorkVolume:
    return WorkVolume(kernel_sum_ms=sum_ms, kernel_union_ms=union_ms, kernels=1, linked_kernels=1)


def test_a_union_within_the_iteration_holds_and_cites_the_largest_sum():
    report = minimal_report(
        units=[unit(), unit(id="u1", work_volume=volume(812.3, 90.1)), unit(id="u2", work_volume=volume(90.0, 80.0))]
    )
    outcome = check(report)
    assert outcome.outcome == "held"
    assert outcome.evidence == (
        "u1: kernel sum 812.3 ms against union 90.1 ms an iteration; the sum appears only as work volume"
    )


def test_a_union_above_the_iteration_limits():
    outcome = check(minimal_report(units=[unit(), unit(id="u1", work_volume=volume(120.0, 101.0))]))
    assert outcome.outcome == "limited"
    assert "u1: the kernel union 101.0 ms exceeds the iteration 100.0 ms" in outcome.evidence


def test_without_work_volume_nothing_is_said():
    assert check(minimal_report(units=[unit(work_volume=None)])) == NOT_ANALYSED_YET
