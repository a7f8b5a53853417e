"""What the trainer prints: a line a step, of which the profiled ones are some."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import median

from critpath.sim.recording import TrainerLog

__all__ = ["TRAINER_LOG", "log_record", "log_text"]

TRAINER_LOG = "trainer.log"
_SPREAD = 0.004


def _times_ns(log: TrainerLog, profiled_ns: Sequence[int]) -> list[tuple[int, int]]:
    """Iteration and time of every step [ns]; outside the capture they are shorter by the slowdown."""
    plain_ns = median(profiled_ns) / log.slowdown
    chance = random.Random(f"log:{len(profiled_ns)}:{plain_ns}")  # noqa: S311 - variation of durations, no secret
    first, count = log.first_iteration, len(profiled_ns)
    times = list(enumerate(profiled_ns, start=first))
    outside = [*range(max(1, first - log.before), first), *range(first + count, first + count + log.after)]
    times += [(iteration, round(plain_ns * max(0.9, chance.gauss(1, _SPREAD)))) for iteration in outside]
    return sorted(times)


def log_text(log: TrainerLog, profiled_ns: Sequence[int]) -> str:
    """The log's text.

    Args:
        log: what to print.
        profiled_ns: time of each profiled step, in order.
    """
    times = _times_ns(log, profiled_ns)
    last = times[-1][0]
    scale = 1e6 if log.unit == "ms" else 1e9
    lines = ["> building train, validation, and test datasets ...", "training ..."]
    for iteration, time_ns in times:
        lines.append(
            f" iteration {iteration:8d}/{last:8d} | consumed samples: {iteration * 256:12d} | "
            f"elapsed time per iteration ({log.unit}): {time_ns / scale:.4f} | learning rate: 3.000000E-04 | "
            f"global batch size:   256 | lm loss: {2.9 - 0.01 * iteration:.6E} | grad norm: 0.842 |"
        )
    return "\n".join(lines) + "\n"


def log_record(log: TrainerLog, profiled_ns: Sequence[int]) -> dict[str, object]:
    """What `truth.json` says of the log."""
    first = log.first_iteration
    profiled = range(first, first + len(profiled_ns))
    times = _times_ns(log, profiled_ns)
    return {
        "file": TRAINER_LOG,
        "unit": log.unit,
        "slowdown": log.slowdown,
        "profiled_iterations": list(profiled),
        "iterations": [iteration for iteration, _ in times],
        "step_times_ns": [time_ns for _, time_ns in times],
        "unprofiled_median_ns": round(median(t for iteration, t in times if iteration not in profiled)),
    }
