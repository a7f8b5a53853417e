"""Messages between two real GPUs, against SQL alone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from critpath.pipeline.analyze import analyze
from real_exports import FOLDER, needs_real_exports

PAIRS = sorted(FOLDER.glob("mfu_2gpu*.sqlite"))


@needs_real_exports
@pytest.mark.parametrize("path", PAIRS, ids=lambda p: p.stem)
def test_messages_of_two_ranks_are_matched_and_waiting_is_the_longer_ones(path: Path) -> None:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        rows = db.execute(
            'SELECT globalPid, start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName'
            " WHERE value LIKE 'ncclDevKernel_SendRecv%' ORDER BY start"
        ).fetchall()
    one, other = ([(a, b) for pid, a, b in rows if pid == each] for each in sorted({r[0] for r in rows}))
    assert len(one) == len(other)
    # One host has one clock: a pair overlaps, and both ends lie within tens of microseconds.
    assert all(max(a[0], b[0]) < min(a[1], b[1]) for a, b in zip(one, other, strict=True))
    shortest = [min(a[1] - a[0], b[1] - b[0]) for a, b in zip(one, other, strict=True)]
    report = analyze([path])
    assert report.ranks is not None and report.ranks.collectives is not None
    (community,) = report.ranks.collectives.communicators
    assert report.ranks.collectives.unmatched == 0
    assert (community.instances, community.inferred, community.kinds) == (len(one), True, ["send_recv"])
    assert community.transfer_proxy_ms == pytest.approx(sum(shortest) / 1e6)
    for unit, spans in zip(report.units, (one, other), strict=True):
        assert unit.communication is not None
        naive_ms = sum(b - a for a, b in spans) / 1e6
        wait_ms = naive_ms - sum(shortest) / 1e6
        assert unit.communication.jitter_wait_ms == pytest.approx(wait_ms)
        assert unit.communication.matched == len(spans)
    assert report.ranks.straggler is not None
    assert report.ranks.straggler.verdict == "inconclusive"
