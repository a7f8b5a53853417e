"""A verdict on sampled ranks is not global.

What goes wrong:
    A few captured ranks look alike, and the job is declared free of stragglers.

Why it misleads:
    The slow rank may be one of those that were not captured. What captured ranks show of it is waiting, which looks
    the same on all of them.

What critpath does:
    The verdict names the ranks that it covers, and the number that the job has where somebody said so. A rank that
    wasn't captured is never cleared.

The trap:
    The straggler isn't captured; the two captured ranks agree with each other.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A verdict on sampled ranks is not global."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ("critpath.run.stragglers.straggler", "critpath.model.report.Straggler")


def check(report: Report) -> Outcome:
    """Held where every rank of the job was captured; limited where some weren't, since those are never cleared."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    ranks = report.ranks
    if ranks is None or ranks.straggler is None:
        return NOT_ANALYSED_YET
    comm = units[0].whole.communication
    job = _job_size(report)
    if len(units) == 1 and job in {None, 1} and (comm is None or not comm.union_ms):
        return Outcome("not-applicable", f"{units[0].id} is the one captured unit, and it communicates with none")
    covered = f"{len(ranks.straggler.limited_to)} of {len(units)} captured units"
    told = f"the verdict on stragglers ({ranks.straggler.verdict}) covers {covered}"
    if job is None:
        rest = "nobody declared how many ranks the job has, and those not captured aren't cleared"
        return Outcome("limited", f"{told}; {rest}")
    if job > len(units):
        return Outcome("limited", f"{told}; the job has {job} ranks, and the {job - len(units)} others aren't cleared")
    return Outcome("held", f"{told}; all {job} ranks of the job were captured")


def _job_size(report: Report) -> int | None:
    """Ranks of the job: as declared, else of the largest communicator whose size was captured."""
    if report.capture.ranks_declared is not None:
        return report.capture.ranks_declared
    found = report.ranks.collectives if report.ranks is not None else None
    return max((c.size for c in found.communicators if c.size), default=None) if found is not None else None
