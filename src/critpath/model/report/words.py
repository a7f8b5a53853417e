"""The closed sets of words a report uses, each with its name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

__all__ = [
    "AlignmentQuality",
    "AnchorKind",
    "Backend",
    "Bound",
    "Bucket",
    "Completeness",
    "Component",
    "Confidence",
    "Direction",
    "EvidenceKind",
    "GraphMode",
    "GuardOutcome",
    "HostCause",
    "InputKind",
    "Instrumentation",
    "MemoryKindName",
    "MessageScope",
    "MetricsSource",
    "MetricsState",
    "OperationClass",
    "OpportunityScope",
    "OverheadOwner",
    "OverlapBy",
    "OverlapPhase",
    "Pattern",
    "ProofStatus",
    "RankSource",
    "ResultStatus",
    "Scope",
    "SlowdownOutcome",
    "StallReason",
    "StragglerVerdict",
    "UnitStatus",
]

InputKind = Literal["sqlite", "parquetdir", "arrowdir", "nsys-rep"]
"""What an input is, by its content."""

ResultStatus = Literal["ok", "failed"]
"""Whether an input could be read."""

UnitStatus = Literal["ok", "no-device-rows", "failed"]
"""Whether a unit could be analysed."""

Bucket = Literal["compute", "launch_starved", "blocking", "dependency_stalled", "outside_step", "inconclusive"]
"""Where the largest part of a step went; `inconclusive` where the capture can't say."""

ProofStatus = Literal["trace-verified", "source-verified", "inferred", "unverified"]
"""How well a claim is proven: by intervals of the trace, by a place in the given source, by inference, or not."""

GuardOutcome = Literal["held", "limited", "not-applicable"]
"""What a guard says of this report."""

GraphMode = Literal["none", "node", "graph", "mixed", "unknown"]
"""How CUDA graphs were traced."""

Instrumentation = Literal["hardware", "software", "unknown"]
"""How device times were taken."""

MetricsState = Literal["present", "absent", "denied"]
"""Whether the capture holds metric samples; `denied` where the profiler lacked the permission."""

MessageScope = Literal["session", "unit", "api-only", "helper"]
"""Whom a message speaks of: all processes, one with device rows, one with CUDA calls only, or a process without any
CUDA row, whose messages constrain no unit."""

Completeness = Literal["contradicted", "possible loss", "no adverse evidence"]
"""How complete a process' records can be called; the profiler offers no proof that nothing was lost, so there is no
tier "complete"."""

OverheadOwner = Literal["profiler", "application", "unknown"]
"""Whose cost recorded overhead is: the application's own is there without a profiler too."""

MetricsSource = Literal["same-pass", "separate-pass"]
"""Whether the metric samples come from the timed run or from a run of their own."""

RankSource = Literal["manifest", "rank-regex", "nccl-nvtx", "mpi", "jax", "environment", "unknown"]
"""Where a unit's rank is known from; never a file's name."""

AnchorKind = Literal["nvtx", "collective", "optimizer", "kernel-sequence", "explicit", "capture"]
"""What a window's edges come from, best first, except that `explicit` is the user's own span."""

Scope = Literal["period", "range"]
"""`period`: from one step's first compute op to the next one's; `range`: to the last end of the step's own ops."""

Bound = Literal["exact", "upper", "lower", "estimate"]
"""Which way a value may be wrong; `estimate` where both ways are open."""

HostCause = Literal[
    "host-sync",
    "poll",
    "host-poll",
    "cuda-api",
    "osrt",
    "unscheduled",
    "other-thread",
    "profiler",
    "lazy-load",
    "cpu",
    "unknown",
    "rest",
]
"""What the launching host thread was doing while the device had nothing issued; `rest` only where a list was cut."""

StallReason = Literal[
    "back_to_back",
    "copy_engine",
    "queue_order",
    "device_full",
    "other_process",
    "uvm",
    "host_callback",
    "unresolved_wait",
    "inside_graph",
    "no_next_kernel",
    "unknown",
]
"""Why an issued op without a producer that explains it had not begun."""

Backend = Literal[
    "nccl",
    "hybrid_ep",
    "deepep",
    "nvshmem",
    "te_userbuffers",
    "symm_mem",
    "custom_allreduce",
    "mscclpp",
    "copy_engine",
    "fused",
    "other",
]
"""A communication library, or the way communication was done without one."""

Component = Literal["collective", "transport_sync", "control", "fused"]
"""What a communication kernel does: move data, wait for peers, prepare (pack, route, notify), or compute as well."""

OverlapBy = Literal["communication", "copies"]
"""What ran beside a compute kernel: kernels of the communication taxonomy, or copies, those of collectives too."""

OverlapPhase = Literal["interleaved", "apart_in_iteration", "apart_in_capture"]
"""Whether executions alone and overlapped take turns, or all of one kind precede the other in each iteration, or in the
capture."""

SlowdownOutcome = Literal["slower", "faster", "not_shown"]
"""What the interval of a slowdown shows."""

_OPERATION = (
    "nccl|hybrid_ep|deepep|nvshmem|te_userbuffers|symm_mem|custom_allreduce|mscclpp|copy_engine|fused|other"
    "|compute|copy_h2d|copy_d2h|copy_d2d|copy_p2p|uvm|memset|graph|late_launch|stall"
)

OperationClass = Annotated[str, Field(pattern=f"^(queue:)?({_OPERATION})$")]
"""What an operation is to the step: a backend, compute, a copy by direction, …; `queue:<class>` where it only headed
the queue that held the waiter."""

Direction = Literal[
    "unknown",
    "H2D",
    "D2H",
    "H2A",
    "A2H",
    "A2A",
    "A2D",
    "D2A",
    "D2D",
    "H2H",
    "P2P",
    "UVM_H2D",
    "UVM_D2H",
    "UVM_D2D",
    "rest",
]
"""Direction of a copy or migration; `rest` only where a list was cut."""

MemoryKindName = Literal[
    "pageable", "pinned", "device", "array", "managed", "device_static", "managed_static", "unknown"
]
"""Memory kind of a copy's end."""

Pattern = Literal["persistent", "rotating", "none"]
"""Whether the slowest unit of a group is always the same, changes, or can't be told apart."""

AlignmentQuality = Literal["good", "weak", "none"]
"""How well a host's clock could be aligned."""

StragglerVerdict = Literal["none", "persistent", "rotating", "start-skew", "inconclusive"]
"""Whether a captured rank arrives late, and whether it is always the same one."""

LateCauseKind = Literal["slower-kernels", "more-work", "host", "copies", "unknown"]
"""What a late unit has more of than its peers: kernels that all take longer, a few that do, launch-starved time, or
waits for copies. An observation; the mechanism behind it is inferred."""

OpportunityScope = Literal["unit", "job"]
"""Whether a ceiling holds for one unit's step or for the job's."""

Confidence = Literal["high", "medium", "low"]
"""How sure an opportunity is."""

EvidenceKind = Literal["interval", "edge", "copy", "collective", "source", "ledger"]
"""What a piece of evidence points at."""
