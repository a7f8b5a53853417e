"""P02: the busiest stream spans 60 % of the step, and a sparse one spans more than it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from guards.traps import Trap, materially


def test_no_streams_span_is_the_step(tmp_path: Path) -> None:
    trap = Trap("busy_stream", tmp_path)
    true_ms = trap.mean_ms("iteration_ns")
    step = trap.simulation.truth["units"][0]["steps"][1]
    launched = trap.rows(
        'SELECT k.streamId, k.start, k."end" FROM CUPTI_ACTIVITY_KIND_KERNEL k '
        "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId) WHERE r.start >= ? AND r.start < ?",
        step["start_ns"],
        step["end_ns"],
    )
    busy: dict[int, int] = defaultdict(int)
    span: dict[int, tuple[int, int]] = {}
    for stream, start, end in launched:
        busy[stream] += end - start
        first, last = span.get(stream, (start, end))
        span[stream] = min(first, start), max(last, end)
    lengths = {stream: (last - first) / 1e6 for stream, (first, last) in span.items()}
    busiest = lengths[max(busy, key=lambda s: busy[s])]
    longest = max(lengths.values())

    assert busiest == pytest.approx(0.6 * true_ms, rel=0.05)
    assert longest > true_ms
    assert materially(longest, true_ms)
    unit = trap.unit()
    assert unit.window is not None
    assert unit.window.anchor.kind == "nvtx"
    assert unit.budget is not None
    assert unit.budget.iteration.mean_ms == pytest.approx(true_ms, abs=1e-6)
    assert trap.guard("P02").outcome == "held"
