"""`critpath doctor`: what captures support, and what would mend them."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from critpath.adapters.output import print_drawing, progress
from critpath.ingest.source import find_inputs
from critpath.pipeline.doctor import examine
from critpath.render.doctor import doctor_rendering, doctor_text

__all__ = ["doctor"]


def doctor(
    inputs: tuple[str, ...],
    /,
    *,
    format_: Annotated[Literal["text", "json"], Parameter(name="--format")] = "text",
    strict: bool = False,
) -> int:
    """Say what captures can and can't support, and the nsys options that would mend them.

    Args:
        inputs: files, folders or globs, as for analyze.
        format_: text for people, json for programs.
        strict: stop at the first input that can't be read, instead of making it a section.
    """
    files = find_inputs(inputs)
    with progress(len(files)) as advance:
        found = examine(files, strict=strict, progress=advance)
    if format_ == "json":
        sys.stdout.write(found.to_json())
    else:
        print_drawing(doctor_rendering(found), doctor_text(found))
    return 0
