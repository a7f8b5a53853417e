from __future__ import annotations

import numpy as np
import pytest

from critpath.base.intervals import Intervals, union
from critpath.model.identity import NULL
from critpath.model.trace import Strings
from critpath.rank.nvtx.places import op_places, path, paths, place_of
from critpath.rank.nvtx.projection import (
    CROSSING,
    ENDS_ON_OTHER_THREAD,
    OF_NCCL,
    UNCLOSED,
    Projection,
    for_unit,
    gap_parts,
    project,
)
from critpath.rank.process_ops import ProcessOps
from rank.nvtx import brute
from rank.nvtx.made import Row, ops_of, ranges_of

END = 120
NCCL_DOMAIN = 2


def random_ranges(seed: int) -> tuple[list[Row], list[brute.Op], Projection, ProcessOps]:
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(int(random.integers(1, 30))):
        domain = int(random.integers(0, 3))
        start = int(random.integers(0, 100))
        end = -1 if random.random() < 0.2 else start + int(random.integers(1, random.choice([4, 15, 60])))
        text = random.choice(["ncclAllReduce", "ncclGroupEnd"] if domain == NCCL_DOMAIN else ["a", "b", "c"])
        rows.append((str(text), int(random.integers(0, 3)), start, end, domain))
    ops = []
    for _ in range(int(random.integers(1, 40))):
        called, thread = int(random.integers(0, 110)), int(random.integers(-1, 3))
        start = called + int(random.integers(0, 50))
        ops.append(brute.Op(thread, called, start, start + int(random.integers(0, 20)), random.random() < 0.7))
    columns = ([o.called for o in ops], [o.thread for o in ops], [o.start for o in ops], [o.end - o.start for o in ops])
    called, thread, start, length = (np.array(c, np.int64) for c in columns)
    made = ops_of(
        called, thread, start, length, compute=np.array([o.compute for o in ops]), linked=np.array(thread >= 0)
    )
    strings = Strings({})
    return rows, ops, project(made, ranges_of(rows, strings), strings, END), made


def _row_of(rows: list[Row], ends: list[int]) -> list[int]:
    """The projection's order."""
    return sorted(range(len(rows)), key=lambda i: (rows[i][1], rows[i][2], -ends[i], i))


@pytest.mark.parametrize("seed", range(150))
def test_random_ranges_equal_brute_force(seed: int):
    rows, ops, projected, made = random_ranges(seed)
    ends = brute.closed(rows, END)
    order = _row_of(rows, ends)
    assert projected.end_ns.tolist() == [ends[i] for i in order]
    assert [projected.names[n] for n in projected.name] == [rows[i][0] for i in order]
    unit = for_unit(projected, made, np.ones(len(made), np.bool_))
    for row, i in enumerate(order):
        mine = brute.owned(rows[i], ends[i], ops)
        spans = [(o.start, o.end) for o in mine]
        assert unit.ops_count[row] == len(mine)
        assert unit.device_start_ns[row] == (min(s for s, _ in spans) if mine else NULL)
        assert unit.device_end_ns[row] == (max(e for _, e in spans) if mine else NULL)
        assert unit.device_ns[row] == brute.union(spans)
        assert unit.compute_ns[row] == brute.union([(o.start, o.end) for o in mine if o.compute])
        assert unit.communication_ns[row] == brute.union([(o.start, o.end) for o in mine if not o.compute])
        assert bool(projected.flags[row] & UNCLOSED) == (rows[i][3] < 0)
        assert bool(projected.flags[row] & CROSSING) == brute.crossing(i, rows, ends)
        assert bool(projected.flags[row] & OF_NCCL) == (rows[i][4] == NCCL_DOMAIN)
        alike = [(rows[j][2], r) for r, j in enumerate(order) if (rows[j][0], rows[j][4]) == (rows[i][0], rows[i][4])]
        assert projected.instance[row] == sorted(alike).index((rows[i][2], row))


@pytest.mark.parametrize("seed", range(150))
def test_places_equal_brute_force_at_every_instant(seed: int):
    rows, _, projected, _ = random_ranges(seed)
    ends = brute.closed(rows, END)
    order = _row_of(rows, ends)
    asked = [(thread, at) for at in range(-1, END + 2) for thread in range(4)]
    thread, at = (np.array(column, np.int64) for column in zip(*asked, strict=True))
    found = place_of(projected, thread, at).tolist()
    expected = [brute.place(*which, rows, ends, nccl=NCCL_DOMAIN) for which in asked]
    assert found == [order.index(i) if i >= 0 else -1 for i in expected]


