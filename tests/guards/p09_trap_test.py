"""P09, its identity part: two processes whose event ids, streams and correlation ids are all equal."""

from __future__ import annotations

from pathlib import Path

from critpath.ingest.trace import read_trace
from critpath.model.identity import join_index
from guards.traps import Trap


def test_bare_event_ids_join_rows_of_other_processes_and_of_other_records(tmp_path: Path) -> None:
    trap = Trap("two_processes_one_gpu_ids", tmp_path)
    waits = trap.rows("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE eventId != 4294967295")[0][0]
    naive = trap.rows(
        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s "
        "JOIN CUPTI_ACTIVITY_KIND_CUDA_EVENT e USING (eventId) WHERE s.eventId != 4294967295"
    )[0][0]
    assert waits > 0
    assert naive > 2 * waits, "the bare join must multiply rows"

    trace = read_trace(trap.simulation.exports[0])
    records, syncs = trace.event_records, trace.sync_waits
    tied = syncs.where(syncs.event_sync > 0)
    record = join_index((tied.process, tied.event_sync), (records.process, records.event_sync))
    joined = record[record >= 0]
    assert (records.process[joined] == tied.process[record >= 0]).all()
    assert (records.event[joined] == tied.event[record >= 0]).all()
    assert joined.size == len(tied)
