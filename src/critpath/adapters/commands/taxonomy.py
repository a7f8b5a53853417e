"""`critpath taxonomy`: what a kernel's name says, and the rule that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from critpath.adapters.output import print_result
from critpath.base.errors import OptionError
from critpath.ingest.rules import read_taxonomy
from critpath.model.taxonomy import Explanation
from critpath.render.words import printable

__all__ = ["taxonomy"]


def taxonomy(
    names_: Annotated[list[str] | None, Parameter(name="NAME", negative=())] = None,
    /,
    *,
    names: Path | None = None,
    rules: Annotated[Path | None, Parameter(name="--taxonomy")] = None,
    format_: Annotated[Literal["text", "json"], Parameter(name="--format")] = "text",
) -> int:
    """Say what kernel names are: communication, dispatcher, fused, or a family of local compute.

    Args:
        names_: kernel names, as the profiler writes them.
        names: file with one name a line.
        rules: your own rules, asked before the bundled ones.
        format_: text for people, json for programs.
    """
    asked = [*(names_ or []), *(_lines(names) if names is not None else [])]
    if not asked:
        raise OptionError(
            "no name was given",
            where="taxonomy",
            meaning="There is nothing to classify.",
            remedy="Give names, or a file with one a line: critpath taxonomy --names kernels.txt",
        )
    known = read_taxonomy(rules)
    found = [known.explain(name) for name in asked]
    if format_ == "json":
        print_result(json.dumps([_row(name, e) for name, e in zip(asked, found, strict=True)], indent=1))
    else:
        for name, explanation in zip(asked, found, strict=True):
            print_result("\n".join(_paragraph(name, explanation)))
    return 0


def _row(name: str, explanation: Explanation) -> dict[str, str | None]:
    c = explanation.classification
    return {
        "name": name,
        "family": c.family,
        "backend": c.backend,
        "component": c.component,
        "collective": c.collective,
        "rule": c.rule,
    }


def _paragraph(name: str, explanation: Explanation) -> list[str]:
    c = explanation.classification
    said = [c.family, *(word for word in (c.backend, c.component, c.collective) if word)]
    lines = [printable(name), f"  {', '.join(said)}"]
    rule = explanation.rule
    if rule is None:
        return [*lines, "  no rule knows this name; it counts as local compute and is listed where it matters (P20)"]
    return [*lines, f"  rule {rule.id} of {rule.file}: {rule.pattern}", f"  source: {rule.source}"]


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as fault:
        raise OptionError(
            f"the names can't be read: {fault.strerror or fault}",
            where=str(path),
            meaning="Nothing was classified.",
            remedy="Give a text file with one kernel name a line.",
        ) from fault
    return [line for line in text.split("\n") if line]
