"""How exports pack processes and threads into one number: hardware 8 bits, VM 8, process 24, thread 24."""

from __future__ import annotations

from critpath.sim.program import Process, Thread

__all__ = ["GLOBAL_VID", "NO_PROCESS", "global_pid", "global_tid"]

GLOBAL_VID = 1 << 48
"""Hardware 0, VM 1: what a capture of one host writes."""
NO_PROCESS = -144_115_188_075_855_872
"""The process of a diagnostic that belongs to none; negative, since the tables hold signed numbers."""


def global_pid(process: Process) -> int:
    """The process's serialized id."""
    return GLOBAL_VID | process.pid << 24


def global_tid(process: Process, thread: Thread) -> int:
    """The thread's serialized id; the low 24 bits are the thread's."""
    return global_pid(process) | thread.tid & 0xFFFFFF