@pytest.mark.parametrize("seed", range(40))
def test_a_unit_counts_its_own_ops_only(seed: int):
    rows, ops, projected, made = random_ranges(seed)
    ends = brute.closed(rows, END)
    mine = np.random.default_rng(seed).random(len(ops)) < 0.5
    unit = for_unit(projected, made, mine)
    for row, i in enumerate(_row_of(rows, ends)):
        own = brute.owned(rows[i], ends[i], [op for op, yes in zip(ops, mine, strict=True) if yes])
        assert unit.device_ns[row] == brute.union([(o.start, o.end) for o in own])
        assert sorted(unit.op[unit.lo[row] : unit.hi[row]].tolist()) == sorted(
            k for k, op in enumerate(ops) if mine[k] and op in own
        )


@pytest.mark.parametrize("seed", range(40))
def test_gap_parts_equal_brute_force(seed: int):
    _, _, projected, made = random_ranges(seed)
    unit = for_unit(projected, made, np.ones(len(made), np.bool_))
    random = np.random.default_rng(seed)
    starts = np.sort(random.choice(180, 12, replace=False))
    pieces = Intervals(starts, starts + 1)
    gaps = gap_parts(unit, pieces)
    for row in range(len(projected)):
        span = range(int(unit.device_start_ns[row]), int(unit.device_end_ns[row])) if unit.ops_count[row] else range(0)
        assert gaps[row] == sum(s in span for s in starts)


def _one(rows: list[Row], *ops: tuple[int, int, int, int]) -> tuple[Projection, ProcessOps]:
    """Rows and (thread, called, start, length) of ops."""
    thread, called, start, length = (np.array(c, np.int64) for c in zip(*ops, strict=True))
    made, strings = ops_of(called, thread, start, length), Strings({})
    return project(made, ranges_of(rows, strings), strings, 10_000), made


def test_neither_device_time_nor_summed_durations_tell_what_a_range_launched():
    # host     |-forward-|-backward-|
    # calls      f   f       b
    # device                f1111       two streams: a sum would be 200
    #                       f2222
    #                            bbbb
    rows: list[Row] = [("forward", 1, 0, 100, 0), ("backward", 1, 100, 200, 0)]
    projected, made = _one(rows, (1, 20, 110, 100), (1, 60, 120, 100), (1, 150, 220, 40))
    unit = for_unit(projected, made, np.ones(3, np.bool_))
    assert unit.device_ns.tolist() == [110, 40]
    summed = int((made.end_ns - made.start_ns)[:2].sum())
    assert summed == 200
    by_device_time = union(made.start_ns, made.end_ns).clip(projected.start_ns, projected.end_ns)
    assert by_device_time.tolist() == [0, 90]


def test_a_start_end_range_counts_the_thread_that_opened_it():
    made, strings = ops_of(*(np.array(c, np.int64) for c in ([10, 20], [1, 2], [30, 40], [5, 5]))), Strings({})
    table = ranges_of([("request", 1, 0, 100, 0), ("other", 2, 200, 210, 0)], strings, end_thread=[2, 2])
    projected = project(made, table, strings, 500)
    assert for_unit(projected, made, np.ones(2, np.bool_)).ops_count.tolist() == [1, 0]
    assert (projected.flags & ENDS_ON_OTHER_THREAD).tolist() == [ENDS_ON_OTHER_THREAD, 0]


def test_ranges_without_length_are_left_out():
    projected, _ = _one([("mark", 1, 5, 5, 0), ("broken", 1, 5, 3, 0), ("a", 1, 5, 6, 0)], (1, 5, 5, 1))
    assert len(projected) == 1
    assert projected.left_out == 2


def test_ranges_that_a_program_never_closes_stay_fast_and_their_paths_short():
    n = 50_000
    rows: list[Row] = [("step", 1, i * 10, -1, 0) for i in range(n)]
    called = np.arange(n) * 10 + 5
    made, strings = ops_of(called, np.ones(n, np.int64), called + 3, np.full(n, 4)), Strings({})
    projected = project(made, ranges_of(rows, strings), strings, n * 10)
    unit = for_unit(projected, made, np.ones(n, np.bool_))
    assert unit.device_ns.tolist() == (4 * np.arange(n, 0, -1)).tolist()
    assert not (projected.flags & CROSSING).any()
    labels = paths(projected)
    assert labels.of(40) == path(projected, 40) == labels.of(n - 1) == " > ".join(["step"] * 31 + ["…", "step"])


def test_an_export_without_ranges_projects_to_nothing():
    made, strings = ops_of(*(np.array([1], np.int64) for _ in range(4))), Strings({})
    projected = project(made, ranges_of([], strings), strings, 10)
    assert len(projected) == 0
    assert for_unit(projected, made, np.ones(1, np.bool_)).device_ns.size == 0
    assert op_places(projected, made).code.tolist() == [-1]


def _paths(rows: list[Row]) -> list[str | None]:
    projected, _ = _one(rows, (1, 5, 5, 1))
    labels = paths(projected)
    assert [labels.of(i) for i in range(len(projected))] == [path(projected, i) for i in range(len(projected))]
    return [labels.of(i) for i in range(len(projected))]


