"""Why no compute ran: four buckets that add up to compute absent, and what is inside each."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Count, Ms, Part, Share, null_means
from critpath.model.report.words import Bound, HostCause, OperationClass

__all__ = [
    "Absent",
    "Blocking",
    "BlockingOperation",
    "BucketTimes",
    "DependencyStalled",
    "HostCauseTime",
    "LaunchStarved",
    "OffsetSensitivity",
    "StallReasons",
    "StreamWaits",
]


class BucketTimes(Part):
    """The four buckets under another host-device clock offset."""

    launch_starved_ms: Ms
    """Launch-starved time then."""
    blocking_ms: Ms
    """Blocking time then."""
    dependency_stalled_ms: Ms
    """Dependency-stalled time then."""
    opaque_graph_ms: Ms
    """Time behind opaque graphs then."""


class OffsetSensitivity(Part):
    """How far the buckets move with the error of the host-device clock; many gaps are shorter than it."""

    minus_10us: BucketTimes
    """Host times moved 10 us earlier."""
    plus_10us: BucketTimes
    """Host times moved 10 us later."""


class HostCauseTime(Part):
    """Launch-starved time with one host cause."""

    cause: HostCause
    """What the launching thread was doing."""
    detail: str
    """The API, system call or thread it was in."""
    ms: Ms
    """Time of this cause."""
    waits_on: OperationClass | None = Field(
        default=None, json_schema_extra=null_means("the thread was not waiting for a device op")
    )
    """Class of the device op that the thread was waiting for: the cause behind the cause."""
    nvtx: str | None = Field(default=None, json_schema_extra=null_means("most of the time lay in no NVTX range"))
    """NVTX ranges that the thread was in for most of the time, outermost first: a place, never a cause."""


class LaunchStarved(Part):
    """Time before the op that ended the gap was ready to run on the device: the host was late."""

    recoverable_ms: Ms
    """Part that an earlier launch alone would win, the launch latency not included; an upper bound."""
    joint_with_producer_ms: Ms
    """Part in which an op of the producer's chain was running: no launch fix alone wins it."""
    host_wait_ms: Ms
    """Part in which the launching thread was waiting for a device op."""
    launch_latency_ms: Ms
    """Part between the launch call and the earliest start; an earlier launch hides it too."""
    by_host_cause: list[HostCauseTime] = Field(default_factory=list)
    """All of launch-starved, by cause; adds up."""


class BlockingOperation(Part):
    """Blocking time of one operation, by name."""

    name: str
    """Name of the kernel or copy, or `rest`."""
    class_: OperationClass | None = Field(
        default=None,
        validation_alias="class",
        serialization_alias="class",
        json_schema_extra=null_means("the row stands for the rest of the list"),
    )
    """Class of the operation, not of the stream it came from."""
    ms: Ms
    """Blocking of the intervals whose op directly waited for it; what held it in turn is told by class."""
    count: Count
    """Intervals in which it was waited for, over all windows."""
    producer_late_ms: Ms
    """Part in which this producer had not itself begun."""
    nvtx: str | None = Field(
        default=None, json_schema_extra=null_means("most of it was launched outside every NVTX range")
    )
    """NVTX ranges that launched most of it, by time, outermost first: a place, never a cause."""


class Blocking(Part):
    """Time in which an issued op waited for a producer through a recorded or documented edge."""

    by_class: dict[OperationClass, Ms] = Field(default_factory=dict)
    """Blocking time by the class of the producer that ran, `late_launch` and `stall` before it; adds up."""
    by_operation: list[BlockingOperation] = Field(default_factory=list)
    """Blocking time by the operation directly waited for, largest first."""


class StallReasons(Part):
    """Dependency-stalled time by reason; null where a reason could not be tested."""

    back_to_back: Ms | None = None
    """The usual gap between dependent kernels; irreducible without graphs, fusion or programmatic launch."""
    copy_engine: Ms | None = None
    """The copy's engine was held by other copies."""
    queue_order: Ms | None = None
    """An op earlier in the same hardware queue held it."""
    device_full: Ms | None = None
    """Issued, no dependency open, and other kernels held the device."""
    other_process: Ms | None = None
    """Another process's ops held the physical device."""
    uvm: Ms | None = None
    """Unified-memory migrations were running."""
    host_callback: Ms | None = None
    """A host function enqueued in the stream had not returned."""
    unresolved_wait: Ms | None = None
    """A wait was pending whose producer the capture doesn't tell."""
    inside_graph: Ms | None = None
    """Between ops of one graph launch, whose edges are not exported."""
    no_next_kernel: Ms | None = None
    """No compute op followed before the capture ended."""
    unknown: Ms | None = None
    """None of the reasons above applies."""


class DependencyStalled(Part):
    """Time in which the op was issued and no resolved producer explains why it had not begun."""

    by_reason: StallReasons
    """The time by reason; adds up."""


class StreamWaits(Part):
    """Stream waits of a process over the whole capture (P09)."""

    count: Count
    """Calls that made a stream wait for an event."""
    unresolved: Count
    """Those whose record is not in the capture."""
    by_handle: Count
    """Those joined to the latest record of their reused handle before them, for want of a sync id."""


class Absent(Part):
    """Why compute was absent: the buckets and the residual add up to compute absent."""

    launch_starved_ms: Ms
    """No compute because the next compute op had not been launched in time."""
    blocking_ms: Ms
    """No compute because the next compute op waited for a proven producer; `blocking_bound` tells which bound."""
    dependency_stalled_ms: Ms
    """No compute though the next compute op was issued, and no resolved producer explains it."""
    opaque_graph_ms: Ms
    """No visible compute at or behind a graph whose inside is unknown (P21)."""
    residual_ms: Ms
    """What no bucket holds; above 0.5 ms it is a warning, never folded into a bucket."""
    contested_ms: Ms | None = None
    """Part in which another compute op was issued and held by a producer of its own; beside the buckets, not
    recoverable."""
    offset_sensitivity: OffsetSensitivity | None = None
    """The buckets with the host-device clock moved by 10 us either way."""
    unresolved_wait_share: Share | None = None
    """Stream waits whose producer is not known, over all stream waits."""
    waits: StreamWaits | None = None
    """Stream waits of the unit's process, and how they were joined to records."""
    blocking_bound: Bound
    """Which bound `blocking_ms` is: lower with unresolved waits or unknown issue times, upper with
    inferred edges, estimate with both."""
    launch_starved: LaunchStarved | None = None
    """What is inside launch-starved."""
    blocking: Blocking | None = None
    """What is inside blocking."""
    dependency_stalled: DependencyStalled | None = None
    """What is inside dependency-stalled."""
