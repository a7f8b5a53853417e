"""What is recorded of a run besides its calls and device work, each part off by default."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["NcclPayload", "Recording", "TrainerLog"]


class NcclPayload(StrEnum):
    """What the export holds of the payloads of NCCL's ranges; generations without the tables hold nothing."""

    NONE = "none"
    SCHEMAS = "schemas"
    """The schemas alone, as an export without blobs has them."""
    BLOBS = "blobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the profiler was told to record."""

    scheduling: bool = False
    """Whether threads' leaving and regaining a CPU has rows."""
    nccl_payload: NcclPayload = NcclPayload.NONE
    metrics_period_ns: int = 0
    """Time between samples of GPU metrics [ns]; 0 is no sampling."""
    metrics_offset_ns: int = 0
    """When the first sample ends, on the report's axis [ns]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerLog:
    """What the trainer prints: a line a step, the profiled ones among others."""

    before: int = 9
    """Steps before the capture."""
    after: int = 10
    slowdown: float = 1.0
    """How much longer a step takes while it is profiled."""
    first_iteration: int = 10
    """Number of the first profiled step, as its range prints it."""
    unit: str = "ms"
    """Unit of the printed times: "ms" or "s"."""
