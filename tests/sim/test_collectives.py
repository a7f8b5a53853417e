"""Collectives as rendezvous: parts start alone and end together."""

from __future__ import annotations

import pytest

from critpath.sim.errors import ProgramError
from critpath.sim.execute import execute
from critpath.sim.instructions import CpuWork
from sim.tiny import A, B, collective, job_of, kernel, ops, process, record, spans, thread, wait


def test_every_part_ends_when_the_last_has_started_and_the_data_has_moved() -> None:
    # rank 0  A  [c: 10 ............ 560]          waits inside its kernel for rank 1
    # rank 1  A  [k: 10-510][c: 510-562]           last to start: 510 + 50, exit jitter 2
    done = execute(
        job_of(
            process(thread(collective(A, 2, 50))),
            process(thread(kernel(A, 500), collective(A, 2, 50, jitter_ns=2)), rank=1),
        )
    )
    assert spans(done, 0) == [(10, 560)]
    assert spans(done, 1) == [(10, 510), (510, 562)]
    assert ops(done, 0)[0].peer is ops(done, 1)[1]


def test_work_behind_a_collective_waits_for_its_peers() -> None:
    # rank 0  A [c: 10-2060]   B waits for it: [k: 2060-2065]; rank 1 issues its part at 2000.
    done = execute(
        job_of(
            process(thread(collective(A, 2, 50), record(A, 1), wait(B, 1), kernel(B, 5), kernel(B, 5))),
            process(thread(CpuWork("late", 2_000), collective(A, 2, 50)), rank=1),
        )
    )
    assert spans(done, 0) == [(10, 2_060), (2_060, 2_065), (2_065, 2_070)]


def test_the_slowest_link_sets_the_transfer() -> None:
    done = execute(
        job_of(process(thread(collective(A, 2, 50))), process(thread(collective(A, 2, 80)), rank=1)),
    )
    assert spans(done, 0) == spans(done, 1) == [(10, 90)]


def test_collectives_match_by_order_within_their_communicator() -> None:
    # Rank 1 issues the other communicator's part first; each still meets its own peer.
    x, y = collective(A, 2, 50, name="x"), collective(B, 2, 70, name="y")
    done = execute(job_of(process(thread(x, y)), process(thread(y, x), rank=1)))
    assert spans(done, 0) == [(10, 61), (11, 81)]
    assert [m.collective.communicator.name for m in done.collectives] == ["x", "y"]


def test_ranks_that_disagree_on_the_operation_are_an_error() -> None:
    with pytest.raises(ProgramError, match="all_reduce of 2 on one rank and all_gather of 2"):
        execute(
            job_of(
                process(thread(collective(A, 2, 50))),
                process(thread(collective(A, 2, 50, operation="all_gather")), rank=1),
            )
        )


def test_a_missing_rank_is_an_error_that_names_the_collective() -> None:
    with pytest.raises(ProgramError, match="all_reduce 0 on 'dp' has 1 of 2 ranks"):
        execute(job_of(process(thread(collective(A, 2, 50)))))
