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

KERNEL_LAUNCH = re.compile(r"cuda?Launch(?:Cooperative)?Kernel\w*|cudaLaunch|cuLaunchGrid(?:Async)?|cuLaunch")
"""Functions that launch one kernel (cooperative ones on several devices, one on each)."""
GRAPH_LAUNCH = re.compile(r"cuda?GraphLaunch")
_BEGIN_CAPTURE = re.compile(r"cuda?StreamBeginCapture\w*")
_END_CAPTURE = re.compile(r"cuda?StreamEndCapture")

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
    begins = np.flatnonzero(calls_of(calls, strings, _BEGIN_CAPTURE) & succeeded(calls))
    ends = calls_of(calls, strings, _END_CAPTURE)
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in begins.tolist():
        start, thread = int(calls.start_ns[row]), calls.thread[row]
        after = calls.end_ns[ends & (calls.thread == thread) & (calls.start_ns >= start)]
        end = int(after.min()) if after.size else _FOREVER
        spans.setdefault(int(calls.process[row]), []).append((start, end))
    return {process: Intervals.of(*pairs) for process, pairs in spans.items()}
