"""CUDA graphs break launch assumptions.

What goes wrong:
    Each kernel is expected to have a launch of its own, and a device without kernel rows is taken for idle.

Why it misleads:
    One graph launch issues many kernels, which share its call. Traced as a whole, a graph is one row and its
    kernels are not recorded. Launch counts, launch latencies and idle shares are then wrong.

What critpath does:
    No claim is made about the launch of a single kernel inside a graph. A graph row is busy, and its inside is
    unknown: neither compute nor idle. Graph rows and node rows of one launch are never both counted. Launches are
    counted against the rows they left: a launch without any row makes idle time an upper bound, and the verdict
    inconclusive where that time is the largest part. This guard is limited whenever a window holds a graph launch.

The trap:
    200 kernels behind one launch; graph mode without kernel rows; 753 graph rows for 4,183 launches.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import GraphCoverage, GraphUse, Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "CUDA graphs break launch assumptions."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.rank.graph_tracing.graph_tracing",
    "critpath.rank.graph_use.graph_use",
    "critpath.rank.occupancy.Occupancy",
    "critpath.model.report.GraphUse",
)


def check(report: Report) -> Outcome:
    """Limited whenever a window holds a graph launch, in node mode too; cites how much of them is known."""
    units = analysed_units(report)
    coverage = report.capture.graph_coverage
    if not units:
        return _without_units(coverage)
    told = [(unit, unit.whole.graphs) for unit in units if unit.whole.graphs is not None]
    if not told:
        return NOT_ANALYSED_YET
    unit, graphs = max(told, key=lambda row: (row[1].uncovered, row[1].opaque_ms, row[1].launches))
    if graphs.launches:
        return Outcome("limited", f"{unit.id}: {_seen(graphs)}; {_of_capture(coverage)}")
    if report.capture.graph_mode == "unknown":
        return Outcome("limited", "no API call was recorded, so whether graphs were launched is unknown")
    if coverage is not None and coverage.launches:
        return Outcome("held", f"no window holds a graph launch; {_of_capture(coverage)}")
    return Outcome("not-applicable", "no graph was launched")


def _without_units(coverage: GraphCoverage | None) -> Outcome:
    if coverage is None or coverage.covered == coverage.launches:
        return NO_ANALYSED_UNIT
    return Outcome(
        "limited",
        f"{coverage.launches - coverage.covered} of {coverage.launches} graph launches left no device row: when they "
        "ran is unknown, and no device was thereby idle",
    )


def _seen(graphs: GraphUse) -> str:
    parts = [f"{graphs.launches} graph launches in its windows"]
    if graphs.node_ops:
        parts.append(f"{graphs.node_ops} ops share their launch calls, so nothing is said of the launch of one of them")
    if graphs.opaque:
        parts.append(
            f"{graphs.opaque} are one row each, {graphs.opaque_ms:.2f} ms an iteration busy and unknown inside"
        )
    if graphs.uncovered:
        parts.append(f"{graphs.uncovered} left no row, so idle time and compute absent are upper bounds")
    return "; ".join(parts)


def _of_capture(coverage: GraphCoverage | None) -> str:
    if coverage is None:
        return "no API call was recorded, so launches without a row can't be counted"
    return f"{coverage.covered} of {coverage.launches} launches of the capture left rows"
