"""`critpath explain`: a guard's page, or a word of the report."""

from __future__ import annotations

from critpath.adapters.output import print_result
from critpath.guards.explain import explain as explanation

__all__ = ["explain"]


def explain(topic: str, /) -> int:
    """Explain a guard (P07), or a word of the report (launch-starved).

    Args:
        topic: a guard's id, or a term of the glossary in any spelling.
    """
    print_result(explanation(topic))
    return 0
