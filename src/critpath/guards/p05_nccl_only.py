"""Distributed communication is not NCCL alone.

What goes wrong:
    Communication is found by looking for NCCL's kernel names, and everything else counts as compute.

Why it misleads:
    Dispatchers such as HybridEP and DeepEP, NVSHMEM, user buffers, custom all-reduces and copies between devices
    move data without NCCL. What is missed inflates compute busy and hides the cost.

What critpath does:
    A taxonomy assigns each kernel to its backend. A figure for NCCL alone always stands beside that of all
    backends, under a name that says so, and its exposed part has the other backends subtracted. Collectives done by
    copies leave no kernel: copies issued inside NCCL's own ranges are backend `copy_engine`, and where other copies
    between devices ran, that they may be collectives too is said.

The trap:
    HybridEP, DeepEP and NVSHMEM carry 80 % of communication; `deepep` is spelled `deep_ep`; an all-gather is done
    by copies.
"""

from __future__ import annotations

from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET, Outcome, analysed_units
from critpath.model.report import Communication, Report

__all__ = ["ANCHORS", "SINCE", "TITLE", "check"]

TITLE = "Distributed communication is not NCCL alone."

SINCE = "0.1"

ANCHORS: tuple[str, ...] = (
    "critpath.model.taxonomy.Taxonomy.classify",
    "critpath.rank.communication.communication",
    "critpath.model.report.NcclOnly",
)


def check(report: Report) -> Outcome:
    """Held when NCCL alone stands beside all backends; limited where copies between devices may be collectives."""
    units = analysed_units(report)
    if not units:
        return NO_ANALYSED_UNIT
    told = [(unit, unit.whole.communication) for unit in units if unit.whole.communication is not None]
    if not told:
        return NOT_ANALYSED_YET
    peer = sum(row.count for unit in units for row in unit.whole.transfers if row.direction == "P2P")
    known = sum(row.count for _, comm in told for row in comm.backends if row.backend == "copy_engine")
    peer = max(0, peer - known)
    copies = f"; {peer} copies between devices may be collectives done by copies, which no figure holds" if peer else ""
    busy = [(unit, comm) for unit, comm in told if comm.union_ms > 0]
    if not busy:
        seen = f"no communication kernel ran in any window{copies}"
        return Outcome("limited" if peer else "not-applicable", seen)
    unit, comm = max(busy, key=lambda row: _beyond_nccl(row[1]))
    if comm.nccl_only is None:
        return NOT_ANALYSED_YET
    backends = ", ".join(_backends(comm))
    elsewhere = sorted(
        {r.backend for _, c in told for r in c.backends if r.component != "fused"} - set(_backends(comm))
    )
    copies = f"; other units use {', '.join(elsewhere)} too{copies}" if elsewhere else copies
    return Outcome(
        "limited" if peer else "held",
        f"{unit.id}: communication union {comm.union_ms:.2f} ms an iteration ({backends}), NCCL alone "
        f"{comm.nccl_only.union_ms:.2f}; exposed at most {comm.exposed_ms:.2f}, NCCL alone "
        f"{comm.nccl_only.exposed_ms:.2f}{copies}",
    )


def _backends(comm: Communication) -> list[str]:
    return list(dict.fromkeys(row.backend for row in comm.backends if row.component != "fused"))


def _beyond_nccl(comm: Communication) -> float:
    return comm.union_ms - (comm.nccl_only.union_ms if comm.nccl_only is not None else 0.0)
