from __future__ import annotations

from builders import minimal_report
from critpath.guards.outcome import NOT_ANALYSED_YET, Outcome
from critpath.guards.p22_correlation_as_source import check
from critpath.model.report import Capture


def outcome_of(runtime: float | None, source: float | None) -> Outcome:
    return check(minimal_report(capture=Capture(ranks_captured=1, runtime_link_rate=runtime, source_link_rate=source)))


def test_two_rates_have_two_names():
    outcome = outcome_of(1.0, 0.0)
    assert outcome.outcome == "held"
    assert "100.00% of device ops join an API call (runtime_link_rate)" in outcome.evidence
    assert "0.00% have a call stack (source_link_rate)" in outcome.evidence


def test_an_unknown_source_rate_limits_whatever_the_runtime_rate():
    outcome = outcome_of(1.0, None)
    assert outcome.outcome == "limited"
    assert "none is attributed to source" in outcome.evidence


def test_without_a_runtime_rate_nothing_is_said():
    assert outcome_of(None, None) == NOT_ANALYSED_YET
