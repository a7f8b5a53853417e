"""The terminal's report: at most 80 columns and no escape codes, whatever names a capture holds."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from builders import minimal_report, stat, unit
from critpath.model.report import (
    Anchor,
    BackendTime,
    CaptureWarning,
    Communication,
    DroppedWindow,
    Input,
    MissingTable,
    Report,
    Transfer,
    Window,
)
from critpath.model.values import Unavailable
from critpath.pipeline.analyze import analyze
from critpath.render.text import WIDTH, text
from critpath.render.words import bar, count, printable, shortened, size
from critpath.sim import scenario_names, simulate

REAL = sorted((Path(__file__).resolve().parents[3] / "shared/data/real").glob("*.sqlite"))

HOSTILE = {
    "ansi escapes": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "control characters": "a\rb\x08c\x00d\te\x7ff\x9b31m",
    "line feeds": "one\ntwo\r\nthree\x0bfour\u2028five\u2029six",
    "rich markup": "[red]x[/red] [link=http://x]y[/link] [/] [bold",
    "10 kB": "void kernel<" + "A" * 10_000 + ">(float*)",
    "10 kB of words": "kernel " * 1_500,
    "right to left": "\u202eevil\u202c \u200f\u200e \u05d0\u05d1\u05d2 \u2066x\u2069",
    "emoji": "🔥" * 200 + "👩‍👩‍👧‍👦" * 20,
    "CJK": "训练步骤" * 100,
    "combining": "e\u0301\u0301\u0301" * 300,
    "zero width": "\u200b\u200c\u200d\ufeff" * 300,
    "surrogates": "\udce9\ud800",
    "empty": "",
    "spaces": " " * 500,
}


def window(text_: str) -> Window:
    n = 3
    edges = [(i * 100_000_000, (i + 1) * 100_000_000) for i in range(n)]
    return Window(
        anchor=Anchor(kind="nvtx", text=text_), scope="period", n=n, median_ms=100.0, min_ms=100.0, max_ms=100.0,
        edges_ns=edges, outside_step_ms=0.0, dropped=[DroppedWindow(index=i, why=text_) for i in range(5)],
    )  # fmt: skip


def hostile(name: str, **changes: Any) -> Report:
    """A report whose every foreign text is `name`."""
    one = unit(host=name, gpu=name, window=window(name))
    two = unit(id="u1", rank=None, rank_source="unknown", host=name, gpu=name, window=window(name))
    failed = unit(id="u2", status="failed", error=name, window=None, budget=None, series=type(one.series)())
    plain = minimal_report(units=[one, two, failed])
    capture = plain.capture.model_copy(
        update={
            "warnings": [CaptureWarning(input=0, severity="warning", source=name, text=name)] * 3,
            "missing": [MissingTable(input=0, table=name)],
        }
    )
    parts: dict[str, Any] = {
        "capture": capture,
        "inputs": [Input(path=name, status="failed", error=name), *plain.inputs],
        "verdict": plain.verdict.model_copy(update={"headline": name}),
        "workload": plain.workload.model_copy(update={"step_definition": name}),
        "unavailable": [Unavailable(path="units[1].rank", reason=name)],
    }
    return plain.model_copy(update=parts | changes)


def fits(printed: str) -> None:
    for line in printed.splitlines():
        assert cell_len(line) <= WIDTH, line
    for character in printed:
        assert character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def page(report: Report) -> int:
    """Lines that one unit's answer may take, and beside others those that tell all units together."""
    together = 11 + min(8, len(report.units)) if len(report.units) > 1 else 0
    return 38 + 2 * len(report.units) + together


def answer(report: Report) -> list[str]:
    """The answer and its unit; below stand what the capture lacks and the guards limit, a few lines each."""
    return re.split(r"\n(?:Capture|Limits|Checks) ", text(report))[0].splitlines()


@pytest.mark.parametrize("case", HOSTILE)
def test_no_foreign_text_breaks_the_page(case: str) -> None:
    printed = text(hostile(HOSTILE[case]))
    fits(printed)
    assert len(printed.splitlines()) <= 110


