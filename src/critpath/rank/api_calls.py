"""Which CUDA API calls do what, told by the functions' names.

Runtime calls carry a version suffix (`cudaLaunchKernel_v7000`), driver calls may (`cuGraphLaunch_v2`), and both a
per-thread stream variant (`_ptsz`).
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from critpath.base.intervals import Intervals
from critpath.model.identity import NULL
from critpath.model.tables import RuntimeCalls
from critpath.model.trace import Strings

__all__ = ["GRAPH_LAUNCH", "KERNEL_LAUNCH", "calls_of", "function_name", "stream_capture_spans", "succeeded"]

_SUFFIX = re.compile(r"(?:_v\d+)?(?:_pt[ds]z?)?(?:_v\d+)?$")

KERNEL_LAUNCH = re.compile(r"cu(?:da)?Launch(?:Cooperative)?Kernel\w*|cudaLaunch|cuLaunchGrid(?:Async)?|cuLaunch")
"""Functions that launch one kernel (cooperative ones on several devices, one on each)."""
GRAPH_LAUNCH = re.compile(r"cu(?:da)?GraphLaunch")
_BEGIN_CAPTURE = re.compile(r"cu(?:da)?StreamBeginCapture\w*")
_END_CAPTURE = re.compile(r"cu(?:da)?StreamEndCapture")

_FOREVER = 2**62


def function_name(recorded: str) -> str:
    """The function as documentation spells it, without version and stream-variant suffixes."""
    return _SUFFIX.sub("", recorded)


def calls_of(calls: RuntimeCalls, strings: Strings, function: re.Pattern[str]) -> npt.NDArray[np.bool_]:
    """Which calls are of the functions whose whole name matches, shape (len(calls),)."""
    ids = [i for i, text in strings.of(calls.name).items() if function.fullmatch(function_name(text))]
    return np.isin(calls.name, ids)


def succeeded(calls: RuntimeCalls) -> npt.NDArray[np.bool_]:
    """Which calls returned no error, shape (len(calls),); a call whose result wasn't told counts as fine."""
    fine: npt.NDArray[np.bool_] = (calls.result == 0) | (calls.result == NULL)
    return fine


def stream_capture_spans(calls: RuntimeCalls, strings: Strings) -> dict[int, Intervals]:
    """When each process was capturing a stream into a graph [ns]: launches then may run nothing.

    A capture begun on one thread may take launches of another (autograd's), so that the span is the process'. One that
    never ended lasts for good.
    """
    begins = calls.where(calls_of(calls, strings, _BEGIN_CAPTURE) & succeeded(calls))
    ends = calls.where(calls_of(calls, strings, _END_CAPTURE))
    spans: dict[int, list[tuple[int, int]]] = {}
    columns = (begins.process, begins.thread, begins.start_ns)
    for process, thread, start in zip(*(column.tolist() for column in columns), strict=True):
        after = ends.end_ns[(ends.thread == thread) & (ends.start_ns >= start)]
        spans.setdefault(process, []).append((start, int(after.min()) if after.size else _FOREVER))
    return {process: Intervals.of(*pairs) for process, pairs in spans.items()}
