"""A name taxonomy is fallible.

What goes wrong:
    A kernel is classified by a word in its name, and nobody sees which rule decided.

Why it misleads:
    Names quote other things: `Combine` in an attention kernel, `Dispatch` in a sort, `all_reduce` in generated code
    that has no peer. New libraries match no rule and vanish among the rest.

What critpath does:
    Names above 1 % of an iteration are listed: matched ones with their rule, unmatched ones as such. A kernel that
    computes and communicates stays `fused` and is not split by guess.

The trap:
    `FlashAttnFwdCombine`, `cub::DispatchReduceByKey`, `triton_poi_fused_add_all_reduce`, `kuserbuffers_pushrecv`.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "A name taxonomy is fallible."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
