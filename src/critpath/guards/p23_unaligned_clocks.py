"""Clocks of different hosts are not aligned.

What goes wrong:
    Times of several hosts are put on one axis as they are, and the rank that ends later is called late.

Why it misleads:
    Clocks of hosts differ by milliseconds and drift apart. A capture may merely have begun earlier. Lateness
    smaller than what alignment leaves over is noise.

What critpath does:
    Clocks are rebased and then fitted on matched collective ends that causality ties, with the residual printed.
    Lateness is claimed only beyond it. A host that can't be aligned gives durations only.

The trap:
    A window that is 102 ms longer only because it began earlier; an offset of 40 ms with a drift of 20 ppm.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Alignment, Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Clocks of different hosts are not aligned."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.run.clocks.clocks",
    "critpath.run.certified.certified",
    "critpath.run.hosts.hosts",
)


def check(report: Report) -> Outcome:
    """Held with the residual; limited where a host can't be aligned, or matches contradict causality."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    if report.ranks is None:
        return NOT_ANALYSED_YET
    if len(units) == 1:
        return Outcome("not-applicable", f"{units[0].id} is the one captured unit; its clock is compared with no other")
    aligned = report.ranks.alignment
    if aligned is None:
        return Outcome("held", f"{len(units)} units on one host; lateness is told by durations, which need no clock")
    return _limits(aligned) or _held(aligned)


def _limits(aligned: Alignment) -> Outcome | None:
    if aligned.suspect:
        named = ", ".join(aligned.suspect[:2])
        return Outcome(
            "limited",
            f"matches of {named} contradict causality: a wrong match, or a clock that isn't linear; nothing is aligned "
            "on them",
        )
    apart = [host.host for host in aligned.hosts if host.quality == "none"]
    if not apart:
        return None
    of = f"{len(apart)} of {len(aligned.hosts) + 1} hosts ({', '.join(apart[:3])})"
    return Outcome(
        "limited",
        f"no collective ties {of} to {aligned.reference}: their times are compared with no other, durations only",
    )


def _held(aligned: Alignment) -> Outcome:
    left = max((h.residual_ns.p95 for h in aligned.hosts if h.residual_ns is not None), default=None)
    off = max(abs(h.offset_ns or 0) for h in aligned.hosts)
    told = "no end was held out to test it" if left is None else f"95 % of held-out ends lie within {left / 1e3:.1f} us"
    return Outcome(
        "held",
        f"clocks of {len(aligned.hosts) + 1} hosts were up to {off / 1e6:.3f} ms apart after the rebase and are "
        f"aligned on matched collectives; {told}; nothing smaller is claimed",
    )
