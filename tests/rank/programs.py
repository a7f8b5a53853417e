"""Training programs of many shapes, and where their steps truly begin."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from rank.builders import (
    ADAM,
    ADD,
    ALL_GATHER,
    ALL_REDUCE,
    AUTOGRAD,
    BACKWARD_LAYER,
    COPY,
    EMBEDDING,
    FORWARD_LAYER,
    GEMM_OTHER,
    LOSS,
    LOSS_BACKWARD,
    REDUCE_SCATTER,
    UnitScript,
)

COMM = 13
"""The stream of collectives."""


@dataclass(frozen=True)
class Program:
    """The shape of a training run.

    Attributes:
        optimizer: `fused` kernels by name, `unnamed` ones, or updates `inside` the backward pass.
        parallel: `none`, `ddp` (the last microbatch's gradients are reduced), or `fsdp` (gathers in every microbatch).
        log_every, evaluate_every: 0 = never.
        warm_up: whether the first step's host work takes far longer.
        step_range, microbatch_range: texts of the ranges around them; None = no range.
    """

    seed: int = 0
    steps: int = 6
    layers: int = 6
    microbatches: int = 1
    optimizer: str = "fused"
    optimizer_kernels: int = 12
    parallel: str = "none"
    buckets: int = 3
    spread: float = 0.01
    log_every: int = 0
    evaluate_every: int = 0
    warm_up: bool = False
    shapes_vary: bool = False
    bound_by_host: bool = False
    step_range: str | None = None
    microbatch_range: str | None = None
    starts_ns: list[int] = field(default_factory=list, compare=False)
    """Device time at which each step's first kernel starts, known once `write` ran."""


def random_program(seed: int) -> Program:
    """A program of a shape drawn from `seed`."""
    source = random.Random(seed)  # noqa: S311 - shapes of tests
    return Program(
        seed=seed,
        steps=source.randint(5, 14),
        layers=source.choice((2, 3, 4, 6, 12, 24)),
        microbatches=source.choice((1, 1, 2, 4, 8)),
        optimizer=source.choice(("fused", "fused", "unnamed", "inside")),
        optimizer_kernels=source.choice((1, 6, 30)),
        parallel=source.choice(("none", "ddp", "fsdp")),
        buckets=source.choice((1, 2, 3)),
        spread=source.choice((0.0, 0.02, 0.05)),
        log_every=source.choice((0, 0, 2, 5)),
        evaluate_every=source.choice((0, 0, 0, 4)),
        warm_up=source.random() < 0.5,
        shapes_vary=source.random() < 0.3,
        bound_by_host=source.random() < 0.3,
    )


def write(program: Program) -> UnitScript:
    """The script of the program; fills `program.starts_ns`."""
    script = UnitScript(program.seed, program.spread, dispatch_us=120 if program.bound_by_host else 4)
    program.starts_ns.clear()
    if program.parallel != "none":
        script.kernel(ALL_GATHER, 900, stream=COMM)
    for step in range(program.steps):
        if program.warm_up and step == 0:
            script.idle(80_000)
        before = len(script._kernels)
        with script.range(f"{program.step_range} {step}") if program.step_range else nullcontext():
            _step(script, program, step)
        program.starts_ns.append(script._kernels[before][0])
        if program.log_every and step % program.log_every == 0:
            script.kernels((COPY, 3), ("log_metrics_kernel", 3))
        if program.evaluate_every and step % program.evaluate_every == 0:
            _forward(script, program, 64)
        script.synchronize()
    return script


def without(program: Program, **changes: object) -> Program:
    """The same program with some of its shape changed."""
    return replace(program, starts_ns=[], **changes)  # type: ignore[arg-type]


def _step(script: UnitScript, program: Program, step: int) -> None:
    for micro in range(program.microbatches):
        grid = 64 + (step * 7 + micro) % 5 if program.shapes_vary else 64
        text = program.microbatch_range
        with script.range(f"{text} {step * program.microbatches + micro}") if text else nullcontext():
            _forward(script, program, grid)
            _backward(script, program, grid, last=micro == program.microbatches - 1)
    if program.optimizer != "inside":
        script.wait_for(7, COMM)
        name = ADAM if program.optimizer == "fused" else "fusion_update_params"
        script.kernels(*[(name, 40.0 + 2_000.0 / program.optimizer_kernels)] * program.optimizer_kernels)


def _forward(script: UnitScript, program: Program, grid: int) -> None:
    script.kernel(EMBEDDING, 80, grid=grid)
    for _ in range(program.layers):
        if program.parallel == "fsdp":
            script.kernel(ALL_GATHER, 200, stream=COMM)
            script.wait_for(7, COMM)
        for name, us in FORWARD_LAYER:
            script.kernel(name, us, grid=grid)
    script.kernel(GEMM_OTHER, 300, grid=grid)
    script.kernel(LOSS, 20)


def _backward(script: UnitScript, program: Program, grid: int, *, last: bool) -> None:
    with script.on(AUTOGRAD):
        script.kernels((LOSS_BACKWARD, 20), (GEMM_OTHER, 300))
        for layer in range(program.layers):
            if program.parallel == "fsdp":
                script.kernel(ALL_GATHER, 200, stream=COMM)
                script.wait_for(7, COMM)
            for name, us in BACKWARD_LAYER:
                script.kernel(name, us, grid=grid)
            if program.optimizer == "inside" and last:
                script.kernel(ADAM, 60)
            if program.parallel == "fsdp":
                script.wait_for(COMM, 7)
                script.kernel(REDUCE_SCATTER, 250, stream=COMM)
            elif program.parallel == "ddp" and last and layer % -(-program.layers // program.buckets) == 0:
                script.wait_for(COMM, 7)
                script.kernel(ALL_REDUCE, 400, stream=COMM)
        script.kernel(ADD, 10, grid=grid)
