"""Distributed communication is not NCCL alone.

What goes wrong:
    Communication is found by looking for NCCL's kernel names, and everything else counts as compute.

Why it misleads:
    Dispatchers such as HybridEP and DeepEP, NVSHMEM, user buffers, custom all-reduces and copies between devices
    move data without NCCL. What is missed inflates compute busy and hides the cost.

What critpath does:
    A taxonomy assigns each kernel to its backend. A figure for NCCL alone always stands beside that of all
    backends, under a name that says so, and its exposed part has the other backends subtracted.

The trap:
    HybridEP, DeepEP and NVSHMEM carry 80 % of communication; `deepep` is spelled `deep_ep`; an all-gather is done
    by copies.
"""

from __future__ import annotations

from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.model.report import Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Distributed communication is not NCCL alone."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = ()


def check(report: Report) -> Outcome:
    """Not analysed yet."""
    return NOT_ANALYSED_YET
