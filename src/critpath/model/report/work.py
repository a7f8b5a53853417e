"""What a unit's device did: compute, transfers, host synchronization, metrics, model FLOPs."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Bytes, Count, Ms, Part, Rate, Share, Us, null_means
from critpath.model.report.words import Direction, MemoryKindName, MetricsSource

__all__ = [
    "Category",
    "Compute",
    "DurationBin",
    "HostSync",
    "KernelWork",
    "MaterialName",
    "MetricRow",
    "Metrics",
    "Mfu",
    "Transfer",
    "UnclassifiedName",
]


class DurationBin(Part):
    """How many durations lie in one power of two."""

    from_us: Us
    """At least this long; 0 for the first."""
    to_us: Us
    """Less than this."""
    count: Count
    """How many."""


class KernelWork(Part):
    """Executions of one kernel."""

    name: str
    """Name as the capture has it."""
    count: Count
    """Executions in the windows."""
    work_ms: Ms
    """Durations added up: a volume of work, never wall time (P01)."""


class Category(Part):
    """Kernels of one family."""

    name: str
    """Family, as `gemm`, or `rest`."""
    count: Count
    """Kernels that started in the windows."""
    work_ms: Ms
    """Durations added up: a volume of work, never wall time (P01)."""
    union_ms: Ms | None = Field(default=None, json_schema_extra=null_means("the row stands for the rest of the list"))
    """Time in which at least one of them ran."""


class MaterialName(Part):
    """A kernel name of more than 1 % of an iteration, with the rule that matched it (P20)."""

    name: str
    """Name as the capture has it, or `rest`."""
    category: str
    """Family the rule gave."""
    rule: str
    """Id of the rule."""
    share_of_iteration: Share
    """Its work over the iteration; shares of concurrent kernels may add up to more than 1."""


class UnclassifiedName(Part):
    """A kernel name that no rule matched (P20)."""

    name: str
    """Name as the capture has it, or `rest`."""
    work_ms: Ms
    """Durations added up: a volume of work, never wall time (P01)."""
    share_of_iteration: Share
    """Its work over the iteration."""


class Compute(Part):
    """Kernels outside the communication taxonomy."""

    categories: list[Category] = Field(default_factory=list)
    """Work by family, largest first."""
    material: list[MaterialName] = Field(default_factory=list)
    """Names above 1 % of an iteration, with their rule."""
    unclassified: list[UnclassifiedName] = Field(default_factory=list)
    """Names above 1 % of an iteration without a rule."""


class Transfer(Part):
    """Copies of one direction, memory kinds and stream."""

    direction: Direction
    """Direction, or `rest`."""
    src: MemoryKindName | None = Field(default=None, json_schema_extra=null_means("the capture doesn't tell"))
    """Memory kind copied from."""
    dst: MemoryKindName | None = Field(default=None, json_schema_extra=null_means("the capture doesn't tell"))
    """Memory kind copied to."""
    stream: int | None = Field(default=None, json_schema_extra=null_means("several streams, or none is told"))
    """Stream they were issued on."""
    default_stream: bool | None = Field(default=None, json_schema_extra=null_means("the capture doesn't tell"))
    """Whether that is the legacy default stream, which may synchronize (P13)."""
    count: Count
    """Copies that started in the windows."""
    bytes: Bytes
    """Payload of those copies, over all windows."""
    union_ms: Ms
    """Time in which at least one of them ran."""
    achieved_GBps: Rate | None = Field(default=None, json_schema_extra=null_means("no copy of measurable length"))  # noqa: N815
    """Payload over the time in which they ran."""
    occupancy: Share
    """Union over iteration: how much of the step the engine was held; not how much it delayed (P12)."""
    host_blocked: Count | None = None
    """Copies of `count` that held the host: their call may wait, and returned no earlier than the copy ended (P13)."""
    blocking_ms: Ms | None = None
    """Compute-absent time that provably waited for them."""
    verdict: str | None = None
    """What may be said of them: `copy bound` needs rate, occupancy, memory kind and dependency together (P12)."""


class HostSync(Part):
    """Host threads waiting for the device; never by itself a stall of the device (P11)."""

    host_ms: Ms
    """Time in which at least one thread of the process was in a waiting call; stream waits and event queries are
    none."""
    while_device_idle_ms: Ms
    """The part of it in which the device was idle."""


class MetricRow(Part):
    """A sampled metric during one operator; samples are device-wide (P14)."""

    metric: str
    """Name of the metric, resolved by name in each report (P17)."""
    operator: str
    """NVTX range or kernel family sampled, or `device`."""
    mean: float | None = None
    """Mean of the samples, in the metric's own unit; null without samples, which is not 0 (P18)."""
    samples: Count
    """Samples that fell into the operator."""
    exclusivity: Share | None = None
    """Share of the operator's time in which nothing else ran on the device (P14)."""
    contaminated: bool
    """Whether other work was resident while it was sampled."""


class Metrics(Part):
    """Device metrics, where they were sampled."""

    source: MetricsSource
    """Whether they come from the timed run."""
    rows: list[MetricRow] = Field(default_factory=list)
    """One row a metric and operator."""


class Mfu(Part):
    """Model FLOPs utilization: numerator and denominator are checked apart (P29)."""

    value: Share
    """Model FLOPs of a step over peak times the step's time."""
    flops_per_step: float = Field(json_schema_extra={"unit": "flop/iteration"})
    """Model FLOPs of one step on this unit, by the formula; nothing measured."""
    formula: str
    """Formula and convention, in words."""
    peak_tflops: float = Field(json_schema_extra={"unit": "TFLOP/s"})
    """Dense peak of the stated precision."""
    precision: str
    """Precision the peak is for."""
    basis: str
    """Whose step time it is divided by, and whether that step is perturbed."""
    checks: list[str] = Field(default_factory=list)
    """Checks of the inputs that were made, and their outcome."""
