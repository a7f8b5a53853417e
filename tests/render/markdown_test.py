"""The Markdown page: the terminal's answers, with foreign names harmless."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from builders import minimal_report, unit
from critpath.adapters.cli import run
from critpath.model.report import REST
from critpath.model.report.window import Anchor
from critpath.render.markdown import markdown
from critpath.sim import simulate


def test_the_page_answers_first_and_in_tables() -> None:
    page = markdown(minimal_report())
    lines = page.splitlines()
    assert lines[0] == "# critpath report"
    assert lines[2].startswith("**Compute takes 60.0 ms")
    assert "| compute busy | 60.0 | 60.0–60.0 |" in lines
    for header, row in pairwise(lines):
        if re.fullmatch(r"\|(---\|)+", row):
            assert header.count("|") == row.count("|")


@pytest.mark.parametrize("name", ["a|b", "<script>x</script>", "[x](http://y)", "**b**", "`c`", "line\nbreak", REST])
def test_foreign_names_make_no_markup(name: str) -> None:
    one = unit(host=name)
    assert one.window is not None
    window = one.window.model_copy(update={"anchor": Anchor(kind="nvtx", text=name)})
    page = markdown(minimal_report(units=[one.model_copy(update={"window": window})]))
    assert "<script>" not in page
    assert not re.search(r"(?<!\\)\]\(http", page)
    assert "\n| rank 0 | pid 4242:0 " in page
    for line in page.splitlines():
        if line.startswith("| rank 0"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 9


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exports = simulate("data_parallel", tmp_path, ranks=2).exports
    assert run(["analyze", *map(str, exports), "--format", "md"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# critpath report\n")
    assert page.count("\n| rank ") == 2
    assert "## Checks" in page
