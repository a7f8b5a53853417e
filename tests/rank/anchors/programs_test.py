"""Training programs of many shapes without NVTX: the true step, or none; never another one in silence."""

from collections import Counter

import numpy as np
import pytest

from critpath.rank.windows import Windows
from rank.builders import windows_of
from rank.programs import Program, random_program, without, write

DEVICE_KINDS = {"collective", "optimizer", "kernel-sequence"}


def _holds_one_step_each(program: Program, windows: Windows) -> bool:
    starts = np.array(program.starts_ns)
    held = np.searchsorted(starts, windows.ends_ns) - np.searchsorted(starts, windows.starts_ns)
    return bool((held == 1).all())


def _is_true(program: Program, windows: Windows) -> bool:
    true_ns = float(np.median(np.diff(program.starts_ns)))
    # Medians of a handful of varying steps differ by that much when each is measured from another place.
    allowed = 0.01 if program.spread < 0.05 else 0.02
    return _holds_one_step_each(program, windows) and abs(windows.period_ns / true_ns - 1) <= allowed


@pytest.mark.parametrize("seed", range(60))
def test_period_is_true_or_absent_or_in_doubt(seed: int) -> None:
    program = random_program(seed)
    windows = windows_of(write(program).unit())
    if windows is None:
        return
    checked = windows.cross_check
    assert _is_true(program, windows) or (checked is not None and (not checked.agrees or checked.ratio != 1.0))


def test_most_programs_show_their_step() -> None:
    found: Counter[bool] = Counter()
    for seed in range(100, 140):
        program = random_program(seed)
        windows = windows_of(write(program).unit())
        found[windows is not None and _is_true(program, windows)] += 1
    assert found[True] >= 36


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (Program(parallel="ddp"), "collective"),
        (Program(parallel="fsdp"), "collective"),
        (Program(), "optimizer"),
        (Program(optimizer_kernels=1), "optimizer"),
        (Program(optimizer="inside"), "optimizer"),
        (Program(optimizer="unnamed"), "kernel-sequence"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_finds_the_step(program: Program, kind: str) -> None:
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert windows.kind == kind
    assert windows.scope == "period"
    assert _is_true(program, windows)
    assert len(windows) >= program.steps - 2


@pytest.mark.parametrize("parallel", ["none", "ddp", "fsdp"])
@pytest.mark.parametrize("optimizer", ["fused", "unnamed"])
@pytest.mark.parametrize("microbatches", [2, 4, 8])
def test_step_ends_with_the_optimizer_not_with_a_microbatch(parallel: str, optimizer: str, microbatches: int) -> None:
    program = Program(parallel=parallel, optimizer=optimizer, microbatches=microbatches)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert _is_true(program, windows)


@pytest.mark.parametrize("spread", [0.02, 0.05, 0.1])
def test_jitter_does_not_hide_the_step(spread: float) -> None:
    program = Program(spread=spread, steps=10, layers=12)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert _holds_one_step_each(program, windows)


def test_warm_up_step_is_left_out_and_named() -> None:
    # B36, B57: an all-gather of set-up, and a first step that takes far longer than the rest
    program = Program(parallel="ddp", warm_up=True, steps=8)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert _is_true(program, windows)
    assert windows.lengths_ns.max() < 1.1 * windows.lengths_ns.min()


def test_agreeing_anchors_of_two_kinds_are_reported() -> None:
    windows = windows_of(write(Program(parallel="ddp")).unit())
    assert windows is not None
    assert windows.cross_check is not None
    assert windows.cross_check.kind == "optimizer"
    assert windows.cross_check.agrees
    assert not windows.is_material_disagreement


@pytest.mark.parametrize("scope", ["period", "range"])
def test_nvtx_step_wins_and_the_optimizer_confirms_it(scope: str) -> None:
    program = Program(step_range="iteration", steps=8)
    windows = windows_of(write(program).unit(), scope)
    assert windows is not None
    assert (windows.kind, windows.text, windows.scope) == ("nvtx", "iteration #", scope)
    assert windows.starts_ns.tolist() == [program.starts_ns[i] for i in windows.index.tolist()]
    assert windows.cross_check is not None
    assert (windows.cross_check.kind, windows.cross_check.ratio) == ("optimizer", 1.0)
    assert windows.cross_check.agrees


def test_nvtx_microbatch_called_step_is_objected_to() -> None:
    program = Program(microbatches=4, microbatch_range="step", steps=8)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert windows.cross_check is not None
    assert windows.cross_check.ratio == 0.25
    assert windows.is_material_disagreement


def test_nvtx_microbatch_called_so_is_not_the_step() -> None:
    program = Program(microbatches=4, microbatch_range="microbatch", steps=8)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert windows.kind == "optimizer"
    assert _is_true(program, windows)


def test_nvtx_step_around_microbatches_called_iteration_wins() -> None:
    program = Program(microbatches=4, microbatch_range="iteration", step_range="global_step", steps=8)
    windows = windows_of(write(program).unit())
    assert windows is not None
    assert windows.text == "global_step #"
    assert _is_true(program, windows)


def test_text_says_where_a_window_begins() -> None:
    windows = windows_of(write(Program()).unit())
    assert windows is not None
    assert "on the device" in windows.text


def test_step_count_does_not_change_the_step() -> None:
    for steps in (5, 9, 40):
        program = without(Program(parallel="ddp"), steps=steps)
        windows = windows_of(write(program).unit())
        assert windows is not None
        assert _is_true(program, windows)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_fewer_than_three_periods_are_no_step(steps: int) -> None:
    assert windows_of(write(Program(steps=steps, parallel="ddp")).unit()) is None
