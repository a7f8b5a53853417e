from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from builders import minimal_report, unit
from critpath.base.errors import OptionError
from critpath.guards import guard, guard_all, guards
from critpath.guards.outcome import NO_ANALYSED_UNIT, NOT_ANALYSED_YET
from critpath.guards.registry import Guard

FILES = Path(__file__).parents[2] / "src" / "critpath" / "guards"
SECTIONS = ["What goes wrong", "Why it misleads", "What critpath does", "The trap"]
RULES = (
    "Summed kernel time is not wall time.",
    "The busiest stream is not the step.",
    "Rank 0 is not representative.",
    "Units with different fingerprints are not comparable.",
    "Distributed communication is not NCCL alone.",
    "Dispatcher time is not network transfer.",
    "Exposed is not blocking.",
    "What occupies a gap is not what caused it.",
    "CUDA event handles are reused.",
    "Event timestamps may be zero or absent.",
    "Host synchronization time is not GPU stall.",
    "A copy needs engine evidence.",
    "Async copies on the default stream may synchronize.",
    "Metric samples are device-wide.",
    "SMs Active is occupancy context.",
    "NVLink request metrics understate payload.",
    "Metric ids are unstable.",
    "Unsampled is not zero.",
    "Missing profiler permission is not a workload failure.",
    "A name taxonomy is fallible.",
    "CUDA graphs break launch assumptions.",
    "Runtime correlation is not source attribution.",
    "Clocks of different hosts are not aligned.",
    "A verdict on sampled ranks is not global.",
    "Capture overhead can change the workload.",
    "Profiler boundary steps are not steady state.",
    "Capture warnings constrain claims.",
    "Dataloading's scope changes the conclusion.",
    "A wrong MFU numerator survives perfect timing.",
    "One failed implementation does not disprove a technique.",
    "Ceilings do not add.",
    "A trace phenomenon is not a root cause.",
)


def test_the_32_rules_are_the_guards_in_order():
    assert tuple(guard.title for guard in guards()[:32]) == RULES
    assert [guard.id for guard in guards()] == [f"P{i:02d}" for i in range(1, len(guards()) + 1)]


def test_a_guard_is_one_file():
    assert len(list(FILES.glob("p[0-9]*.py"))) == len(guards())
    assert len({guard.slug for guard in guards()}) == len(guards())


@pytest.mark.parametrize("guard", guards(), ids=lambda guard: guard.id)
class TestEveryGuard:
    def test_its_page_begins_with_the_rule_and_has_four_sections(self, guard: Guard):
        assert guard.page.partition("\n")[0] == guard.title
        assert list(guard.sections) == SECTIONS
        assert all(len(text) > 20 for text in guard.sections.values())

    def test_its_anchors_exist(self, guard: Guard):
        for anchor in guard.anchors:
            resolve(anchor)

    def test_it_says_since_when(self, guard: Guard):
        assert re.fullmatch(r"\d+\.\d+", guard.since)

    def test_it_says_so_where_nothing_was_analysed(self, guard: Guard):
        nothing = minimal_report(units=[unit(status="failed", error="unreadable", window=None, budget=None)])
        assert guard.check(nothing) in (NO_ANALYSED_UNIT, NOT_ANALYSED_YET)

    def test_it_is_not_built_or_has_an_anchor(self, guard: Guard):
        assert guard.anchors or guard.check(minimal_report()) == NOT_ANALYSED_YET


def resolve(anchor: str) -> object:
    """The thing a dotted name means: the longest module in it, then attributes."""
    parts = anchor.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            thing = getattr(thing, name)
        return thing
    raise LookupError(anchor)


def test_a_report_gets_one_row_a_guard_in_order():
    rows = guard_all(minimal_report())
    assert [row.id for row in rows] == [guard.id for guard in guards()]
    assert [row.title for row in rows[:32]] == list(RULES)
    assert all(row.evidence for row in rows)


def test_a_guard_is_found_in_either_case():
    assert guard("p07") is guard("P07")


def test_an_unknown_guard_is_told_with_the_nearest_ones():
    with pytest.raises(OptionError, match="Did you mean"):
        guard("P77")
