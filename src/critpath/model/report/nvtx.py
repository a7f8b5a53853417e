"""NVTX ranges over the steps: what each launched, how evenly it paces, and which host-only ranges were open longest."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.absent import BucketTimes
from critpath.model.report.part import Count, FiniteStat, Ms, Part, Percent, Share, null_means
from critpath.model.report.work import DurationBin, KernelWork

__all__ = ["HostRange", "NvtxRange", "NvtxRanges"]


class NvtxRange(Part):
    """All instances of one grouped name in one domain."""

    name: str
    """Grouped name: without what profilers append to tell instances apart."""
    path: str
    """Grouped names of the ranges around most instances, and its own, outermost first."""
    domain: int
    """NVTX domain id; 0 is the default domain."""
    instances: Count
    """Instances that belong to a window: whose first op starts in it, or, without an op, which start in it. Those
    inside another instance of the name don't count."""
    device: FiniteStat
    """Time a window with at least one op running that an instance's own thread launched while it was open."""
    share: Share
    """Mean of `device` over the unit's device busy. Ranges nest and overlap: shares don't add up."""
    compute_ms: Ms
    """The part of `device` in which a compute op ran."""
    communication_ms: Ms
    """The part of `device` in which a kernel of the communication taxonomy ran."""
    any_thread_ms: Ms
    """Time with an op running that any thread of the process launched while an instance was open. A backward pass is
    launched by a thread of its own; other threads' work for other ranges is in here too."""
    any_thread_share: Share
    """`any_thread_ms` over the unit's device busy."""
    host_ms: Ms
    """Time on the host with an instance open; the host runs ahead, so this is no device time."""
    gap_ms: BucketTimes
    """Time without compute, by bucket, between first start and last end of the instances' ops: it lies there, and
    isn't put down to the range."""
    trend_percent_per_iteration: Percent | None = Field(
        default=None, json_schema_extra=null_means("fewer than four windows, or no device time in most of them")
    )
    """Theil-Sen slope of its device time over the steps, in percent of the median."""
    histogram: list[DurationBin] = Field(default_factory=list)
    """Instances that launched an op, by their time on the device."""
    kernels: list[KernelWork] = Field(default_factory=list)
    """The kernels with the most work that it launched."""
    kernels_left_out: Count
    """Other kernel names."""


class HostRange(Part):
    """A range whose own thread launched no op on the unit: loading data, logging, waiting, handing work to a thread."""

    path: str
    """Grouped names of the ranges around it, and its own."""
    instances: Count
    """Instances that start in a window."""
    host_ms: Ms
    """Time on the host with an instance open."""
    any_thread_ms: Ms
    """Time with an op running that another thread launched while an instance was open, as autograd's does for the main
    thread's backward pass."""
    any_thread_share: Share
    """`any_thread_ms` over the unit's device busy."""


class NvtxRanges(Part):
    """The NVTX ranges of a unit's process, as far as they concern its windows."""

    ranges: list[NvtxRange] = Field(default_factory=list)
    """The ranges with the most device time, largest first."""
    ranges_left_out: Count
    """Other names that launched something that ran in the windows."""
    host_only: list[HostRange] = Field(default_factory=list)
    """Ranges without any op on the unit that were open longest in the windows."""
    host_only_left_out: Count
    """Other names without any op on the unit."""
