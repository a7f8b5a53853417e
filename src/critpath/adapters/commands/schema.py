"""`critpath schema`: the JSON Schemas of what critpath writes."""

from __future__ import annotations

import json
from typing import Literal

from critpath.adapters.output import print_result
from critpath.model.doctor import doctor_schema
from critpath.model.report import report_schema

__all__ = ["schema"]


_SCHEMAS = {"report": report_schema, "doctor": doctor_schema}


def schema(document: Literal["report", "doctor"] = "report", /) -> int:
    """Print the JSON Schema of report.json, or of another document.

    Args:
        document: report for report.json, doctor for `critpath doctor --format json`.
    """
    print_result(json.dumps(_SCHEMAS[document](), indent=1, ensure_ascii=False))
    return 0
