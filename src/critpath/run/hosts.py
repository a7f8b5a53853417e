"""Which units share a host, and where each one's time axis begins.

Containers repeat host names, so a name alone is no host: clocks must agree too, or a GPU be shared. On one host the
monotonic clock tells the axes apart to the nanosecond; across hosts UTC does, which is milliseconds off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "Host", "hosts"]

_AGREES_NS = 1_000_000_000
"""UTC less the monotonic clock is when the machine started: equal on one machine, but for corrections of UTC."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What a unit's export says of its clock.

    Attributes:
        declared: its host as the user says.
        hostname: as the export says.
        utc_ns: UTC of its axis' zero; None = not told.
        system_ns: the host's monotonic clock at the axis' zero; None before nsys 2025.6.
        gpu: uuid of its GPU; None = not told.
    """

    declared: str | None
    hostname: str | None
    utc_ns: int | None
    system_ns: int | None
    gpu: str | None


@dataclass(frozen=True, slots=True)
class Host:
    """Where a unit ran.

    Attributes:
        key: equal for all units of one host; its name, numbered where several hosts have it.
        zero_ns: UTC of the axis' zero, the same error for all units of the host where `shared_clock`; None = not told.
        shared_clock: whether the zero was told by the host's monotonic clock.
    """

    key: str
    zero_ns: int | None
    shared_clock: bool


def hosts(axes: Sequence[Axis]) -> list[Host]:
    """The host of each unit, in their order."""
    members: list[list[int]] = []
    known: dict[tuple[str, str | None], list[list[int]]] = {}
    for i, axis in enumerate(axes):
        keys = [("declared", axis.declared), ("name", axis.hostname), ("gpu", axis.gpu)]
        near = [group for key in keys if key[1] is not None for group in known.get(key, [])]
        mine = next((group for group in near if any(_same_host(axes[j], axis) for j in group)), None)
        if mine is None:
            mine = []
            members.append(mine)
        mine.append(i)
        for key in keys:
            groups = known.setdefault(key, [])
            if not any(group is mine for group in groups):
                groups.append(mine)
    names = [_name(axes[group[0]]) for group in members]
    found: dict[int, Host] = {}
    for place, group in enumerate(members):
        name = names[place]
        label = name if names.count(name) == 1 else f"{name}#{names[:place].count(name) + 1}"
        first = next((axes[i] for i in group if axes[i].system_ns is not None and axes[i].utc_ns is not None), None)
        found |= {i: _host(label, axes[i], first) for i in group}
    return [found[i] for i in range(len(axes))]


def _host(key: str, axis: Axis, first: Axis | None) -> Host:
    if first is None or first.utc_ns is None or first.system_ns is None or axis.system_ns is None:
        return Host(key, axis.utc_ns, shared_clock=False)
    return Host(key, first.utc_ns + axis.system_ns - first.system_ns, shared_clock=True)


def _name(axis: Axis) -> str:
    return axis.declared or axis.hostname or "unnamed host"


def _same_host(one: Axis, other: Axis) -> bool:
    if one.declared is not None or other.declared is not None:
        return one.declared == other.declared
    if one.gpu is not None and one.gpu == other.gpu:
        return True
    if one.hostname is None or one.hostname != other.hostname:
        return False
    started = [a.utc_ns - a.system_ns for a in (one, other) if a.utc_ns is not None and a.system_ns is not None]
    # Before nsys 2025.6 the name is all there is.
    return len(started) < 2 or abs(started[0] - started[1]) <= _AGREES_NS
