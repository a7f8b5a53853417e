"""P05: HybridEP, DeepEP (spelled `deep_ep`) and NVSHMEM carry four fifths of the communication."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from guards.traps import Trap, materially, named, union_ms

BACKENDS = {
    1: "void deep_ep::internode::dispatch<false, 4, __nv_bfloat16>(int4*, float*)",
    2: "void hybrid_ep::dispatch_kernel<unsigned short, 8, 1>(hybrid_ep::dispatch_kernel_param_t<>)",
    3: "void alltoall_on_stream_kernel<int>(int)",
    4: "void deep_ep::internode::combine<false, 4, __nv_bfloat16>(int4*, float*)",
}
NAMED = 'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName WHERE value LIKE ?'


def most_without_nccl(db: sqlite3.Connection) -> None:
    nccl = (
        "SELECT k.rowid FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = demangledName WHERE value LIKE 'nccl%'"
    )
    for place, (row,) in enumerate(db.execute(nccl).fetchall()):
        if place % 5:
            named(db, BACKENDS[place % 5], "rowid = ?", row)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap("tensor_parallel", tmp_path_factory.mktemp("moe"), ranks=2, edit=most_without_nccl)


def test_nccl_alone_is_a_fifth_of_communication(trap: Trap) -> None:
    true_ms = trap.mean_ms("comm_busy_ns")
    naive_ms = union_ms(trap.rows(NAMED, "%nccl%"), trap.windows())
    searched_ms = naive_ms + union_ms(trap.rows(NAMED, "%deepep%"), trap.windows())

    assert naive_ms == pytest.approx(0.2 * true_ms, rel=0.2)
    assert searched_ms == naive_ms  # the library's namespace is spelled deep_ep
    comm = trap.unit().communication
    assert comm is not None and comm.nccl_only is not None
    assert comm.union_ms == pytest.approx(true_ms, abs=1e-6)
    assert comm.exposed_ms == pytest.approx(trap.mean_ms("exposed_comm_ns"), abs=1e-6)
    assert comm.nccl_only.union_ms == pytest.approx(naive_ms, abs=1e-6)
    assert {row.backend for row in comm.backends} == {"nccl", "deepep", "hybrid_ep", "nvshmem"}


def test_whatever_is_not_nccl_is_not_thereby_compute(trap: Trap) -> None:
    every = set(trap.rows(NAMED, "%"))
    naive_ms = union_ms(every - set(trap.rows(NAMED, "%nccl%")), trap.windows())
    true_ms = trap.mean_ms("compute_busy_ns")

    assert materially(naive_ms, true_ms)
    budget = trap.unit().budget
    assert budget is not None
    assert budget.compute_busy.mean_ms == pytest.approx(true_ms, abs=1e-6)


def test_the_guard_puts_nccl_beside_the_whole(trap: Trap) -> None:
    row = trap.guard("P05")
    comm = trap.unit(int(row.evidence[1 : row.evidence.index(":")])).communication
    assert comm is not None and comm.nccl_only is not None
    assert row.outcome == "held"
    assert f"communication union {comm.union_ms:.2f} ms an iteration" in row.evidence
    assert f"NCCL alone {comm.nccl_only.union_ms:.2f}" in row.evidence


def test_copies_between_devices_may_be_collectives(tmp_path: Path) -> None:
    def peer_copies(db: sqlite3.Connection) -> None:
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 10, srcKind = 2, dstKind = 2 WHERE copyKind = 1")

    row = Trap("tensor_parallel", tmp_path, ranks=2, edit=peer_copies).guard("P05")
    assert row.outcome == "limited"
    assert "copies between devices may be collectives done by copies" in row.evidence
