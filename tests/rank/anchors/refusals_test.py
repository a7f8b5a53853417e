"""What recurs and is no training step: layers, decoded tokens, requests, bookkeeping."""

import random

import pytest

from critpath.rank.anchors.device import collective_period, kernel_sequence_period, optimizer_period
from rank.builders import (
    ADAM,
    ALL_REDUCE,
    ATTENTION,
    BACKWARD_LAYER,
    COPY,
    EMBEDDING,
    FORWARD_LAYER,
    GEMM,
    GEMM_OTHER,
    NORM,
    UnitScript,
    sequence_of,
    windows_of,
)


def _forward_layers(count: int, *, collectives: bool = False) -> UnitScript:
    script = UnitScript(spread=0.02)
    for _ in range(count):
        script.kernels(*FORWARD_LAYER)
        if collectives:
            script.kernels((ALL_REDUCE, 120))
    return script


@pytest.mark.parametrize("collectives", [False, True])
def test_layers_of_a_slice_of_one_pass_are_no_steps(collectives: bool) -> None:
    # A slice of 0.3 s in the middle of a pass holds nothing but layers, perfectly regular ones.
    unit = _forward_layers(17, collectives=collectives).unit()
    assert windows_of(unit) is None


def test_layers_of_a_slice_of_a_backward_pass_are_no_steps() -> None:
    script = UnitScript(spread=0.02)
    for _ in range(24):
        script.kernels(*BACKWARD_LAYER)
    assert windows_of(script.unit()) is None


@pytest.mark.parametrize("layers", [2, 24])
@pytest.mark.parametrize("collectives", [False, True])
def test_steady_decode_loop_is_no_training_step(layers: int, collectives: bool) -> None:
    script = UnitScript(spread=0.02)
    for _ in range(84):
        script.kernel(EMBEDDING, 4)
        for _ in range(layers):
            script.kernels((NORM, 3), (GEMM, 12), (ATTENTION, 9), (GEMM, 8), (NORM, 3), (GEMM, 15), (GEMM, 15))
            if collectives:
                script.kernel(ALL_REDUCE, 6)
        script.kernels((GEMM_OTHER, 20), (COPY, 3))
        script.synchronize()
    assert windows_of(script.unit()) is None


def test_requests_of_varying_length_are_no_steps() -> None:
    source = random.Random(5)  # noqa: S311
    script = UnitScript(spread=0.05)
    for _ in range(9):
        for _ in range(6):
            script.kernels(*FORWARD_LAYER)
        for _ in range(source.randint(20, 200)):
            script.kernels((NORM, 3), (GEMM, 12), (ATTENTION, 9), (GEMM, 8), (COPY, 3))
        script.idle(source.randint(1_000, 60_000))
    assert windows_of(script.unit()) is None


@pytest.mark.parametrize("count", [84, 619])
def test_handful_of_tiny_kernels_is_no_step(count: int) -> None:
    # B37: gaps and tiny ranges gave 84 and 619 iterations
    script = UnitScript(spread=0.2)
    for _ in range(count):
        script.kernels((COPY, 3), (GEMM, 4), (NORM, 2))
        script.idle(60)
    assert windows_of(script.unit()) is None


def test_irregular_work_is_no_step() -> None:
    source = random.Random(3)  # noqa: S311
    script = UnitScript()
    names = [f"kernel_{i}" for i in range(30)]
    for _ in range(3_000):
        script.kernel(source.choice(names), source.uniform(2, 300))
        if source.random() < 0.01:
            script.idle(source.uniform(10, 20_000))
    assert windows_of(script.unit()) is None


def test_kernel_with_an_optimizers_name_that_does_nothing_is_no_update() -> None:
    # P20: a name is no proof; 3 µs in 20 ms update no parameters
    script = UnitScript()
    for _ in range(8):
        for _ in range(20):
            script.kernels(*FORWARD_LAYER)
        script.kernel(ADAM, 1)
    sequence = sequence_of(script.unit())
    assert not sequence.optimizer.any()
    assert optimizer_period(sequence) is None


def test_unit_without_kernels_has_no_anchor() -> None:
    sequence = sequence_of(UnitScript().unit())
    assert collective_period(sequence) is None
    assert optimizer_period(sequence) is None
    assert kernel_sequence_period(sequence) is None
    assert windows_of(UnitScript().unit()) is None


def test_layers_may_confirm_but_not_contradict() -> None:
    unit = _forward_layers(17).unit()
    period = kernel_sequence_period(sequence_of(unit))
    assert period is not None
    assert period.confidence == "low"
