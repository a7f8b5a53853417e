from __future__ import annotations

import pytest

from builders import minimal_report
from critpath.guards.p09_reused_event_handles import check
from critpath.model.report import Capture


@pytest.mark.parametrize(
    ("event_trace", "reason"), [(False, "no rows"), (True, "keyed by its process"), (None, "keyed")]
)
def test_waits_are_not_joined_yet_and_it_says_why(event_trace: bool | None, reason: str):
    outcome = check(minimal_report(capture=Capture(ranks_captured=1, event_trace=event_trace)))
    assert outcome.outcome == "not-applicable"
    assert reason in outcome.evidence
