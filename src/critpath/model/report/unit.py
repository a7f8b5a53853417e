"""One device as one process used it: what others call a rank's trace."""

from __future__ import annotations

from pydantic import Field

from critpath.model.report.absent import Absent
from critpath.model.report.communication import Communication
from critpath.model.report.critical_path import CriticalPath
from critpath.model.report.launches import Launches
from critpath.model.report.nvtx import NvtxRanges
from critpath.model.report.part import Count, FiniteStat, Ms, Part, null_means
from critpath.model.report.window import Budget, Series, Window, WorkVolume
from critpath.model.report.words import RankSource, UnitStatus
from critpath.model.report.work import Compute, HostSync, Metrics, Mfu, Transfer

__all__ = ["GraphUse", "PhysicalGpu", "SetAside", "Unit"]


class PhysicalGpu(Part):
    """The device's identity beyond its process, and who else used it."""

    uuid: str | None = Field(default=None, json_schema_extra=null_means("the capture doesn't tell"))
    """UUID of the GPU."""
    bus: str | None = Field(default=None, json_schema_extra=null_means("the capture doesn't tell"))
    """PCI bus location; it identifies a GPU within a host only."""
    shared_with: list[str] = Field(default_factory=list)
    """Ids of other units on the same GPU; their kernels' residence may include being preempted."""
    device_busy: FiniteStat | None = Field(default=None, json_schema_extra=null_means("no other unit shares the GPU"))
    """Time in this unit's windows in which any sharing unit's op was running."""


class SetAside(Part):
    """Damaged records: left out of every figure, counted here."""

    zero: Count = 0
    """Records with start and end 0."""
    negative: Count = 0
    """Records that end before they start."""
    outside: Count = 0
    """Records far outside the capture."""
    by_table: dict[str, Count] = Field(default_factory=dict)
    """All of them by table."""


class GraphUse(Part):
    """CUDA graphs in the unit's windows (P21)."""

    launches: Count
    """Graph launches that began in the windows, by their calls or by their rows; of the whole process where its other
    devices may have run those without a row."""
    uncovered: Count
    """Those without any device row: when they ran is unknown, so that idle time is an upper bound."""
    opaque: Count
    """Graphs traced as one row each."""
    opaque_ms: Ms
    """Union of those rows: busy, and neither compute nor idle, since what ran inside is unknown."""
    node_ops: Count
    """Ops that ran inside a graph traced by node; they share one launch call a graph."""


class Unit(Part):
    """One (report, process, device)."""

    id: str = Field(pattern=r"^u[0-9]+$")
    """Id of the unit inside this report."""
    input: int
    """Index of the input it comes from."""
    status: UnitStatus = "ok"
    """Whether it could be analysed; every quantity below is null otherwise."""
    error: str | None = Field(default=None, json_schema_extra=null_means("the unit could be analysed"))
    """What went wrong, in four parts: what, where, what it means, what to do."""
    rank: int | None = Field(default=None, json_schema_extra=null_means("the rank is not known, see rank_source"))
    """Global rank; never read from a file's name."""
    rank_source: RankSource = "unknown"
    """Where the rank is known from."""
    host: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Host it ran on, as the manifest or the capture names it."""
    pid: int
    """Process number of the operating system; a label, unique on its host only."""
    device: int
    """CUDA ordinal inside the process; not the physical GPU's number."""
    gpu: str | None = Field(default=None, json_schema_extra=null_means("the input doesn't tell"))
    """Name of the GPU model."""
    part: str | None = Field(default=None, json_schema_extra=null_means("nobody said"))
    """Part of the model it holds, as the manifest says."""
    group: str | None = Field(default=None, json_schema_extra=null_means("units were not grouped"))
    """Id of the group of units that are comparable with it (P04)."""
    physical_gpu: PhysicalGpu | None = None
    """The GPU behind the ordinal."""
    set_aside: SetAside | None = None
    """Damaged records, counted."""
    window: Window | None = None
    """The iteration windows."""
    budget: Budget | None = None
    """Where their time went."""
    work_volume: WorkVolume | None = None
    """The volume of work in them; never wall time (P01)."""
    absent: Absent | None = None
    """Why compute was absent."""
    critical_path: CriticalPath | None = Field(default=None, json_schema_extra=null_means("the unit was not analysed"))
    """The chain that bounds its step."""
    communication: Communication | None = None
    """Communication of all backends."""
    compute: Compute | None = None
    """Compute by category and by name."""
    transfers: list[Transfer] = Field(default_factory=list)
    """Copies by direction, memory kinds and stream."""
    graphs: GraphUse | None = Field(default=None, json_schema_extra=null_means("the unit was not analysed"))
    """CUDA graphs in the windows."""
    launches: Launches | None = Field(default=None, json_schema_extra=null_means("the unit was not analysed"))
    """How its work reached the device."""
    nvtx: NvtxRanges | None = Field(
        default=None, json_schema_extra=null_means("the capture has no NVTX range of its process")
    )
    """The pace of NVTX ranges on the device."""
    host_sync: HostSync | None = None
    """Host threads waiting for the device."""
    metrics: Metrics | None = None
    """Sampled device metrics."""
    mfu: Mfu | None = None
    """Model FLOPs utilization."""
    series: Series = Series()
    """One value a window."""
