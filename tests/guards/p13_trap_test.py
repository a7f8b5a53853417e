"""P13: pageable copies on the legacy default stream, pinned ones on another, small ones whose call returns early."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from critpath.model.report import Transfer, Unit
from critpath.sim.instructions import Copy, CopyDirection, HostMemory, StreamSync
from critpath.sim.program import Job
from critpath.sim.scenarios import transformer
from critpath.sim.scenarios.cluster import rank_report, seat
from critpath.sim.script import Script, Variation
from critpath.sim.stream import Stream, StreamKind
from guards.absent_truth import true_blocking_ms, true_host_cause_ms
from guards.built_trap import BuiltTrap
from guards.traps import Trap, materially

KINDS = "SELECT srcKind, streamId, count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1 GROUP BY 1, 2"
CALLS = (
    'SELECT m.streamId, m.srcKind, r."end" >= m."end", value FROM CUPTI_ACTIVITY_KIND_MEMCPY m '
    "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = m.correlationId AND r.globalTid >> 24 = m.globalPid >> 24 "
    "JOIN StringIds ON id = r.nameId WHERE m.copyKind = 1"
)


def truly_held(trap: Trap) -> dict[int, int]:
    """Copies in the windows whose call returned no earlier than their end, by stream."""
    ops = json.loads(trap.simulation.causes_path.read_text(encoding="utf-8"))["ops"]
    held: dict[int, int] = {}
    for kind, stream, start, end, returned in zip(
        *(ops[key] for key in ("kind", "stream", "start_ns", "end_ns", "call_end_ns")), strict=True
    ):
        if kind == "copy" and any(w["start_ns"] <= start < w["end_ns"] for w in trap.windows()):
            held[stream] = held.get(stream, 0) + (returned >= end)
    return held


def held(unit: Unit) -> dict[int | None, int | None]:
    return {t.stream: t.host_blocked for t in unit.transfers}


def copies_on(unit: Unit, stream: int) -> Transfer:
    (found,) = [t for t in unit.transfers if t.stream == stream]
    return found


def test_an_async_name_says_nothing_of_the_host(tmp_path: Path) -> None:
    trap = Trap("pageable_default_stream", tmp_path)
    names = {name for *_, name in trap.rows(CALLS)}
    by_name = sum("Async" not in name for *_, name in trap.rows(CALLS))
    true = truly_held(trap)
    true_ms = true_host_cause_ms(trap)["host-sync:copy_h2d"]

    assert names == {"cudaMemcpyAsync_v3020"}
    assert by_name == 0, "by its name no call holds the host"
    assert true == {7: 20, 14: 0}
    assert true_ms > 0.3 * trap.mean_ms("iteration_ns")
    unit = trap.unit()
    assert held(unit) == true
    assert unit.absent is not None and unit.absent.launch_starved is not None
    causes = {(row.cause, row.waits_on): row.ms for row in unit.absent.launch_starved.by_host_cause}
    assert causes["host-sync", "copy_h2d"] == pytest.approx(true_ms, rel=0.01)
    row = trap.guard("P13")
    assert row.outcome == "held"
    assert "of 40 copies 20 are on the legacy default stream and 20 from or to pageable memory" in row.evidence
    assert "20 ended before their call returned, 20 of them pageable" in row.evidence


def test_kind_0_is_pageable_and_kind_1_pinned(tmp_path: Path) -> None:
    trap = Trap("pageable_default_stream", tmp_path)
    kinds = {(kind, stream): count for kind, stream, count in trap.rows(KINDS)}
    inverted = {stream for kind, stream in kinds if kind == 1}  # read as pageable

    assert set(kinds) == {(0, 7), (1, 14)}
    assert all(truly_held(trap)[stream] == 0 for stream in inverted), "the inverted reading blames what holds nobody"
    pageable, pinned = copies_on(trap.unit(), 7), copies_on(trap.unit(), 14)
    assert (pageable.src, pageable.default_stream) == ("pageable", True)
    assert (pinned.src, pinned.default_stream) == ("pinned", False)


def serialised(*, legacy: bool) -> Job:
    """Kernels on a blocking stream, and between them a pinned copy on the default stream or on a non-blocking one."""
    place = seat(0, 1)
    own = Stream(place.device, 1, 40, StreamKind.BLOCKING)
    place = replace(place, streams=(*place.streams, own))
    main = Script(Variation(seed=5, rank=0, spread=0.01))
    target = place.compute if legacy else place.copies_in
    for step in range(6):
        with main.range(f"iteration {step}", step=step):
            main.kernels(own, transformer.INPUT)
            for _ in range(4):
                main.kernels(own, transformer.MLP)
                main.copy(target, CopyDirection.HOST_TO_DEVICE, 10_000_000, gbps=25.0)
            main.kernels(own, transformer.OPTIMIZER)
            main.add(StreamSync(own))
    return Job((rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=5),))


def test_the_legacy_stream_orders_what_no_wait_and_no_stream_does(tmp_path: Path) -> None:
    traps = {legacy: BuiltTrap(serialised(legacy=legacy), tmp_path / str(legacy)) for legacy in (True, False)}
    true = {legacy: true_blocking_ms(trap).get("copy_h2d", 0.0) for legacy, trap in traps.items()}
    for trap in traps.values():
        waits = trap.rows(
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
            "WHERE eventId != 4294967295 AND streamId != 4294967295"
        )
        shared = trap.rows(
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY m "
            "WHERE streamId IN (SELECT streamId FROM CUPTI_ACTIVITY_KIND_KERNEL)"
        )
        assert (waits, shared) == ([(0,)], [(0,)]), "no wait and no stream ties a kernel to a copy"
    assert materially(0.0, true[True])
    assert true[True] > 1.5
    assert true[False] == 0.0

    for legacy, stream in ((True, 7), (False, 14)):
        row = copies_on(traps[legacy].unit(), stream)
        assert row.default_stream is legacy
        assert row.blocking_ms == pytest.approx(true[legacy], rel=0.01, abs=1e-6)
        assert row.host_blocked == truly_held(traps[legacy])[stream] == 0
        assert traps[legacy].guard("P13").outcome == "held"


def small_and_large() -> Job:
    """Pageable copies to the device: tiny ones, which the driver takes into its command stream, and staged ones."""
    place = seat(0, 1)
    main = Script(Variation(seed=7, rank=0, spread=0.01))
    for step in range(6):
        with main.range(f"iteration {step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(8):
                main.copy(
                    place.compute, CopyDirection.HOST_TO_DEVICE, 8, gbps=1.0, memory=HostMemory.PAGEABLE
                )  # fmt: skip
                main.kernels(place.compute, transformer.MLP)
            main.copy(place.copies_in, CopyDirection.HOST_TO_DEVICE, 4_000_000, gbps=12.0, memory=HostMemory.PAGEABLE)
            main.kernels(place.compute, transformer.OPTIMIZER)
            main.add(StreamSync(place.compute))
    return Job((rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=7),))


def test_small_pageable_copies_hold_nobody(tmp_path: Path) -> None:
    trap = BuiltTrap(small_and_large(), tmp_path)
    true = truly_held(trap)
    naive = sum(
        t.count for t in trap.unit().transfers if t.src == "pageable"
    )  # every pageable copy, as if its kind decided

    assert naive > 8 * sum(true.values())
    assert true == {7: 0, 14: len(trap.windows())}
    assert held(trap.unit()) == true
    row = trap.guard("P13")
    assert row.outcome == "held"
    assert f"{naive} from or to pageable memory; tested, {sum(true.values())} ended before" in row.evidence


def test_the_default_stream_comes_from_the_capture(tmp_path: Path) -> None:
    trap = Trap("data_parallel", tmp_path, ranks=1)
    (null_stream,) = trap.rows("SELECT DISTINCT nullStreamId FROM TARGET_INFO_CUDA_CONTEXT_INFO")[0]
    for transfer in trap.unit().transfers:
        assert transfer.default_stream is (transfer.stream == null_stream)


def forgotten(db: sqlite3.Connection) -> None:
    for table in ("TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_STREAM"):
        db.execute(f"DROP TABLE {table}")


def test_an_unknown_default_stream_is_said(tmp_path: Path) -> None:
    trap = Trap("pageable_default_stream", tmp_path, edit=forgotten)
    assert {t.default_stream for t in trap.unit().transfers} == {None}
    row = trap.guard("P13")
    assert row.outcome == "limited"
    assert "memory kind or default stream of 40 isn't known" in row.evidence


def slow_calls(direction: CopyDirection) -> Job:
    """Pinned or device copies whose call takes long by itself: the copy is over before it returns, and held nobody."""
    place = seat(0, 1)
    main = Script(Variation(seed=5, rank=0, spread=0.01))
    for step in range(6):
        with main.range(f"iteration {step}", step=step):
            main.kernels(place.compute, transformer.INPUT)
            for _ in range(40):
                main.cpu("python", 60)
                main.add(Copy(place.copies_in, direction, 4_096, 1_200, call_ns=40_000, latency_ns=5_000))
                main.kernels(place.compute, transformer.MLP[:1])
    return Job((rank_report(place, (main.thread(place.pid, "python", dispatch_ns=2_500),), seed=5),))


@pytest.mark.parametrize("direction", [CopyDirection.DEVICE_TO_DEVICE, CopyDirection.HOST_TO_DEVICE])
def test_a_slow_call_is_no_wait_for_the_copy(direction: CopyDirection, tmp_path: Path) -> None:
    trap = BuiltTrap(slow_calls(direction), tmp_path)
    true = true_host_cause_ms(trap)

    assert true["cuda-api"] > 1.0
    assert not any(cause.startswith("host-sync") for cause in true)
    absent = trap.unit().absent
    assert absent is not None and absent.launch_starved is not None
    assert sum(c.ms for c in absent.launch_starved.by_host_cause if c.cause == "host-sync") < 0.1
