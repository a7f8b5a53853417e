"""How the unit's work reached the device."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from critpath.model.report.part import Count, Measure, Ms, Part, Share, Us, null_means
from critpath.model.report.work import DurationBin, KernelWork

__all__ = ["LaunchCall", "LaunchDelay", "LaunchQueue", "Launches", "ShortKernels"]

_NONE = null_means("no op in the windows has a call that the capture knows")


class LaunchDelay(Part):
    """From the start of a launch call to the start of its op; of the ops of one graph launch, the first.

    A long delay is the host running ahead, a short one may be a starved device: neither is good or bad by itself.
    """

    n: Count
    """Launches it was measured on."""
    p10_us: Us | None = Field(default=None, json_schema_extra=_NONE)
    """10th percentile."""
    median_us: Us | None = Field(default=None, json_schema_extra=_NONE)
    """Median."""
    p90_us: Us | None = Field(default=None, json_schema_extra=_NONE)
    """90th percentile."""
    p99_us: Us | None = Field(default=None, json_schema_extra=_NONE)
    """99th percentile."""
    without_call: Count
    """Ops in the windows whose call is not in the capture: in none of these figures."""
    before_call: Count
    """Ops that start before their call does, which is impossible: in none of these figures."""


class LaunchQueue(Part):
    """Launches pending: called, and not started on the device."""

    mean: Annotated[float, Measure("1")]
    """Mean over the time of the windows."""
    most: Count
    """The most at any time in the windows."""
    empty_share: Share
    """Share of the windows' time without any launch pending: whatever the device then does is the last it knows of."""
    series: list[Annotated[float, Measure("1")]] = Field(default_factory=list)
    """Mean over each window's time."""


class LaunchCall(Part):
    """Calls of one API function that launched something on the unit, and began in its windows."""

    function: str
    """The function, without version suffix."""
    count: Count
    """Calls."""
    host_ms: Ms
    """Their lengths added up, over all threads: no wall time where several threads launch."""
    median_us: Us
    """Median length."""
    p99_us: Us
    """99th percentile."""
    max_us: Us
    """The longest."""
    held_up: Count
    """Calls longer than three medians of ordinary launch calls."""
    queue_full: Count
    """Those of them that found 1,000 or more launches pending on their stream: the device is behind, the host isn't
    slow."""
    histogram: list[DurationBin] = Field(default_factory=list)
    """Calls by length."""


class ShortKernels(Part):
    """Kernels that take less than 10 us: no longer than launching them does."""

    count: Count
    """How many start in the windows."""
    share_of_kernels: Share
    """Of all kernels that start there."""
    work_ms: Ms
    """Their durations added up: a volume of work, never wall time (P01)."""
    share_of_work: Share
    """Of the durations of all kernels that start there."""
    in_graphs: Count
    """Those that a graph launch issued: they cost no call of their own."""
    top: list[KernelWork] = Field(default_factory=list)
    """The names with the most executions."""


class Launches(Part):
    """Launch health: delay, queue, calls and short kernels. Facts to read a starved device by, no verdict."""

    delay: LaunchDelay
    """From call to start."""
    queue: LaunchQueue
    """Launches pending over time."""
    calls: list[LaunchCall] = Field(default_factory=list)
    """Launching functions, the one with the most time first."""
    short_kernels: ShortKernels
    """Kernels below 10 us."""
