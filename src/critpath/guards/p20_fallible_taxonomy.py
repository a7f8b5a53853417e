"""A name taxonomy is fallible.

What goes wrong:
    A kernel is classified by a word in its name, and nobody sees which rule decided.

Why it misleads:
    Names quote other things: `Combine` in an attention kernel, `Dispatch` in a sort, `all_reduce` in generated code
    that has no peer. New libraries match no rule and vanish among the rest.

What critpath does:
    Rules see the whole name, in an order in which look-alikes come first. Names above 1 % of an iteration are listed
    with their share: matched ones with the rule that decided, unmatched ones as such, and they count as local compute.
    A kernel that computes and communicates stays `fused`, is compute busy, and is not split by guess.
    `critpath taxonomy NAME` explains any name.

The trap:
    `FlashAttnFwdCombine`, `cub::DispatchReduceByKey`, `triton_poi_fused_add_all_reduce`, `kuserbuffers_pushrecv`.
"""

from __future__ import annotations

from collections.abc import Sequence

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import REST, Compute, Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A name taxonomy is fallible."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.taxonomy.Taxonomy.explain",
    "critpath.rank.compute.names",
    "critpath.model.report.MaterialName",
    "critpath.model.report.UnclassifiedName",
)

_NAMES_TOLD = 3
_LONGEST = 60


def check(report: Report) -> Outcome:
    """Limited when a name above 1 % of an iteration matches no rule; held when every such name has one."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [(unit, unit.whole.compute) for unit in units if unit.whole.compute is not None]
    if not told:
        return NOT_ANALYSED_YET
    unit, compute = max(told, key=lambda row: _unmatched(row[1]))
    fused = [row.name for row in compute.material if row.category == "fused_compute_comm"]
    kept = f"; fused and not split: {_named(fused)}" if fused else ""
    if compute.unclassified:
        names = [row.name for row in compute.unclassified if row.name != REST]
        counted = "1 name" if len(names) == 1 else f"{len(names)} names"
        return Outcome(
            "limited",
            f"{unit.id}: no rule matches {counted} above 1 % of an iteration, {_unmatched(compute):.1%} of it "
            f"in work: {_named(names)}; they count as compute, which is wrong where they communicate{kept}",
        )
    if not compute.material:
        return Outcome("not-applicable", "no kernel name takes 1 % of an iteration")
    first = compute.material[0]
    return Outcome(
        "held",
        f"{unit.id}: each of {len(compute.material)} names above 1 % of an iteration is listed with its rule; most "
        f"work: {first.name[:_LONGEST]} by {first.rule}, {first.share_of_iteration:.1%}{kept}",
    )


def _unmatched(compute: Compute) -> float:
    return sum(row.share_of_iteration for row in compute.unclassified)


def _named(names: Sequence[str]) -> str:
    told = ", ".join(name[:_LONGEST] for name in names[:_NAMES_TOLD])
    return f"{told} and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else told
