"""`critpath schema`: the JSON Schema of the report."""

from __future__ import annotations

import json

from critpath.adapters.output import print_result
from critpath.model.report import report_schema

__all__ = ["schema"]


def schema() -> int:
    """Print the JSON Schema of report.json."""
    print_result(json.dumps(report_schema(), indent=1, ensure_ascii=False))
    return 0
