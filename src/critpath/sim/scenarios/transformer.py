"""The kernels of a transformer layer, with their microseconds on one device at full width."""

from __future__ import annotations

from critpath.sim.instructions import Kernel
from critpath.sim.kernels import (
    ADAM,
    ATTENTION_BACKWARD,
    ATTENTION_FORWARD,
    COPY_KERNEL,
    ELEMENTWISE_ADD,
    EMBEDDING,
    GELU,
    GEMM_BIAS,
    GEMM_CUTLASS,
    GEMM_NVJET,
    GEMM_WGRAD,
    GRAD_NORM,
    LAYER_NORM,
    LAYER_NORM_BACKWARD,
    LOSS,
    LOSS_BACKWARD,
    SOFTMAX,
)

__all__ = [
    "ATTENTION",
    "ATTENTION_GRADIENT",
    "HEAD",
    "HEAD_GRADIENT",
    "INPUT",
    "MLP",
    "MLP_GRADIENT",
    "NORM",
    "OPTIMIZER",
    "Sequence",
    "scaled",
]

Sequence = tuple[tuple[Kernel, float], ...]
"""Kernels in order, each with its microseconds."""

INPUT: Sequence = ((EMBEDDING, 34.0), (COPY_KERNEL, 12.0))
ATTENTION: Sequence = (
    (LAYER_NORM, 18.0),
    (GEMM_BIAS, 142.0),
    (ATTENTION_FORWARD, 161.0),
    (GEMM_NVJET, 58.0),
    (ELEMENTWISE_ADD, 19.0),
)
MLP: Sequence = (
    (LAYER_NORM, 18.0),
    (GEMM_BIAS, 188.0),
    (GELU, 41.0),
    (GEMM_NVJET, 190.0),
    (ELEMENTWISE_ADD, 19.0),
)
HEAD: Sequence = ((LAYER_NORM, 18.0), (GEMM_CUTLASS, 420.0), (SOFTMAX, 96.0), (LOSS, 6.0))
HEAD_GRADIENT: Sequence = ((LOSS_BACKWARD, 5.0), (SOFTMAX, 88.0), (GEMM_NVJET, 410.0), (GEMM_WGRAD, 430.0))
MLP_GRADIENT: Sequence = (
    (ELEMENTWISE_ADD, 19.0),
    (GEMM_NVJET, 189.0),
    (GEMM_WGRAD, 196.0),
    (GELU, 52.0),
    (GEMM_NVJET, 187.0),
    (GEMM_WGRAD, 198.0),
    (LAYER_NORM_BACKWARD, 33.0),
    (ELEMENTWISE_ADD, 19.0),
)
ATTENTION_GRADIENT: Sequence = (
    (GEMM_NVJET, 59.0),
    (GEMM_WGRAD, 62.0),
    (COPY_KERNEL, 11.0),
    (ATTENTION_BACKWARD, 372.0),
    (COPY_KERNEL, 11.0),
    (GEMM_NVJET, 141.0),
    (GEMM_WGRAD, 148.0),
    (LAYER_NORM_BACKWARD, 33.0),
    (ELEMENTWISE_ADD, 19.0),
)
NORM: Sequence = ((GRAD_NORM, 24.0), (GRAD_NORM, 22.0), (ELEMENTWISE_ADD, 3.0))
OPTIMIZER: Sequence = ((ADAM, 210.0),)


def scaled(sequence: Sequence, factor: float) -> Sequence:
    """The same kernels with `factor` times their time."""
    return tuple((kernel, us * factor) for kernel, us in sequence)
