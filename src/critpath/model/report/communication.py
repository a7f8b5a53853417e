"""Communication of a unit: what ran, what nothing covered, what provably blocked; always together."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Bytes, Count, Ms, Part, Percent, Us, null_means
from critpath.model.report.words import Backend, Component, OverlapBy, OverlapPhase, SlowdownOutcome

__all__ = ["BackendTime", "Collectives", "Communication", "Contention", "DimensionTime", "NcclOnly", "OverlapCost"]


class BackendTime(Part):
    """One component of one backend."""

    backend: Backend
    """The library, or the way it was done."""
    component: Component
    """What the kernels do; `transport_sync` and `control` move no payload (P06)."""
    count: Count
    """Ops that started in the windows."""
    work_ms: Ms
    """Durations added up: a volume of work, never wall time (P01)."""
    union_ms: Ms
    """Time in which at least one of them ran; not network time (P06)."""
    exposed_ms: Ms | None = Field(default=None, json_schema_extra=null_means("fused kernels compute as well"))
    """Part in which nothing else ran, other backends and components included; not blocking (P07)."""
    blocking_ms: Ms | None = Field(default=None, json_schema_extra=null_means("fused kernels compute as well"))
    """Compute-absent time that provably waited while they ran."""
    overlapped_ms: Ms | None = Field(default=None, json_schema_extra=null_means("fused kernels compute as well"))
    """Union minus exposed."""


class NcclOnly(Part):
    """NCCL's part alone; never to be read as all of communication (P05)."""

    union_ms: Ms
    """Time in which at least one NCCL op ran."""
    exposed_ms: Ms
    """NCCL that no other device work covered, other backends included; an upper bound, not blocking (P07)."""


class Collectives(Part):
    """Collectives of one type."""

    type: str
    """Type, as `all_reduce`, or `rest`."""
    count: Count
    """Collectives that started in the windows."""
    bytes: Bytes | None = None
    """Payload on this unit, where the capture tells it."""


class DimensionTime(Part):
    """Communication of one parallel dimension."""

    union_ms: Ms
    """Time in which at least one of its ops ran."""
    blocking_ms: Ms | None = None
    """Proven blocking of its ops."""


class Contention(Part):
    """One kernel and launch shape, alone and beside communication or copies: overlap isn't free.

    It says that executions took longer at the same time as others, never that those were the reason.
    """

    kernel: str
    """Name of the kernel, or `rest`."""
    by: OverlapBy | None = Field(default=None, json_schema_extra=null_means("the row stands for both"))
    """What ran beside it."""
    grid: int | None = Field(default=None, json_schema_extra=null_means("the row stands for several"))
    """Blocks in its grid."""
    block: int | None = Field(default=None, json_schema_extra=null_means("the row stands for several"))
    """Threads a block."""
    alone_us: Us
    """Its median duration with nothing else on the device; of `rest` the mean of medians, by overlapped executions."""
    overlapped_us: Us
    """Its median duration with communication, or copies, beside nine tenths of it or more; of `rest` as above."""
    n: tuple[Count, Count]
    """Executions the medians are of, alone and overlapped; the first step's, and each kernel's first, are left out."""
    slowdown_percent: Percent | None = Field(default=None, json_schema_extra=null_means("the row stands for several"))
    """Overlapped over alone, less 100 %."""
    slowdown_low_percent: Percent | None = Field(
        default=None, json_schema_extra=null_means("the row stands for several")
    )
    """Lower end of its 95 % interval, which assumes nothing of the durations but that executions are independent."""
    slowdown_high_percent: Percent | None = Field(
        default=None, json_schema_extra=null_means("the row stands for several")
    )
    """Upper end of that interval."""
    outcome: SlowdownOutcome | None = Field(default=None, json_schema_extra=null_means("the row stands for several"))
    """What the interval shows: `not_shown` where it holds 0."""
    phase: OverlapPhase | None = Field(default=None, json_schema_extra=null_means("the row stands for several"))
    """Whether executions alone and overlapped take turns in time. Where they lie apart, another phase of the step or a
    clock that settles explains a difference as well as overlap does."""
    cost_ms: Ms
    """Difference of the medians times the overlapped executions of an iteration; negative where they took less."""
    partly: Count
    """Executions that communication, or copies, covered in part: in no figure."""
    mixed: Count
    """Executions that communication and copies overlapped: in no figure."""
    beside_others: Count
    """Executions beside other compute, memsets, opaque graphs, migrations or other processes: in no figure."""


