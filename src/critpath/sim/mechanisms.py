"""What a machine may do beyond the plain model. Everything is off by default, so that plain programs stay plain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Mechanisms", "Sharing"]


class Sharing(StrEnum):
    """What happens when kernels of two processes are on one GPU."""

    FREE = "free"
    """They don't notice each other."""
    SLICED = "sliced"
    """They take turns; whoever hasn't the turn stays resident and makes no progress."""
    RESIDENT = "resident"
    """They run side by side, each at a pace divided by the number of processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanisms:
    """How devices and queues of all hosts behave."""

    copy_engines: bool = False
    """Each GPU has one engine for each direction of copies, which serves them in the order in which they could run."""
    connections: int = 0
    """Hardware queues that the streams of a process's device share in turn: an op of the compute engine starts only
    when the one before it in its queue has. 0 is a queue for every stream; 1 is what `CUDA_DEVICE_MAX_CONNECTIONS=1`
    sets."""
    launch_queue: int = 0
    """Kernel launches that a device of a process holds before the next launch call blocks; 0 is no limit."""
    contention: float = 1.0
    """How much longer compute kernels take while a communication kernel is on their GPU."""
    sharing: Sharing = Sharing.FREE
    slice_ns: int = 2_000_000
    """How long a turn lasts when processes take turns [ns]."""
    batch: int = 0
    """Device work is handed to the GPU only after this many calls, or when the host waits, as WDDM does; 0 is at
    once."""
    batch_hold_ns: int = 5_000_000
    """How long a batch waits for more calls at most [ns]."""

    @property
    def residency(self) -> bool:
        """Whether kernels on one GPU change each other's pace."""
        return self.contention != 1.0 or self.sharing is not Sharing.FREE
