"""The step of a unit: its windows, the budget of their time, the volume of work in them."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.part import Count, FiniteStat, Ms, Ns, Part, Percent, Share, null_means
from critpath.model.report.words import AnchorKind, Scope

__all__ = ["Anchor", "Budget", "CrossCheck", "DroppedWindow", "Series", "Window", "WorkVolume"]


class Anchor(Part):
    """What the edges of the windows come from."""

    kind: AnchorKind
    """Kind of the anchor; `capture` and `explicit` windows are not steps (P02)."""
    text: str
    """The range's text, the collective, the kernel or the span itself."""


class CrossCheck(Part):
    """A second anchor's opinion of the step's length."""

    kind: AnchorKind
    """Kind of the second anchor."""
    median_ms: Ms
    """Its median period."""
    ratio: Share = 1.0
    """Its periods in one window, a whole number or 1 over one, taken out before the difference is."""
    difference_pct: Percent
    """Its median over the window's, minus one, after an integer ratio was taken out."""
    agrees: bool
    """Whether the two tell the same step."""
    material: bool = False
    """Whether it tells another step; the verdict on the step is inconclusive then, unless the user declared it."""


class DroppedWindow(Part):
    """A step that was found and left out."""

    index: int
    """Its place among all steps found, from 0."""
    why: str
    """Why it is no steady-state step (P26)."""


class Window(Part):
    """The iteration windows of a unit."""

    anchor: Anchor
    """Where the edges come from."""
    declared: bool = False
    """Whether the user declared the step."""
    scope: Scope
    """Whether windows tile (`period`) or end with the step's own ops (`range`) (P28)."""
    n: Count
    """Windows kept."""
    median_ms: Ms
    """Median length."""
    min_ms: Ms
    """Shortest length."""
    max_ms: Ms
    """Longest length."""
    edges_ns: list[tuple[Ns, Ns]] = Field(default_factory=list)
    """Start and end of each window [ns, report axis]."""
    cross_check: CrossCheck | None = Field(
        default=None, json_schema_extra=null_means("no second anchor has an opinion on it")
    )
    """What a second anchor says."""
    dropped: list[DroppedWindow] = Field(default_factory=list)
    """Steps left out, with the reason (P26)."""
    outside_step_ms: Ms
    """Mean time between a range's end and the next one's start, never attributed to training code (P28);
    0 with scope `period`, where windows tile."""


class Budget(Part):
    """Where the time of an iteration went: unions over all streams, clipped to each window."""

    iteration: FiniteStat
    """Length of the window."""
    device_busy: FiniteStat
    """At least one device op was running."""
    device_idle: FiniteStat
    """No device op was running; iteration minus device busy, exactly."""
    noncomm_busy: FiniteStat
    """Compute, memsets or graphs were running; copies and communication are left out."""
    comm_busy: FiniteStat
    """Communication or dispatch was running, overlapped or not; not network time (P06)."""
    compute_busy: FiniteStat
    """A kernel outside the communication taxonomy was running, fused ones included."""
    compute_absent: FiniteStat
    """No such kernel was running; iteration minus compute busy, exactly."""
    occupied_not_computing: FiniteStat
    """Device busy without compute: communication, copies, memsets or opaque graphs alone. What occupied the time
    isn't thereby its cause (P08)."""


class WorkVolume(Part):
    """A volume of work, never wall time (P01)."""

    kernel_sum_ms: Ms
    """Durations of all kernels added up; concurrent kernels count each, so it may exceed the iteration."""
    kernel_union_ms: Ms
    """Time in which at least one kernel ran, communication included."""
    kernels: Count
    """Kernels that started in the windows."""
    linked_kernels: Count
    """Those of them that join a CUDA API call."""


class Series(Part):
    """One value a window, in the order of `edges_ns`; an empty list where the quantity was not analysed."""

    iteration_ms: list[Ms] = Field(default_factory=list)
    """Length of each window."""
    device_busy_ms: list[Ms] = Field(default_factory=list)
    """Device busy in each window."""
    compute_busy_ms: list[Ms] = Field(default_factory=list)
    """Compute busy in each window."""
    launch_starved_ms: list[Ms] = Field(default_factory=list)
    """Launch-starved time in each window."""
    blocking_ms: list[Ms] = Field(default_factory=list)
    """Blocking time in each window."""
    dependency_stalled_ms: list[Ms] = Field(default_factory=list)
    """Dependency-stalled time in each window."""
    exposed_ms: list[Ms] = Field(default_factory=list)
    """Exposed communication in each window; an upper bound, not blocking (P07)."""
