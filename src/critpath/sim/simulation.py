"""From a scenario's name to files: program, execution, exports, truth."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from critpath.sim.absence import UnitAbsence, absences
from critpath.sim.absence_totals import gap_record
from critpath.sim.causes import causal_record
from critpath.sim.execute import execute
from critpath.sim.executed import Execution
from critpath.sim.program import Job
from critpath.sim.removal import Removal, without
from critpath.sim.scenarios import SCENARIOS, scenario_named
from critpath.sim.schema import generation_named
from critpath.sim.spoiling import spoil_record
from critpath.sim.target import gpu_uuid, session_ns
from critpath.sim.trainerlog import TRAINER_LOG, log_record, log_text
from critpath.sim.truth import step_times_ns, truths
from critpath.sim.write import write_exports

__all__ = ["Simulation", "scenario_names", "simulate", "write_job"]

TRUTH = "truth.json"
CAUSES = "truth_ops.json"
GAPS = "truth_gaps.json"
CAUSES_UP_TO_OPS = 200_000
"""Jobs with more device ops have no causal record unless asked for."""
_SCHEMA = "critpath.sim.truth/1"


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What was simulated and where it was written."""

    exports: tuple[Path, ...]
    truth_path: Path
    causes_path: Path
    """Not there when causes were not asked for; nor is `gaps_path`."""
    gaps_path: Path
    truth: dict[str, Any]
    """The content of `truth_path`."""
    job: Job
    execution: Execution

    def step_times_ns(self, removal: Removal | None = None) -> list[int]:
        """The job's step times [ns], slowest unit a step; with `removal`, of the job run again without its causes.

        A step's time is its period window, so the last step has none.
        """
        if removal is None:
            return step_times_ns(truths(self.execution))
        return step_times_ns(truths(execute(without(self.job, removal))))


def scenario_names() -> tuple[str, ...]:
    """The scenarios that `simulate` knows."""
    return tuple(sorted(SCENARIOS))


def simulate(  # noqa: PLR0913 - the parts of one request, each with a default
    scenario: str,
    out: Path,
    *,
    seed: int = 0,
    ranks: int | None = None,
    generation: str = "2026.2",
    event_sync_ids: bool = True,
    causes: bool | None = None,
    **options: Any,
) -> Simulation:
    """Simulate a scenario and write its exports and truth into the folder `out`.

    Args:
        scenario: one of `scenario_names()`.
        out: folder to write into, created when missing; files of the same names are replaced.
        seed: varies durations. The same seed gives the same files.
        ranks: how many ranks; None is the scenario's own default.
        generation: whose schema the exports have, one of `GENERATIONS`.
        event_sync_ids: False writes what a driver without event sync ids leaves.
        causes: whether to write why each op ran when it did and why compute was absent, which takes longer than all
            else; None does for jobs of up to `CAUSES_UP_TO_OPS` device ops.
        options: the scenario's own options.

    Raises:
        UnknownNameError: for a scenario, generation or option that doesn't exist.
        OptionValueError: for a value that an option can't take.
    """
    found = scenario_named(scenario)
    if ranks is not None:
        options["ranks"] = ranks
    chosen = found.chosen(seed=seed, **options)
    generation_named(generation)
    about: dict[str, object] = {"scenario": scenario, "options": asdict(chosen)}
    with _collector_paused():
        return write_job(
            found.program(chosen), out, generation=generation, event_sync_ids=event_sync_ids, causes=causes, about=about
        )


def write_job(  # noqa: PLR0913 - the same for a job of one's own
    job: Job,
    out: Path,
    *,
    generation: str = "2026.2",
    event_sync_ids: bool = True,
    causes: bool | None = None,
    about: dict[str, object] | None = None,
) -> Simulation:
    """Execute any job and write its exports and truth into the folder `out`.

    Args:
        job: what to execute.
        out: folder to write into, created when missing.
        generation: whose schema the exports have.
        event_sync_ids: False writes what a driver without event sync ids leaves.
        causes: whether to write why things were as they were, as for `simulate`.
        about: what to say of the job at the head of its truth.
    """
    schema = generation_named(generation)
    execution = execute(job)
    if causes is None:
        causes = sum(len(run.ops) for run in execution.runs) <= CAUSES_UP_TO_OPS
    out.mkdir(parents=True, exist_ok=True)
    exports = write_exports(execution, out, schema, event_sync_ids=event_sync_ids)
    absent = absences(execution) if causes else None
    truth = {"schema": _SCHEMA, "scenario": None, "options": {}, **(about or {}), "generation": generation}
    truth |= _truth(execution, absent, out)
    truth_path, causes_path, gaps_path = out / TRUTH, out / CAUSES, out / GAPS
    truth_path.write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    for path, record in (
        (causes_path, None if absent is None else causal_record(execution)),
        (gaps_path, None if absent is None else gap_record(execution, absent)),
    ):
        path.unlink(missing_ok=True)
        if record is not None:
            path.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")
    return Simulation(tuple(exports), truth_path, causes_path, gaps_path, truth, job, execution)


def _truth(execution: Execution, absent: Sequence[UnitAbsence] | None, out: Path) -> dict[str, object]:
    """What `truth.json` says of an execution; writes the trainer's log into `out` when the job has one."""
    job, units = execution.job, truths(execution)
    times_ns = step_times_ns(units)
    reasons: Sequence[UnitAbsence | None] = [None] * len(units) if absent is None else absent
    found: dict[str, object] = {
        "graph_trace": job.graph_trace,
        "spoiled": spoil_record(job.spoils),
        "reports": [_report(execution, place) for place in range(len(job.reports))],
        "units": [unit.as_dict(absence) for unit, absence in zip(units, reasons, strict=True)],
        "job": {"step_times_ns": times_ns},
    }
    if job.log is not None:
        # The last step has no period window; the log has a line for it, as long as the one before.
        printed_ns = [*times_ns, *times_ns[-1:]]
        (out / TRAINER_LOG).write_text(log_text(job.log, printed_ns), encoding="utf-8")
        found["log"] = log_record(job.log, printed_ns)
    return found


def _report(execution: Execution, place: int) -> dict[str, object]:
    """Where a report comes from: its file, host, clocks, and the GPUs behind its device ordinals."""
    report = execution.job.reports[place]
    utc_epoch_ns, system_clock_ns = session_ns(report)
    return {
        "file": f"{report.name}.sqlite",
        "hostname": report.hostname,
        "utc_epoch_ns": utc_epoch_ns,
        "system_clock_ns": system_clock_ns,
        "true_time_of_zero_ns": report.clock.session_start_ns,
        "processes": [
            {
                "pid": process.pid,
                "rank": process.rank,
                "gpus": [
                    {"device": device, "uuid": gpu_uuid(report.hostname, process.visible_gpus[device])}
                    for device in sorted({stream.device for stream in process.streams})
                ],
            }
            for process in report.processes
        ],
    }


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without cyclic collection.

    A job is millions of small records that live to its end; searching them for garbage again and again would take
    longer than executing it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