class OverlapCost(Part):
    """What overlap with compute hid, and what it cost, of those executions that could be compared.

    Whether what ran beside took longer too isn't known: the net is an upper bound of what overlap won.
    """

    by: OverlapBy
    """What ran beside compute."""
    overlap_ms: Ms
    """Time in which compute and communication, or copies, both ran."""
    measured_ms: Ms
    """Its part in overlapped executions of kernels that also ran alone often enough."""
    cost_ms: Ms
    """How much longer those executions took: the sum over all kernels compared, shown slower or not."""
    net_ms: Ms
    """Measured minus cost; negative where overlap cost more than it hid. An upper bound of what it won."""
    alone: Count
    """Compute kernels with nothing else on the device."""
    overlapped: Count
    """Compute kernels covered for nine tenths or more."""
    partly: Count
    """Compute kernels covered for less."""
    mixed: Count
    """Compute kernels that communication and copies overlapped."""
    beside_others: Count
    """Compute kernels beside other compute, memsets, opaque graphs, migrations or other processes."""
    unknown_shape: Count
    """Those of all these whose launch shape isn't told: compared with nothing."""


class Communication(Part):
    """All backends together: exposed (upper bound), overlapped, and blocking (proven)."""

    backends: list[BackendTime] = Field(default_factory=list)
    """Time by backend and component; fused kernels are listed and belong to no union here."""
    union_ms: Ms
    """Time in which at least one communication op ran; never called network time (P06)."""
    exposed_ms: Ms
    """Communication alone on the device: nothing else ran, copies and memsets included. It isn't blocking: the next op
    may have been launched late, and what other work covered may have blocked all the same (P07)."""
    blocking_ms: Ms | None = None
    """Compute-absent time that provably waited for communication; the sum of its classes in `absent.blocking`."""
    overlapped_ms: Ms
    """Communication that other device work covered: union minus exposed."""
    overlap_pct: Percent | None = Field(default=None, json_schema_extra=null_means("there is no communication"))
    """Overlapped over union."""
    nccl_only: NcclOnly | None = None
    """The same for NCCL alone (P05)."""
    blocking_transfer_ms: Ms | None = None
    """Blocking of matched collectives while data moved, by the transfer proxy."""
    blocking_peer_wait_ms: Ms | None = None
    """Blocking of matched collectives while a peer had not arrived: the late rank's cause, not the network's."""
    collectives: list[Collectives] = Field(default_factory=list)
    """Collectives by type."""
    by_dimension: dict[str, DimensionTime] | None = None
    """Communication by parallel dimension, as `dp`; needs the manifest's `[parallel]`."""
    matched: Count | None = None
    """Collective instances matched with those of other units."""
    unmatched: Count | None = None
    """Collective instances without a match; they support no claim on transfer."""
    transfer_proxy_ms: Ms | None = None
    """Shortest participant's time of matched collectives; a proxy of the transfer, an upper bound of it."""
    jitter_wait_ms: Ms | None = None
    """Own time of matched collectives minus the transfer proxy: arrival wait."""
    aligned_wait_ms: Ms | None = Field(
        default=None, json_schema_extra=null_means("clocks are not aligned, or no collective was matched")
    )
    """The same by aligned clocks: from its own start to the last participant's, in matched collectives."""
    contention: list[Contention] = Field(default_factory=list)
    """Kernels that ran alone and beside communication or copies often enough to compare, largest cost first."""
    overlap_cost: list[OverlapCost] = Field(default_factory=list)
    """What overlap hid and what it cost, by what ran beside compute."""