def test_markup_in_a_name_is_printed_as_it_is() -> None:
    printed = text(hostile("[red]x[/red]"))
    assert printed.count("[red]x[/red]") >= 8


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"])
def test_piped_text_has_no_escape_codes(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    fits(text(minimal_report()))


@pytest.mark.parametrize("columns", ["20", "200"])
def test_the_width_is_the_same_in_any_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = text(minimal_report())
    monkeypatch.setenv("COLUMNS", columns)
    assert text(minimal_report()) == expected


def test_messages_that_repeat_are_told_once_and_what_was_left_out_first() -> None:
    info = CaptureWarning(input=0, severity="info", source="Daemon", text="flushed")
    own = CaptureWarning(input=0, severity="warning", source="critpath", text="kernels: 3 records name no device")
    capture = minimal_report().capture.model_copy(
        update={
            "warnings": [*[info] * 1_000, own],
            "missing": [MissingTable(input=i, table="NVTX_EVENTS") for i in range(3)],
        }
    )
    printed = text(minimal_report(capture=capture))
    fits(printed)
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    at = lines.index("Capture warning: kernels: 3 records name no device")
    assert lines[at + 1 : at + 3] == ["(1,000 ×) info: flushed", "absent from input 0 and 2 more: NVTX_EVENTS"]


def test_huge_and_tiny_figures_fit() -> None:
    values = {
        "iteration": 123_456_789.0, "device_busy": 123_456_788.999, "device_idle": 0.000_001, "noncomm_busy": 60.0,
        "comm_busy": 30.0, "compute_busy": 60.0, "compute_absent": 123_456_729.0,
        "occupied_not_computing": 123_456_728.0,
    }  # fmt: skip
    budget = unit().budget
    assert budget is not None
    wide = budget.model_copy(update={name: stat(value) for name, value in values.items()})
    units = [unit(id=f"u{i}", rank=1_000_000 + i, budget=wide) for i in range(40)]
    printed = text(minimal_report(units=units))
    fits(printed)
    assert "123,456,789" in printed
    assert "0.000001" in printed
    assert "… 24 more" in printed


def test_long_lists_are_cut_and_say_so() -> None:
    copies = [
        Transfer(
            direction="H2D", src="pageable", dst="managed_static", stream=i, count=5, bytes=10**17, union_ms=1234.5,
            occupancy=0.01, achieved_GBps=1e-9,
        )
        for i in range(21)
    ]  # fmt: skip
    backends = [
        BackendTime(backend=b, component="transport_sync", count=10**9, work_ms=1e9, union_ms=1e6)  # type: ignore[arg-type]
        for b in ("nccl", "custom_allreduce", "te_userbuffers", "nvshmem", "deepep")
    ]
    busy = Communication(union_ms=30.0, exposed_ms=20.0, overlapped_ms=10.0, overlap_pct=100 / 3, backends=backends)
    printed = text(minimal_report(units=[unit(transfers=copies, communication=busy)]))
    fits(printed)
    assert "< 0.000001 GB/s" in " ".join(printed.split())


@pytest.mark.parametrize("scenario", scenario_names())
def test_one_simulated_unit_takes_about_forty_lines(scenario: str, tmp_path: Path) -> None:
    report = analyze(simulate(scenario, tmp_path).exports)
    fits(text(report))
    assert len(answer(report)) <= page(report)


@pytest.mark.skipif(not REAL, reason="shared/data/real is not beside the checkout")
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.stem)
def test_one_real_export_fits_the_page(path: Path) -> None:
    report = analyze([path])
    fits(text(report))
    assert len(answer(report)) <= page(report)


@pytest.mark.skipif(not REAL, reason="shared/data/real is not beside the checkout")
def test_all_real_exports_together_fit_the_page() -> None:
    fits(text(analyze(REAL)))


@pytest.mark.parametrize(("value", "told"), [
    (0, "0 B"), (1, "1 B"), (999, "999 B"), (1_000, "1.00 kB"), (999_600, "1,000 kB"), (30_720_000, "30.7 MB"),
    (25_475_253_792, "25.5 GB"), (10**15, "1,000,000 GB"),
])  # fmt: skip
def test_bytes_have_three_digits(value: int, told: str) -> None:
    assert size(value) == told


@pytest.mark.parametrize(("value", "told"), [(None, "unknown"), (0, "0"), (1_234_567, "1,234,567")])
def test_counts_are_separated_by_thousands(value: int | None, told: str) -> None:
    assert count(value) == told


@pytest.mark.parametrize(("share", "cells"), [(0.0, 0), (1e-9, 1), (0.5, 8), (1.0, 16), (7.0, 16), (-1.0, 0)])
def test_a_bar_shows_whatever_is_not_zero(share: float, cells: int) -> None:
    assert cell_len(bar(share, 16)) == cells


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("width", [2, 3, 10, 79])
def test_a_shortened_text_has_at_most_its_width_in_cells(case: str, width: int) -> None:
    assert cell_len(shortened(HOSTILE[case], width)) <= width


def test_a_shortened_name_keeps_its_ends() -> None:
    name = "void cutlass::Kernel2<" + "A" * 500 + ">(Params)"
    assert shortened(name, 40).startswith("void cutlass::Kernel2<")
    assert shortened(name, 40).endswith(">(Params)")
    assert "…" in shortened(name, 40)


def test_a_text_that_fits_is_not_changed() -> None:
    assert shortened("训练 step 1", 11) == "训练 step 1"


@pytest.mark.parametrize("character", ["\x1b", "\x00", "\u202e", "\u200b", "\udce9", "\u2028", "\ue000", "\u0378"])
def test_characters_that_could_hide_others_are_replaced(character: str) -> None:
    assert printable(f"a{character}b") == "a�b"
