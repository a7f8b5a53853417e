"""Steps from NVTX ranges, declared and detected, also where ranges are broken at the source."""

import re

import numpy as np
import pytest

from critpath.model.identity import NULL
from critpath.rank.launches import unit_launches
from critpath.rank.steps import OPEN_END_NS, Steps, declared_steps, detected_steps
from rank.builders import AUTOGRAD, BACKWARD_LAYER, FORWARD_LAYER, MAIN, UnitScript

MS = 1_000_000


def _step(script: UnitScript, layers: int = 4) -> None:
    for _ in range(layers):
        script.kernels(*FORWARD_LAYER)
    with script.on(AUTOGRAD):
        for _ in range(layers):
            script.kernels(*BACKWARD_LAYER)
    script.synchronize()


def _detected(script: UnitScript, **changes: object) -> Steps | None:
    unit = script.unit(**changes)
    return detected_steps(unit, unit_launches(unit))


def _declared(script: UnitScript, pattern: str) -> Steps:
    unit = script.unit()
    return declared_steps(unit, re.compile(pattern), unit_launches(unit))


def _written(texts: list[str]) -> UnitScript:
    script = UnitScript()
    for text in texts:
        with script.range(text):
            _step(script)
    return script


@pytest.mark.parametrize(
    "text", ["iteration {}", "step_{}", "ProfilerStep#{}, op_id = 9{}", "train_step", "global_step={}"]
)
def test_named_step_is_found(text: str) -> None:
    steps = _detected(_written([text.format(i, i) for i in range(5)]))
    assert steps is not None
    assert len(steps) == 5
    assert steps.kind == "nvtx"


def test_label_keeps_the_number_and_loses_what_profilers_append() -> None:
    steps = _detected(_written([f"ProfilerStep#{i}, op_id = {i * 7}" for i in range(3, 6)]))
    assert steps is not None
    assert steps.labels == ("ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5")


def test_unknown_name_that_owns_the_device_is_found() -> None:
    steps = _detected(_written([f"forge {i}" for i in range(5)]))
    assert steps is not None
    assert steps.text == "forge #"


@pytest.mark.parametrize(
    "text", ["epoch {}", "training", "microbatch {}", "layer {}", "forward", "sample_{}", "aten::mm, op_id = {}"]
)
def test_what_is_no_step_is_not_taken_even_alone(text: str) -> None:
    assert _detected(_written([text.format(i) for i in range(5)])) is None


def test_evaluation_step_is_taken_only_where_nothing_else_recurs() -> None:
    alone = _detected(_written([f"eval_step {i}" for i in range(5)]))
    assert alone is not None
    assert alone.text == "eval_step #"
    mixed = _detected(_written([f"{'eval' if i % 2 else 'train'}_step {i}" for i in range(10)]))
    assert mixed is not None
    assert mixed.text == "train_step #"


def test_step_wins_over_the_epoch_around_it_and_the_layers_inside() -> None:
    # epoch  |--------------------|--------------------|
    # step   |-----||-----||-----||-----||-----||-----|
    # layer   |-||-| |-||-| |-||-|
    script = UnitScript()
    for epoch in range(3):
        with script.range(f"epoch {epoch}"):
            for step in range(3):
                with script.range(f"step {step}"):
                    for layer in range(4):
                        with script.range(f"layer {layer}"):
                            script.kernels(*FORWARD_LAYER)
                    script.synchronize()
    steps = _detected(script)
    assert steps is not None
    assert steps.text == "step #"
    assert len(steps) == 9


def test_outermost_of_equal_names_wins() -> None:
    script = UnitScript()
    for i in range(4):
        with script.range(f"iteration {i}"):
            for k in range(2):
                with script.range(f"step {k}"):
                    _step(script)
            script.kernels(*FORWARD_LAYER)
    steps = _detected(script)
    assert steps is not None
    assert steps.text == "iteration #"


def test_hundreds_of_short_ranges_that_own_little_are_no_steps() -> None:
    # B37: `sample_0` matched hundreds of ranges far below a millisecond; here they are even called step
    script = UnitScript()
    for _ in range(6):
        for k in range(100):
            with script.range(f"step {k}"):
                script.idle(10)
        _step(script)
    assert _detected(script) is None


def test_unsteady_unknown_ranges_are_no_steps() -> None:
    script = UnitScript()
    for i in range(8):
        with script.range(f"phase of work {i}"):
            _step(script, layers=1 + 9 * (i % 3))
    assert _detected(script) is None


def test_declared_expression_matches_the_whole_text() -> None:
    script = _written(["step 0", "step 1", "my step 2"])
    assert len(_declared(script, r"step \d")) == 2
    assert _declared(script, r"step \d").declared
    assert not len(_declared(script, "step"))


