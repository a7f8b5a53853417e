from __future__ import annotations

from builders import minimal_report, unit
from critpath.guards.p11_host_sync_as_stall import check
from critpath.model.report import HostSync


def test_host_waits_stand_beside_their_part_with_an_idle_device():
    longest = unit(id="u1", host_sync=HostSync(host_ms=40.0, while_device_idle_ms=1.0))
    outcome = check(minimal_report(units=[unit(), longest]))
    assert outcome.outcome == "held"
    assert outcome.evidence.startswith(
        "u1: host threads waited 40.0 ms an iteration, 1.0 ms of it while the device was idle"
    )


def test_unknown_host_waits_are_not_read_as_none():
    outcome = check(minimal_report(units=[unit(host_sync=None)]))
    assert outcome.outcome == "not-applicable"
    assert "not known" in outcome.evidence
