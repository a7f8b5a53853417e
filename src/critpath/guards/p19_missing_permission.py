"""Missing profiler permission is not a workload failure.

What goes wrong:
    A capture in which metrics failed is thrown away, or its message is read as a fault of the program.

Why it misleads:
    Counters need a permission that containers often lack. Timing doesn't: kernels, copies and API calls are
    recorded all the same.

What critpath does:
    Analysis of times goes on. `capture.metrics` says present, absent or denied, told by the profiler's own message
    and not by its severity; the metrics are null with that reason, and `critpath doctor` names the setting that
    grants the permission.

The trap:
    A permission diagnostic and no metric table in an otherwise complete capture.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Missing profiler permission is not a workload failure."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.capture_gaps.metrics_state",
    "critpath.rank.message_catalogue.matching",
    "critpath.model.report.Capture",
)


def check(report: Report) -> Outcome:
    """Limited when counters were denied: times hold, and nothing is said of how well units were used."""
    analysed = len(analysed_units(report))
    state = report.capture.metrics
    if state == "denied":
        return Outcome(
            "limited",
            "the profiler was not permitted to read the GPU's counters, which is no fault of the workload: times of "
            f"{analysed} units are analysed without them, and nothing is said of how well a device's units were used",
        )
    if not analysed:
        return NO_ANALYSED_UNIT
    if state is None:
        return NOT_ANALYSED_YET
    if state == "absent":
        return Outcome("not-applicable", f"no metric was sampled and none denied; {analysed} units are timed without")
    return Outcome("not-applicable", "metric samples are present, so none was denied")
