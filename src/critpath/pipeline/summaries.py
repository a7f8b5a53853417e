"""What the map step keeps of an input and of each of its units: small, picklable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from critpath.base.errors import CritpathError
from critpath.base.intervals import I64
from critpath.model.identity import UnitKey
from critpath.model.trace import Gpu, Source
from critpath.rank.absence import Absence
from critpath.rank.capture import CaptureQuality
from critpath.rank.collective_ops import CollectiveOps, Membership
from critpath.rank.contention import Contentions
from critpath.rank.launch_health import LaunchHealth
from critpath.rank.nvtx.pacing import Pacing
from critpath.rank.path_segments import PathSegments
from critpath.rank.path_totals import PathTotals
from critpath.rank.process_rows import ProcessRows
from critpath.rank.summary import RankSummary

__all__ = ["InputSummary", "Note", "SharedGpu", "UnitSummary"]


@dataclass(frozen=True, slots=True)
class SharedGpu:
    """A physical GPU that several units of one input used, as one of them sees it.

    Attributes:
        others: the other units.
        device_busy_ns: time in each of this unit's windows with an op of any of them, shape (n,).
    """

    others: tuple[UnitKey, ...]
    device_busy_ns: I64


@dataclass(frozen=True, slots=True)
class UnitSummary:
    """One unit: who it is, and what was found.

    Attributes:
        rank, rank_source: as the input states it of the process, where that used one device only; None and `unknown`
            otherwise.
        damage: table → (zero, negative, outside) records set aside.
        null_streams: (context, stream) pairs known to be legacy default streams; contexts in `known_contexts` have
            theirs told.
        summary: None where nothing can be said of the unit's step; `failure` says why.
        span_ns: first start and last end of its undamaged device ops.
        ranges: some texts of its process' NVTX ranges, most frequent first, where no declared step was found.
        part, host: as the user says.
        absence: why compute was absent in its windows.
        path: the critical paths of its windows, added up.
        contention: its kernels alone and beside communication or copies.
        launches: how its work reached the device.
        nvtx: the pace of its process' NVTX ranges on it; None where there is no range.
        collectives: its kernels in which ranks meet.
        segments: its critical path in pieces between those.
        memberships: its communicators, as NCCL's initialization tells them.
        frames: its rows of the frames that were asked for, by frame, without the unit's id.
        kept_frames: those of them that lie in files.
    """

    key: UnitKey
    rank: int | None
    rank_source: str
    gpu: Gpu | None
    damage: dict[str, tuple[int, int, int]]
    null_streams: frozenset[tuple[int, int]]
    known_contexts: frozenset[int]
    summary: RankSummary | None
    span_ns: tuple[int, int] | None
    failure: str | None = None
    ranges: tuple[str, ...] = ()
    shared: SharedGpu | None = None
    part: str | None = None
    host: str | None = None
    absence: Absence | None = None
    path: PathTotals | None = None
    contention: Contentions | None = None
    launches: LaunchHealth | None = None
    nvtx: Pacing | None = None
    collectives: CollectiveOps | None = None
    segments: PathSegments | None = None
    memberships: tuple[Membership, ...] = ()
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    kept_frames: Mapping[str, Path] = field(default_factory=dict)

    def lazy_frames(self) -> dict[str, pl.LazyFrame]:
        """Its frames, wherever their rows are."""
        return {
            **{name: frame.lazy() for name, frame in self.frames.items()},
            **{name: pl.scan_parquet(path) for name, path in self.kept_frames.items()},
        }


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was left out or is not known of the records, and the claims that it limits."""

    text: str
    constrains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputSummary:
    """One input. A failed one has an error and nothing else.

    Attributes:
        quality: what the capture can and can't support, of the trace as read: damaged records were recorded too.
        notes: what was left out while reading it.
    """

    path: str
    error: CritpathError | None = None
    source: Source | None = None
    units: tuple[UnitSummary, ...] = ()
    quality: CaptureQuality | None = None
    environment: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def processes(self) -> tuple[ProcessRows, ...]:
        """The processes with CUDA rows, those with device rows first."""
        return tuple(p.rows for p in self.quality.processes) if self.quality else ()