def test_paths_go_through_all_domains_from_the_outermost():
    assert _paths([("train", 1, 0, 90, 0), ("gemm", 1, 10, 20, 7), ("cublas, op_id = 3", 1, 12, 18, 0)]) == [
        "train",
        "train > gemm",
        "train > gemm > cublas",
    ]


def _grouped(*rows: tuple[str, int, int]) -> list[str]:
    """Grouped names of (text, thread, start)."""
    projected, _ = _one([(text, thread, start, start + 5, 0) for text, thread, start in rows], (1, 5, 5, 1))
    return [projected.names[n] for n in projected.name]


def test_single_instances_that_differ_in_their_number_share_a_name():
    steps = [("Step 0 to 10", 1, 0), ("Step 10 to 20", 1, 10), ("step_3", 1, 20), ("step_4", 1, 30)]
    assert _grouped(*steps) == ["Step {n} to {n}", "Step {n} to {n}", "step_{n}", "step_{n}"]


def test_equal_steps_of_several_threads_are_single_instances():
    assert _grouped(("iteration 1", 1, 0), ("iteration 2", 1, 9), ("iteration 1", 2, 0)) == ["iteration {n}"] * 3


def test_numbers_that_tell_parts_apart_stay():
    parts = [("layers.3", 1, 0), ("layers.4", 1, 10), ("Layer 3", 1, 20), ("Layer 4", 1, 30), ("stage 1", 1, 40)]
    assert _grouped(*parts) == [text for text, *_ in parts]
    assert _grouped(("bucket 0", 1, 0), ("bucket 1", 1, 10), ("bucket 0", 1, 20), ("bucket 1", 1, 30)) == [
        "bucket 0", "bucket 1", "bucket 0", "bucket 1",
    ]  # fmt: skip


def test_a_backward_range_is_placed_where_its_forward_was():
    rows: list[Row] = [
        ("model", 1, 0, 100, 0),
        ("aten::linear, seq = 8, op_id = 1", 1, 10, 20, 0),
        ("aten::mm, seq = 8, op_id = 2", 1, 12, 18, 0),
        ("aten::relu, seq = 9, op_id = 3", 1, 30, 40, 0),
        ("ReluBackward0, seq = 9, op_id = 4", 2, 200, 210, 0),
        ("MmBackward0, seq = 8, op_id = 5", 2, 220, 260, 0),
        ("aten::mm, op_id = 6", 2, 230, 240, 0),
    ]
    projected, made = _one(rows, (1, 15, 300, 5), (2, 205, 310, 5), (2, 235, 320, 5), (2, 500, 600, 5))
    names = [projected.names[n] for n in projected.name]
    assert {names[i]: int(f) for i, f in enumerate(projected.forward) if f >= 0} == {
        "ReluBackward0": names.index("aten::relu"),
        "MmBackward0": names.index("aten::mm"),
    }
    labels = op_places(projected, made)
    assert [labels.of(i) for i in range(4)] == [
        "model > aten::linear > aten::mm",
        "model > aten::relu (backward)",
        "model > aten::linear > aten::mm (backward)",
        None,
    ]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("f, seq = 1", 1, 0, 5, 0), ("b, seq = 1", 1, 10, 15, 0)], id="same thread"),
        pytest.param([("f, seq = 1", 1, 9, 12, 0), ("b, seq = 1", 2, 9, 15, 0)], id="at the same time"),
        pytest.param(
            [("f, seq = 1", 1, 0, 5, 0), ("g, seq = 1", 2, 10, 15, 0), ("b, seq = 1", 3, 20, 25, 0)], id="three threads"
        ),
        pytest.param(
            [
                ("f, seq = 1", 1, 0, 5, 0), ("f, seq = 2", 1, 5, 9, 0),
                ("f, seq = 1", 2, 10, 15, 0), ("f, seq = 2", 2, 15, 19, 0),
            ],
            id="two forward passes",
        ),
    ],
)  # fmt: skip
def test_an_ambiguous_number_tells_no_forward(rows: list[Row]):
    projected, _ = _one(rows, (1, 5, 5, 1))
    assert (projected.forward == -1).all()


def test_the_latest_earlier_forward_with_the_number_is_taken():
    rows: list[Row] = [
        ("f, seq = 4", 1, 0, 5, 0), ("b, seq = 4", 2, 10, 15, 0), ("f, seq = 4", 1, 20, 25, 0),
        ("b, seq = 4", 2, 30, 35, 0), ("f, seq = 4", 1, 40, 45, 0),
    ]  # fmt: skip
    projected, _ = _one(rows, (1, 5, 5, 1))
    forward = {
        int(projected.start_ns[i]): int(projected.start_ns[f]) for i, f in enumerate(projected.forward) if f >= 0
    }
    assert forward == {10: 0, 30: 20}
