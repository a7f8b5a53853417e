"""P13, its identity part: memory kinds 0 = pageable and 1 = pinned, and which stream is the legacy default one."""

from __future__ import annotations

from pathlib import Path

from guards.traps import Trap


def test_pinned_copies_do_not_read_as_pageable(tmp_path: Path) -> None:
    trap = Trap("fsdp_offload", tmp_path, ranks=2)
    kinds = dict(
        trap.rows(
            "SELECT srcKind, count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1 GROUP BY srcKind",
        )
    )
    assert kinds.get(1, 0) > 0, "no pinned H2D copy in the trap"
    inverted_pageable = kinds.get(1, 0)

    h2d = [t for t in trap.unit().transfers if t.direction == "H2D"]
    pinned = sum(t.count for t in h2d if t.src == "pinned")
    pageable = sum(t.count for t in h2d if t.src == "pageable")
    assert pinned > 0
    assert pageable < inverted_pageable
    assert pageable <= kinds.get(0, 0)


def test_the_default_stream_comes_from_the_capture(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1)
    (null_stream,) = trap.rows("SELECT DISTINCT nullStreamId FROM TARGET_INFO_CUDA_CONTEXT_INFO")[0]
    for transfer in trap.unit().transfers:
        assert transfer.default_stream is (transfer.stream == null_stream)
