from __future__ import annotations

import pytest

from critpath.base.errors import OptionError
from critpath.guards import guards
from critpath.guards.explain import explain
from critpath.guards.glossary import glossary

TERMS = """
anchor, back-to-back latency, blocking, blocking bound, ceiling, communication union, compute absent, compute busy,
contested, damaged record, dependency-stalled, device busy, device idle, exposed, fingerprint, group, host sync,
iteration window, jitter wait, joint with producer, launch latency, launch-starved, link rate, near-critical,
opaque graph, outside step, overlapped, part, period, perturbed, producer, range, rank, recoverable, representative,
scope, set aside, start skew, step, straggler, transfer proxy, unit, window, work volume
"""


@pytest.mark.parametrize("term", TERMS.replace("\n", " ").strip().split(", "))
def test_a_word_of_the_report_is_explained(term: str):
    assert explain(term).startswith(f"{term}\n\n")


@pytest.mark.parametrize("spelling", ["launch-starved", "Launch Starved", "LAUNCH_STARVED", " launch  starved "])
def test_a_term_is_found_in_any_spelling(spelling: str):
    assert explain(spelling) == explain("launch-starved")


def test_a_key_of_the_report_is_explained_by_its_term():
    assert explain("while_device_idle_ms") == explain("host sync")


@pytest.mark.parametrize("spelling", ["P07", "p07"])
def test_a_guard_is_explained_by_its_page(spelling: str):
    text = explain(spelling)
    assert text.startswith("P07  Exposed is not blocking.\n\nWhat goes wrong:\n")
    assert "The trap:" in text


@pytest.mark.parametrize("guard", guards(), ids=lambda guard: guard.id)
def test_every_guard_is_explained(guard):
    assert guard.title in explain(guard.id)


def test_terms_are_unique_and_in_alphabetical_order():
    names = [term.name for term in glossary()]
    assert names == sorted(set(names))
    assert names == [name.lower() for name in names]


@pytest.mark.parametrize(
    ("topic", "hint"), [("P39", "P3"), ("straggller", "straggler"), ("exposd", "exposed"), ("zzzz", "Known:")]
)
def test_an_unknown_topic_is_told_with_the_nearest_ones(topic: str, hint: str):
    with pytest.raises(OptionError) as caught:
        explain(topic)
    assert hint in caught.value.remedy
    assert caught.value.where == "critpath explain"
