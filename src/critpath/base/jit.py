"""Compiled loops: the one place that knows the compiler.

What must go one row after another, because each row depends on the one before, is compiled; everything else is numpy.
Compiled functions take and give numpy arrays only, and know nothing of traces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["compiled", "inlined"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The function as machine code, kept on disk between runs."""
    return cast("F", numba.njit(cache=True, nogil=True)(function))


def inlined(function: F) -> F:
    """The function as a part of every compiled function that calls it.

    For what is called for every byte: a call of its own counts references to its arrays, and costs more than the work.
    """
    return cast("F", numba.njit(inline="always")(function))
