from __future__ import annotations

import numpy as np

from critpath.base.intervals import I64
from critpath.model.identity import NULL
from critpath.model.tables import Overheads
from critpath.rank.overheads import overhead_times


def ns(*values: int) -> I64:
    return np.array(values, np.int64)


def rows(*triples: tuple[int, int, int]) -> Overheads:
    starts, ends, kinds = zip(*triples, strict=True)
    return Overheads.of(start_ns=starts, end_ns=ends, kind=kinds)


def test_the_profiler_s_own_is_kept_apart_from_the_application_s() -> None:
    kinds = [2, 3, 4, 5, 6, 7, 8, 0, 1]
    times = overhead_times(rows(*((0, 10, kind) for kind in kinds)), ns(0), ns(10))
    assert {t.kind: t.owner for t in times} == {
        0: "unknown", 1: "unknown", 2: "application", 3: "profiler", 4: "profiler", 5: "profiler", 6: "application",
        7: "application", 8: "application",
    }  # fmt: skip


def test_rows_without_a_type_are_the_profiler_s() -> None:
    (time,) = overhead_times(rows((0, 10, NULL)), ns(0), ns(10))
    assert (time.kind, time.owner, time.wall_ns) == (None, "profiler", 10)


def test_overlapping_rows_count_their_time_once_and_only_inside_the_spans() -> None:
    # flush   ======----      spans   __####__##
    #           --======
    (time,) = overhead_times(rows((0, 6, 3), (2, 8, 3), (30, 40, 3)), ns(2, 7), ns(6, 10))
    assert (time.rows, time.wall_ns) == (2, 4 + 1)


def test_nothing_inside_the_spans_is_nothing() -> None:
    assert overhead_times(rows((0, 6, 3)), ns(6), ns(10)) == ()
    assert overhead_times(Overheads.empty(), ns(0), ns(10)) == ()