def test_start_end_range_that_another_thread_closes_is_a_step() -> None:
    script = UnitScript()
    for i in range(4):
        with script.range(f"step {i}", kind=60, ends_on=AUTOGRAD):
            _step(script)
    steps = _detected(script)
    assert steps is not None
    assert len(steps) == 4


def test_equal_text_on_several_threads_and_domains_is_one_step() -> None:
    # main      |---step 0---|   |---step 1---|
    # autograd    |---step 0---|   |---step 1---|
    script = UnitScript()
    for i in range(4):
        begin = script.now_ns
        _step(script)
        script.add_range(f"step {i}", begin, script.now_ns, MAIN, domain=0)
        script.add_range(f"step {i}", begin + 2_000, script.now_ns + 3_000, AUTOGRAD, domain=2)
        script.idle(50)
    steps = _detected(script)
    assert steps is not None
    assert len(steps) == 4


def test_range_that_never_closed_ends_with_the_next_one() -> None:
    # B38   |-0-|  |-1-…  |-2-|  |-3-|
    script = UnitScript()
    for i in range(4):
        with script.range(f"step {i}", closed=i != 1):
            _step(script)
    steps = _declared(script, r"step \d")
    assert len(steps) == 4
    assert steps.ends_ns[1] == steps.starts_ns[2]


def test_last_range_that_never_closed_stays_open() -> None:
    script = UnitScript()
    for i in range(3):
        with script.range(f"step {i}", closed=i != 2):
            _step(script)
    assert _declared(script, r"step \d").ends_ns[-1] == OPEN_END_NS


def test_ranges_none_of_which_closed_are_still_steps() -> None:
    script = UnitScript()
    for i in range(5):
        with script.range(f"step {i}", closed=False):
            _step(script)
    steps = _detected(script)
    assert steps is not None
    assert len(steps) == 5


def test_crossing_ranges_are_cut_where_the_later_begins() -> None:
    # B38   |--step 0--|
    #            |--step 1--|
    script = UnitScript()
    _step(script)
    script.add_range("step 0", 1 * MS, 5 * MS, MAIN)
    script.add_range("step 1", 4 * MS, 9 * MS, MAIN)
    steps = _declared(script, r"step \d")
    assert steps.starts_ns.tolist() == [1 * MS, 4 * MS]
    assert steps.ends_ns.tolist() == [4 * MS, 9 * MS]


def test_range_that_ends_before_it_starts_does_not_swallow_the_rest() -> None:
    script = UnitScript()
    _step(script)
    script.add_range("step 0", 5 * MS, 2 * MS, MAIN)
    script.add_range("step 1", 8 * MS, 9 * MS, MAIN)
    steps = _declared(script, r"step \d")
    assert steps.ends_ns.tolist() == [8 * MS, 9 * MS]


def test_match_inside_a_match_is_no_step() -> None:
    script = UnitScript()
    _step(script)
    script.add_range("step 0", 1 * MS, 9 * MS, MAIN)
    script.add_range("step 1", 2 * MS, 3 * MS, MAIN)
    assert _declared(script, r"step \d").labels == ("step 0",)


def test_doubled_rows_are_one_step() -> None:
    script = UnitScript()
    _step(script)
    for _ in range(2):
        script.add_range("step 0", 1 * MS, 9 * MS, MAIN)
    assert len(_declared(script, r"step \d")) == 1


def test_ranges_of_threads_that_launch_elsewhere_are_not_this_devices_steps() -> None:
    # Two devices in a process, a thread each, steps of their own.
    script = UnitScript()
    other = MAIN + 9
    for i in range(5):
        with script.range(f"step {i}"):
            _step(script)
        script.add_range(f"step {i}", script.now_ns - 2_000 * (i + 1), script.now_ns + 30_000, other)
        script.idle(100)
    shared = _detected(script, shares_process=True)
    assert shared is not None
    lengths = shared.ends_ns - shared.starts_ns
    assert lengths.max() - lengths.min() < 0.01 * lengths.min()


def test_owner_of_an_instant() -> None:
    steps = Steps("nvtx", "step #", ("a", "b"), np.array([10, 20], np.int64), np.array([15, 30], np.int64))
    assert steps.owner(np.array([9, 10, 14, 15, 20, 29, 30, NULL], np.int64)).tolist() == [-1, 0, 0, -1, 1, 1, -1, -1]


def test_unit_without_ranges_has_no_steps() -> None:
    script = UnitScript()
    _step(script)
    assert _detected(script) is None
    assert not len(_declared(script, "step"))
