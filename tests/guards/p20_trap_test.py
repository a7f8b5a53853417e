"""P20: names that quote other things, a name that says nothing, a fused kernel, and one that nobody knows."""

from __future__ import annotations

import re
import sqlite3

import pytest

from guards.traps import Trap, materially, named, union_ms

LOOKALIKES = {
    "void flash::flash_fwd%": "FlashAttnFwdCombine",
    "%multi_tensor_apply%LpNorm%": "void cub::DispatchReduceByKey<float*, int>(int)",
    "%CUDAFunctor_add%": "triton_poi_fused_add_all_reduce_4",
}
PUSH = "kuserbuffers_pushrecv"
FUSED = "gemm_one_shot_all_reduce_kernel"
UNKNOWN = "acme_block_17"
NAIVE = re.compile(r"nccl|all_?reduce|combine|dispatch", re.IGNORECASE)
NAMES = 'SELECT start, "end", value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName'
LIKE = "demangledName IN (SELECT id FROM StringIds WHERE value LIKE ?)"


def misleading(db: sqlite3.Connection) -> None:
    for old, new in (
        LOOKALIKES | {"nccl%": PUSH, "%h_bz_coopA_bias%": FUSED, "void cutlass::Kernel2%": UNKNOWN}
    ).items():
        named(db, new, LIKE, old)
    # What the scenario lacks of these names takes the place of another product.
    for place, new in enumerate((FUSED, UNKNOWN, *LOOKALIKES.values())):
        named(
            db, new, f"demangledName IN (SELECT id FROM StringIds WHERE value LIKE 'nvjet%') AND rowid % 11 = {place}"
        )


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap("data_parallel", tmp_path_factory.mktemp("names"), ranks=2, edit=misleading)


def test_a_search_for_words_finds_other_kernels(trap: Trap) -> None:
    rows = trap.rows(NAMES)
    naive_ms = union_ms([(start, end) for start, end, name in rows if NAIVE.search(name)], trap.windows())
    true_ms = trap.mean_ms("comm_busy_ns")

    assert materially(naive_ms, true_ms)
    assert not NAIVE.search(PUSH)  # all of the communication is missed, and all that was found computes
    comm = trap.unit().communication
    assert comm is not None
    assert comm.union_ms == pytest.approx(true_ms, abs=1e-6)
    assert {row.backend for row in comm.backends if row.component != "fused"} == {"te_userbuffers"}


def test_look_alikes_and_fused_kernels_compute(trap: Trap) -> None:
    budget, comm = trap.unit().budget, trap.unit().communication
    assert budget is not None and comm is not None
    assert budget.compute_busy.mean_ms == pytest.approx(trap.mean_ms("compute_busy_ns"), abs=1e-6)
    fused_ms = union_ms([(s, e) for s, e, name in trap.rows(NAMES) if name == FUSED], trap.windows())
    (row,) = [row for row in comm.backends if row.component == "fused"]
    assert row.union_ms == pytest.approx(fused_ms, abs=1e-6)


def test_material_names_are_listed_with_rule_and_share(trap: Trap) -> None:
    compute, budget = trap.unit().compute, trap.unit().budget
    assert compute is not None and budget is not None
    listed = {row.name: row for row in compute.material}
    assert all(row.rule for row in compute.material)
    assert listed[PUSH].category == "comm_kernel_non_nccl"
    for name in LOOKALIKES.values():
        assert listed[name].category not in ("nccl", "comm_kernel_non_nccl", "dispatcher_transport")
    (unknown,) = compute.unclassified
    work_ms = sum(
        min(end, w["end_ns"]) - max(start, w["start_ns"])
        for w in trap.windows()
        for start, end, name in trap.rows(NAMES)
        if name == UNKNOWN and start < w["end_ns"] and end > w["start_ns"]
    ) / (1e6 * len(trap.windows()))
    assert unknown.name == UNKNOWN
    assert unknown.share_of_iteration == pytest.approx(work_ms / budget.iteration.mean_ms, rel=1e-9)
    assert unknown.share_of_iteration > 0.01


def test_the_guard_names_what_no_rule_matches(trap: Trap) -> None:
    row = trap.guard("P20")
    assert row.outcome == "limited"
    assert "no rule matches 1 name above 1 % of an iteration" in row.evidence
    assert UNKNOWN in row.evidence
    assert f"fused and not split: {FUSED}" in row.evidence


def test_the_guard_holds_where_every_material_name_has_a_rule(tmp_path_factory: pytest.TempPathFactory) -> None:
    row = Trap("data_parallel", tmp_path_factory.mktemp("plain"), ranks=2).guard("P20")
    assert row.outcome == "held"
    assert "is listed with its rule" in row.evidence
