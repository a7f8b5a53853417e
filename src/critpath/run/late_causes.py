"""What makes a late unit late: its own work against that of its peers, which do the same.

Nothing here proves a mechanism. That all kernels take longer looks like a slower clock; that a few do, like more work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from critpath.run.units import RunUnit

__all__ = ["LateCause", "late_cause"]

_LEAST_SHARE = 0.3
_UNIFORM_SHARE = 0.75
_NEAR = 0.5
_TOLD = 3


@dataclass(frozen=True, slots=True)
class LateCause:
    """What a late unit has more of than its peers.

    Attributes:
        kind: `slower-kernels`, `more-work`, `host`, `copies` or `unknown`.
        text: what shows it.
        more_ns: by how much, a step.
    """

    kind: str
    text: str
    more_ns: float


def late_cause(late: RunUnit, peers: Sequence[RunUnit], late_ns: float) -> LateCause:
    """The cause on a late unit.

    Args:
        late: the unit.
        peers: units that do the same work, at least one.
        late_ns: how late it is a step.
    """
    more = {name: _mean(late, name) - float(np.median([_mean(p, name) for p in peers])) for name in late.totals}
    share = max(_LEAST_SHARE * late_ns, 1.0)
    largest = max(more, key=lambda name: more[name], default=None)
    if largest is None or more[largest] < share:
        return LateCause("unknown", "nothing of its own time a step exceeds its peers' by as much", 0.0)
    ms = more[largest] / 1e6
    if largest == "compute":
        return _compute(late, peers, more[largest])
    if largest == "copies":
        return LateCause("copies", f"compute waits {ms:.3g} ms a step more for copies than on its peers", more[largest])
    each = late.totals["host"]
    roams = float(np.std(each) / each.mean()) if each.size > 1 and each.mean() else 0.0
    how = "irregularly, as pauses of the host do (inferred)" if roams > 1 else "in every step"
    return LateCause("host", f"it is launch-starved {ms:.3g} ms a step more than its peers, {how}", more[largest])


def _mean(unit: RunUnit, name: str) -> float:
    values = unit.totals.get(name)
    return float(values.mean()) if values is not None and values.size else 0.0


def _compute(late: RunUnit, peers: Sequence[RunUnit], more_ns: float) -> LateCause:
    n = max(1, len(late.windows))
    rows: list[tuple[str, float, float | None, float]] = []
    for name, (count, work) in late.kernels.items():
        others = [p.kernels[name] for p in peers if name in p.kernels and p.kernels[name][0]]
        if not others or not count:
            rows.append((name, work / n, None, work / n))
            continue
        each = float(np.median([w / c for c, w in others]))
        rows.append((name, work / n, (work / count) / each - 1 if each else None, (work / count - each) * count / n))
    whole = sum(work for _, work, _, _ in rows)
    excess = sum(extra for _, _, _, extra in rows)
    slower = excess / (whole - excess) if whole > excess else 0.0
    near = sum(work for _, work, rate, _ in rows if rate is not None and abs(rate - slower) <= _NEAR * abs(slower))
    ms = more_ns / 1e6
    if whole and near / whole >= _UNIFORM_SHARE and slower > 0:
        return LateCause(
            "slower-kernels",
            f"all its kernels take {slower * 100:.1f} % longer than on its peers, {ms:.3g} ms a step: a lower clock, "
            "temperature or power would show so (inferred)",
            more_ns,
        )
    top = sorted(rows, key=lambda row: -row[3])[:_TOLD]
    names = ", ".join(f"{name[:40]} +{extra / 1e6:.3g} ms" for name, _, _, extra in top if extra > 0)
    return LateCause(
        "more-work", f"a few of its kernels take longer than on its peers, {ms:.3g} ms a step in all: {names}", more_ns
    )
