"""A barrier before the large collective evens phases out: what is late there, isn't at the collective behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from critpath.pipeline.analyze import analyze
from critpath.sim import write_job
from critpath.sim.instructions import Communicator, StreamSync
from critpath.sim.program import Job
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.script import EventPool, Script, Variation

RANKS, STEPS, LATE = 4, 6, 2


def job() -> Job:
    group, fence = Communicator("dp", RANKS), Communicator("fence", RANKS)
    reports = []
    for rank in range(RANKS):
        place, main = seat(rank, RANKS), Script(Variation(3, rank), EventPool())
        for step in range(STEPS):
            with main.range(f"iteration {step}", step=step):
                for _ in range(3):
                    kernels = transformer.scaled(transformer.MLP, 1.2 if rank == LATE else 1.0)
                    main.kernels(place.compute, kernels)
                for stream, community, size, us in (
                    (place.copies_in, fence, 4, 9),
                    (place.comm, group, 50_331_648, 350),
                ):
                    main.edge(place.compute, stream)
                    main.collective(stream, community, "all_reduce", size, us)
                    main.edge(stream, place.compute)
                main.kernels(place.compute, transformer.OPTIMIZER)
                main.add(StreamSync(place.compute))
        reports.append(rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=3))
    return Job(tuple(reports), graph_trace="node")


def test_lateness_that_a_barrier_hides_is_told_of_the_rank(tmp_path: Path) -> None:
    made = write_job(job(), tmp_path)
    large = [m for m in made.execution.collectives if m.collective.communicator.name == "dp"][1:]
    fences = [m for m in made.execution.collectives if m.collective.communicator.name == "fence"][1:]

    def late_ms(meetings: list) -> float:  # type: ignore[type-arg]
        late = 0
        for meeting in meetings:
            starts = {op.run.process.rank: op.start_ns for op in meeting.ops}
            late += starts.pop(LATE) - sorted(starts.values())[1]
        return late / len(meetings) / 1e6

    naive_ms, true_ms = late_ms(large), late_ms(fences)
    assert abs(naive_ms) < 0.02  # at the collective that moves the gradients nobody is late
    report = analyze(made.exports)
    assert report.ranks is not None and report.ranks.straggler is not None
    found = report.ranks.straggler
    assert (found.verdict, found.unit, found.cause) == ("persistent", f"u{LATE}", "slower-kernels")
    assert found.late_ms == pytest.approx(true_ms, rel=0.05)
    assert true_ms > 10 * abs(naive_ms)
